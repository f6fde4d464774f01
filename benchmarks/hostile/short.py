"""Runs without what takes long in them, for attacks that give a command hundreds of times.

Tasks of worker pools are done in the process that submits them; times are not measured, figures are
not rendered, and the exported file is not compared with its original.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from unittest import mock


class InlinePool(Executor):
    """In place of the `Pool` of `combred.processes.workers`."""

    def __init__(self, workers: int, context: object, begin: Callable, arguments: tuple):
        start, own = arguments
        start(*own)

    def submit(self, work: Callable, /, *task) -> Future:
        """Do a task at once."""
        future: Future = Future()
        try:
            future.set_result(work(*task))
        except Exception as error:
            future.set_exception(error)
        return future

    def abandon(self) -> None:
        """There is no process to end."""


TIMES = {"cores": 1, "machine": "none", "batch": 1, "times": {}}


@contextmanager
def quick() -> Iterator[None]:
    """A context of runs without what takes long."""
    with (
        mock.patch("combred.processes.workers.Pool", InlinePool),
        mock.patch("combred.report.writing.draw", lambda *_: {}),
        mock.patch("combred.surrogate.export.largest_difference", lambda *_: 0.0),
        mock.patch("combred.pipeline.steps.validate.print_validation"),
        mock.patch("combred.validation.timing.compare_times", lambda *_, **__: TIMES),
    ):
        yield

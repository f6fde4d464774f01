"""Tasks of worker pools in the process that submits them: new processes take seconds to start."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from unittest import mock


class InlinePool(Executor):
    """In place of the ProcessPoolExecutor of `combred.workers`."""

    _processes = None

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


@contextmanager
def inline() -> Iterator[None]:
    """A context in which no worker process is started."""
    with mock.patch("combred.workers.ProcessPoolExecutor", InlinePool):
        yield

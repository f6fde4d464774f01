"""Sampling without worker processes, so that tests can replace parts of it."""

from concurrent.futures import Future

import pytest

from combred.dataset import sampling, segment_sampling


class Pool:
    """A pool without processes: a task is done when it is submitted."""

    def __init__(self, start, arguments):
        start(*arguments)

    def submit(self, work, *task):
        future = Future()
        try:
            future.set_result(work(*task))
        except BaseException as error:
            future.set_exception(error)
        return future

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def shutdown(self, **how):
        pass


@pytest.fixture
def in_this_process(monkeypatch):
    """The tasks of sampling run in this process."""
    for module in (sampling, segment_sampling):
        monkeypatch.setattr(module, "open_pool", lambda workers, start, *given: Pool(start, given))

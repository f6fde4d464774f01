"""Sampling without worker processes, so that tests can replace parts of it."""

import pytest


@pytest.fixture
def in_this_process(in_process):
    """The tasks of sampling run in this process."""
    with in_process():
        yield

"""Sampling of sensitivities without worker processes."""

import pytest


@pytest.fixture
def in_this_process(in_process):
    """The tasks of sampling run in this process."""
    with in_process():
        yield

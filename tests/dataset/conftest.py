"""Premixed states, state files of random rows, and sampling without worker processes, so that tests
can replace parts of it. `random_blocks` is imported from this folder.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from random_blocks import written  # noqa: E402

from combred.dataset.schema import state_attributes  # noqa: E402


@pytest.fixture
def in_this_process(in_process):
    """The tasks of sampling run in this process."""
    with in_process():
        yield


@pytest.fixture
def attributes(h2o2):
    """The attributes of `file`."""
    return state_attributes(h2o2, {"seed": 0})


@pytest.fixture
def file(tmp_path, attributes):
    """A finished file of the three blocks."""
    return written(tmp_path / "states.h5", attributes)

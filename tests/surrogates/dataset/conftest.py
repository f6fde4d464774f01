"""State files of random rows. `random_blocks` is imported from this folder."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from random_blocks import written  # noqa: E402

from combred.surrogates.dataset.schema import state_attributes  # noqa: E402


@pytest.fixture
def attributes(h2o2):
    """The attributes of `file`."""
    return state_attributes(h2o2, {"seed": 0})


@pytest.fixture
def file(tmp_path, attributes):
    """A finished file of the three blocks."""
    return written(tmp_path / "states.h5", attributes)

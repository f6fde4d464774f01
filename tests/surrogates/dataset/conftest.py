"""State files of random rows."""

import pytest
from random_blocks import written

from combred.surrogates.dataset.schema import state_attributes


@pytest.fixture(scope="session")
def attributes(h2o2):
    """The attributes of `file`."""
    return state_attributes(h2o2, {"seed": 0})


@pytest.fixture(scope="session")
def content(tmp_path_factory, attributes) -> bytes:
    """That of `file`, which is written once."""
    return written(tmp_path_factory.mktemp("states") / "states.h5", attributes).read_bytes()


@pytest.fixture
def file(tmp_path, content):
    """A finished file of the three blocks."""
    (tmp_path / "states.h5").write_bytes(content)
    return tmp_path / "states.h5"

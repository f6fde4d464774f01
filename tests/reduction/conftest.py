"""`drawn` for all tests of the reduction, and the folder from which `reducible` is imported."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def drawn():
    """`reducible.draw`."""
    from reducible import draw

    return draw

"""Fixtures of the coupling: a surrogate that comes with combred, and its library."""

from pathlib import Path

import pytest

import combred
from combred.native import NativeSurrogate
from combred.native.compilers import find_compiler


@pytest.fixture(scope="session")
def surrogate():
    return combred.load("drm19-11k").eval().requires_grad_(False)


@pytest.fixture(scope="session")
def native(surrogate, tmp_path_factory) -> NativeSurrogate:
    """The same surrogate, compiled for this CPU."""
    try:
        find_compiler()
    except RuntimeError as error:
        pytest.skip(str(error))
    return combred.native.compile(surrogate, tmp_path_factory.mktemp("native"))


@pytest.fixture(scope="session")
def library(native) -> Path:
    return native.library

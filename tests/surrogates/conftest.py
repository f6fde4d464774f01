"""Fixtures for tests of the surrogate."""

import pytest
import torch

from combred.surrogates.model.forms import make_surrogate


@pytest.fixture(scope="module", autouse=True)
def interpreted():
    """TorchScript runs as it is written: its optimisation takes seconds for each module."""
    with torch.jit.optimized_execution(False):
        yield


@pytest.fixture
def optimized(interpreted):
    """TorchScript is optimised, as it is for a user."""
    with torch.jit.optimized_execution(True):
        yield


@pytest.fixture(scope="module")
def unchanging(mechanism, transform, make_network):
    """A surrogate of the state alone whose network predicts no change."""
    n = 2 + mechanism.n_species
    return make_surrogate(mechanism, transform, make_network([n, 8, n], output=0.0))

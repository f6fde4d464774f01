"""Fixtures for tests of the surrogate."""

import pytest

from combred.surrogate.surrogate import Surrogate


@pytest.fixture(scope="module")
def unchanging(mechanism, transform, make_network):
    """A surrogate of the state alone whose network predicts no change."""
    n = 2 + mechanism.n_species
    return Surrogate(mechanism, transform, make_network([n, 8, n], output=0.0))

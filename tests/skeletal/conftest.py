"""Hydrogen as a network of reactions."""

import pytest

from combred.skeletal.skeleton import ReactionNetwork


@pytest.fixture(scope="session")
def network(h2o2) -> ReactionNetwork:
    return ReactionNetwork.of(h2o2)

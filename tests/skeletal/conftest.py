"""Hydrogen as a network of reactions, and its solver with factors."""

import pytest
from compiled_program import compile_quickly

from combred.native.solver import multipliers
from combred.skeletal.compiled import Chemistry
from combred.skeletal.skeleton import ReactionNetwork


@pytest.fixture(scope="session")
def network(h2o2) -> ReactionNetwork:
    return ReactionNetwork.of(h2o2)


@pytest.fixture
def compiled_quickly(monkeypatch):
    """Whose speed is no subject."""
    monkeypatch.setattr(multipliers, "build", compile_quickly(monkeypatch, "-O1"))


@pytest.fixture(scope="session")
def chemistry(quick_factors, network) -> Chemistry:
    """The solvers of skeletons of hydrogen."""
    return Chemistry.of(network.whole())

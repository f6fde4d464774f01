"""Hydrogen as a network of reactions, and its solver with factors."""

import numpy as np
import pytest
from compiled_program import compile_quickly

from combred.native.solver import multipliers
from combred.skeletal.compiled import Chemistry
from combred.skeletal.skeleton import ReactionNetwork


@pytest.fixture(scope="session")
def network(h2o2) -> ReactionNetwork:
    return ReactionNetwork.of(h2o2)


@pytest.fixture(scope="session")
def quick_factors(h2o2, solver_of, made_once):
    """The solver of hydrogen whose library with factors is compiled once."""
    with made_once("skeletal"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(multipliers, "build", compile_quickly(patch, "-O1"))
        solver = solver_of(h2o2)
        solver.with_multipliers(np.ones(h2o2.solution(transport=False).n_reactions))
    return solver


@pytest.fixture
def compiled_quickly(monkeypatch):
    """Whose speed is no subject."""
    monkeypatch.setattr(multipliers, "build", compile_quickly(monkeypatch, "-O1"))


@pytest.fixture(scope="session")
def chemistry(quick_factors, network) -> Chemistry:
    """The solvers of skeletons of hydrogen."""
    return Chemistry.of(network.whole())

"""Hydrogen as a network of reactions, and its solver with factors."""

from dataclasses import replace

import pytest
from compiled_program import ONE_STATE, compile_quickly

from combred.native.solver import multipliers
from combred.skeletal import cases
from combred.skeletal.compiled import Chemistry
from combred.skeletal.skeleton import ReactionNetwork


@pytest.fixture(scope="session")
def network(h2o2) -> ReactionNetwork:
    return ReactionNetwork.of(h2o2)


@pytest.fixture
def compiled_quickly(monkeypatch):
    """Whose speed is no subject."""
    monkeypatch.setattr(multipliers, "build", compile_quickly(monkeypatch, "-O0", ONE_STATE))


@pytest.fixture(scope="module")
def few_cases():
    """One flame and one reactor of those that are judged, and of those that are held out."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("judged", "held_out"):
            patch.setattr(cases, name, _first(getattr(cases, name)))
        yield


def _first(of):
    def few(ranges):
        found = of(ranges)
        return replace(found, flames=found.flames[:1], reactors=found.reactors[:1])

    return few


@pytest.fixture(scope="session")
def chemistry(quick_factors, network) -> Chemistry:
    """The solvers of skeletons of hydrogen."""
    return Chemistry.of(network.whole())

"""Hydrogen in NASA-9 form: flame, stirred reactor, states of flows and networks are those of the
same polynomials in NASA-7 form."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from hydrogen import AIR, FLAME, FLAME_DT, FLAME_MARCH, FUEL, MIXTURE
from nasa9 import HYDROGEN

from combred.chemistry.mechanism import mechanism_of_text
from combred.config.data import SamplingSettings
from combred.experiments.flow import FlowBlock, FlowStates
from combred.experiments.premixed import flame
from combred.experiments.stirred.experiment import CASE, StirredReactors
from combred.native.solver import generate
from combred.surrogates.model.closure import Closure
from combred.surrogates.model.quasi_steady import QuasiSteadyState


@pytest.fixture(scope="module")
def of_nasa9():
    return mechanism_of_text(HYDROGEN, "h2o2.yaml", "")


def test_the_solver_is_the_same(h2o2, of_nasa9):
    """But for the side of 1000 K on which this temperature is."""
    texts = [generate(mechanism) for mechanism in (h2o2, of_nasa9)]
    assert texts[0].keys() == texts[1].keys()
    below = repr(np.nextafter(1000.0, 0.0).item())
    changed = [
        name for name in texts[0]
        if texts[0][name].split() != texts[1][name].replace(below, "1000.0").split()
    ]  # fmt: skip
    assert changed == ["identity.hpp"]


def premixed(mechanism, solver):
    """The speed, at its end and in time, and the profile of a flame."""
    begin = flame.start(mechanism, FLAME, mechanism.mixture(FUEL, AIR, 1.0), 40)
    found = flame.burn(mechanism, solver, FLAME_DT, begin, replace(FLAME_MARCH, tolerance=0.09))
    assert found.burns and found.speed > 2.0  # m/s
    return found.speed, found.T, found.Y


def stirred_reactor(mechanism, solver):
    """The means in time of a partially stirred reactor."""
    todo = [replace(CASE, particles=8, steps=40)]
    (found,) = StirredReactors(mechanism, MIXTURE, todo).stir(solver)
    assert found.T.max() > 1000.0
    return found.T, found.Y


def states_of_flows(mechanism, solver):
    """Labelled states: of ignitions, mixtures, layers and flames."""
    settings = SamplingSettings(states=256, fuel=FUEL, T0=[1000.0, 2300.0], dt=[1e-8, 1e-5])
    block = FlowStates(mechanism, settings, solver, 0).block(FlowBlock(0, 256))
    assert np.unique(block.sampler).size == 4
    return [getattr(block, one.name) for one in fields(block)]


def network(mechanism, solver):
    """The quasi-steady changes of states, and the closure of a wrong prediction."""
    rng = np.random.default_rng(0)
    T, Y = rng.uniform(300.0, 3000.0, 50), rng.dirichlet(np.ones(mechanism.n_species), 50)
    T, p, Y = torch.tensor(T), torch.full((50,), 1e5).double(), torch.tensor(Y)
    changes = QuasiSteadyState(mechanism, 0.1, 1e-13, torch.float64)(T, p, Y, 0.0 * T + 1e-6)
    closed = Closure(mechanism)(T, Y, T + 50.0, (1.01 * Y) / 1.01)
    return [*changes, *closed]


@pytest.mark.parametrize("results", [premixed, stirred_reactor, states_of_flows, network])
def test_results_are_those_of_nasa_7(h2o2, of_nasa9, solver_of, results):
    both = (results(one, solver_of(h2o2)) for one in (h2o2, of_nasa9))
    for expected, found in zip(*both, strict=True):
        assert np.allclose(found, expected, rtol=1e-9, atol=1e-14)

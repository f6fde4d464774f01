"""A solver with factors on its rate constants, against Cantera's `set_multiplier`."""

import copy
from concurrent.futures import ThreadPoolExecutor

import cantera as ct
import numpy as np
import pytest
from cantera_truth import Truth, random_rows
from compiled_program import compile_quickly
from rate_kinds import assert_cantera_s

from combred.native.solver import multipliers
from combred.native.solver.sources import Sources

pytestmark = pytest.mark.filterwarnings("ignore:.*T2=0")  # of Cantera


@pytest.fixture(scope="module")
def multiplied(solver_of, made_once, quick_factors):
    """A factory: the solver of a mechanism with factors, compiled once."""

    def make(mechanism, factors):
        with made_once(f"multiplied_{mechanism.name}"), pytest.MonkeyPatch.context() as patch:
            patch.setattr(multipliers, "build", compile_quickly(patch))
            return solver_of(mechanism).with_multipliers(factors)

    return make


def some_factors(mechanism) -> np.ndarray:
    """From 0 to 3, a fifth of them 0."""
    rng = np.random.default_rng(4)
    n = mechanism.solution(transport=False).n_reactions
    return rng.uniform(0.0, 3.0, n) * (rng.random(n) > 0.2)


@pytest.fixture
def pair(every_kind, multiplied):
    """A solver and Cantera's rates with the same factors."""
    factors, truth = some_factors(every_kind), Truth(every_kind)
    for i, factor in enumerate(factors):
        truth.gas.set_multiplier(factor, i)
    return multiplied(every_kind, factors), truth


def test_rates_are_cantera_s(pair):
    solver, truth = pair
    assert_cantera_s(solver, truth, *random_rows(solver.mechanism, 100, seed=1))


def test_the_jacobian_is_that_of_the_rates(pair):
    """Central differences by each Y. Their error is of order h^2 of a polynomial of degree 3 in Y,
    seen below 1e-8 of the largest entry of a row; wrong factors change entries by their size."""
    solver, _ = pair
    rng, T, p, h = np.random.default_rng(0), 1250.0, 3e5, 1e-4
    Y = rng.dirichlet(np.full(solver.mechanism.n_species, 5.0))
    found = solver.jacobian(T, p, Y)[1:, 1:]
    for j in range(len(Y)):
        up, down = Y.copy(), Y.copy()
        up[j], down[j] = Y[j] * (1.0 + h), Y[j] * (1.0 - h)
        rates, _ = solver.rates(np.array([T, T]), p, np.array([up, down]))
        true = (rates[0] - rates[1]) / (up[j] - down[j])
        assert np.allclose(found[:, j], true, rtol=1e-6, atol=1e-6 * np.abs(true).max())


@pytest.mark.parametrize("tolerance, limit", [(1e-3, 5e-3), (1e-6, 5e-6)])
def test_an_ignition_is_that_of_cvode_with_the_same_factors(h2o2, multiplied, tolerance, limit):
    """Floats and doubles; without the reactions of H2O2, and with H + O2 <=> O + OH slower. limit:
    five times the tolerance, of the rise of T."""
    gas = h2o2.solution(transport=False)
    factors = np.ones(gas.n_reactions)
    for i, reaction in enumerate(gas.reactions()):
        factors[i] = 0.0 if "H2O2" in reaction.equation else factors[i]
        factors[i] = 0.7 if reaction.equation == "H + O2 <=> O + OH" else factors[i]
        gas.set_multiplier(factors[i], i)
    assert sorted(set(factors)) == [0.0, 0.7, 1.0]
    T, p, Y, dt = np.array([1200.0]), 101325.0, h2o2.mixture("H2:1", "O2:1, N2:3.76", 1.0), 8e-5
    gas.TPY = T[0], p, Y
    reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-10, 1e-18
    net.advance(dt)
    found, plain = (
        solver.advance(T, p, Y[None], dt, tolerance)[0][0]
        for solver in (multiplied(h2o2, factors), multiplied(h2o2, np.ones_like(factors)))
    )
    assert reactor.T > T[0] + 300.0 and abs(plain - reactor.T) > 50.0
    assert abs(found - reactor.T) < limit * (reactor.T - T[0])


def test_threads_have_their_own_factors(h2o2, multiplied):
    n = h2o2.solution(transport=False).n_reactions
    solvers = [multiplied(h2o2, np.full(n, factor)) for factor in (0.0, 0.5, 1.0, 2.0)]
    T, Y = np.full(64, 1300.0), np.tile(h2o2.mixture("H2:1", "O2:1, N2:3.76", 1.0), (64, 1))
    alone = [solver.advance(T, 101325.0, Y, 2e-5)[0] for solver in solvers]
    assert len({float(T[0]) for T in alone}) == 4 and alone[0][0] == 1300.0
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            found = pool.map(lambda solver: solver.advance(T, 101325.0, Y, 2e-5)[0], solvers)
            assert all(np.array_equal(*both) for both in zip(found, alone, strict=True))


def test_sources_stay_with_factors_and_travel(solver_of, h2o2, multiplied):
    """In either order, and in a copy that a process is sent."""
    Y, n = h2o2.mixture("H2:1", "O2:1, N2:3.76", 1.0), 29
    of = Sources(rate=1e4, T0=300.0, Y0=Y)
    last = multiplied(h2o2, np.ones(n)).with_sources(of)
    first = solver_of(h2o2).with_sources(of).with_multipliers(np.ones(n))
    T = [one.advance([1000.0], 1e5, [Y], 1e-5)[0][0] for one in (last, first, copy.deepcopy(first))]
    assert T == pytest.approx([T[0]] * 3, abs=1e-3) and T[0] < 950.0


@pytest.mark.parametrize(
    "factors, told",
    [
        (np.ones(3), r"multipliers have shape \(3,\): give one for each of the 29 reactions"),
        (np.full(29, -1.0), "the multiplier of reaction 1 is -1.0: give numbers from 0 up"),
        (np.full(29, np.nan), "the multiplier of reaction 1 is nan"),
        (np.ones(29) * 1j, "multipliers has to be real numbers"),
    ],
)
def test_wrong_factors_are_refused(h2o2, multiplied, factors, told):
    with pytest.raises(ValueError, match=told):
        multiplied(h2o2, factors)

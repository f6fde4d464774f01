"""The sensitivity of a delay against delays of ignitions that were disturbed."""

import cantera as ct
import numpy as np
import pytest

from combred.chemistry.reactor import Reactor
from combred.experiments.ignition.rollout import Case
from combred.surrogates.sensitivity.delay import Ignition, delay_sensitivity, ignite

CASES = {
    "h2o2.yaml": (Case(1100.0, ct.one_atm, 1.0), "H2:1"),
    "drm19.yaml": (Case(1700.0, 5 * ct.one_atm, 0.7), "CH4:1"),
}


@pytest.fixture(scope="module")
def ignition(mechanism):
    """An ignition, its sensitivities, and its reactor."""
    case, fuel = CASES[mechanism.name]
    reactor = Reactor(mechanism, 1e-10, 1e-18)
    found = ignite(reactor, case, mechanism.mixture(fuel, "O2:1, N2:3.76", case.phi), 0.1)
    return found, delay_sensitivity(mechanism, found), reactor


def test_an_ignition_ends_at_half_the_rise(ignition, mechanism):
    found = ignition[0]
    gas = mechanism.solution()
    gas.HPY = found.h, found.case.p, found.Y[-1]
    last = gas.T
    gas.equilibrate("HP")
    # The last of CVODE's steps goes beyond.
    assert 0.5 * (found.case.T0 + gas.T) < last < 0.55 * (found.case.T0 + gas.T)
    assert np.all(np.diff(found.t) > 0)


def moved_delay(reactor: Reactor, found: Ignition, Y: np.ndarray, change: np.ndarray) -> float:
    """The time [s] by which a change of the mass fractions Y (n_species,), of a state on the way,
    moves the end of an ignition; a difference of second order."""
    end = ct.Solution(thermo="ideal-gas", species=reactor.gas.species())
    end.HPY = found.h, found.case.p, found.Y[-1]
    start = ct.Solution(thermo="ideal-gas", species=reactor.gas.species())
    times = []
    for sign in (1, -1):
        start.HPY = found.h, found.case.p, Y + sign * change
        reactor.start(start.T, found.case.p, start.Y)
        before, (t, T) = (0.0, 0.0), reactor.step()
        while end.T > T:
            before = t, T
            t, T = reactor.step()
        times.append(float(np.interp(end.T, [before[1], T], [before[0], t])))
    return 0.5 * (times[0] - times[1])


def random_change(rng: np.random.Generator, Y: np.ndarray, s: np.ndarray, size: float):
    """A change of Y (n_species,) of all species, of sum zero, with |s . change| = size."""
    change = Y * rng.normal(size=len(Y))
    change -= Y * change.sum()
    return change * size / abs(s @ change)


@pytest.mark.parametrize("at", [0.2, 0.6, 0.95])
def test_a_disturbance_moves_the_delay_as_the_sensitivity_says(ignition, at):
    found, phi, reactor = ignition
    i = int(np.searchsorted(found.t, at * found.delay))
    change = random_change(np.random.default_rng(0), found.Y[i], phi[i], 1e-3 * found.delay)
    moved = moved_delay(reactor, found, found.Y[i], change)
    # J is constant over each step of CVODE: some per cent.
    assert moved == pytest.approx(-phi[i] @ change, rel=0.03)


def test_a_slow_mixture_has_no_delay(mechanism):
    case, fuel = CASES[mechanism.name]
    cold = Case(700.0, case.p, case.phi)
    reactor = Reactor(mechanism, 1e-8, 1e-16)
    assert ignite(reactor, cold, mechanism.mixture(fuel, "O2:1, N2:3.76", 1.0), 1e-4) is None

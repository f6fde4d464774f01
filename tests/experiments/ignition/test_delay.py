"""The delay of a rollout, however few steps it takes."""

from dataclasses import replace

import numpy as np
import pytest

from combred.chemistry.reactor import Reactor
from combred.experiments.ignition.delay import ignition_delay
from combred.experiments.ignition.rollout import Case, Rollout
from combred.surrogates.sensitivity.delay import ignite

CASE = Case(1800.0, 20 * 101325.0, 1.0)  # a delay of 12 us
DT = 1e-6  # s


def rollout(mechanism, early: float) -> Rollout:
    """Exact states, all but the first `early` [s] later than the times they stand at."""
    reactor = Reactor(mechanism, 1e-10, 1e-18)
    Y0 = mechanism.mixture("CH4:1", "O2:1, N2:3.76", CASE.phi)
    reactor.start(CASE.T0, CASE.p, Y0)
    states = [(CASE.T0, Y0)] + [reactor.advance(k * DT + early) for k in range(1, 40)]
    T, Y = (np.array(column) for column in zip(*states, strict=True))
    return Rollout(CASE, np.arange(40) * DT, T, Y)


@pytest.fixture(scope="module")
def exact(drm19):
    return rollout(drm19, 0.0)


def test_the_delay_is_that_of_one_integration(drm19, exact):
    found = ignite(Reactor(drm19, 1e-10, 1e-18), CASE, exact.Y[0], 1e-3)
    gas = drm19.solution()
    gas.TPY = CASE.T0, CASE.p, exact.Y[0]
    gas.equilibrate("HP")
    # `ignite` ends at the first of CVODE's own steps beyond half the rise, 5 ns at the most.
    delay = ignition_delay(drm19, exact, gas.T)
    assert 0.0 <= found.delay - delay < 5e-9


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.77])
def test_a_shift_of_a_part_of_a_step_is_a_shift_of_the_delay(drm19, exact, share):
    """T jumps by 900 K in the step: interpolation between the steps would be wrong by a multiple
    of the shift."""
    early = rollout(drm19, share * DT)
    delays = [ignition_delay(drm19, one, exact.T[-1]) for one in (exact, early)]
    # CVODE's tolerances; 3e-7 of the delay were measured.
    assert delays[0] - delays[1] == pytest.approx(share * DT, abs=1e-6 * delays[0])


def test_without_half_the_rise_or_without_a_state_before_it_there_is_no_delay(drm19, exact):
    cold = replace(exact, T=np.full(40, CASE.T0))
    assert np.isnan(ignition_delay(drm19, cold, exact.T[-1]))
    burnt = replace(exact, T=np.full(40, exact.T[-1]))
    assert np.isnan(ignition_delay(drm19, burnt, CASE.T0))


def test_a_jump_that_cvode_does_not_make_takes_the_rollout_s_own_step(drm19, exact):
    """Fresh gas far from ignition, and mass fractions that are not finite, before burnt gas."""
    T = exact.T.copy()
    T[:13] = 900.0
    slow = replace(exact, T=T, Y=np.tile(exact.Y[0], (40, 1)))
    assert ignition_delay(drm19, slow, exact.T[-1]) == exact.t[13]
    wrong = replace(slow, Y=np.full_like(exact.Y, np.nan))
    assert ignition_delay(drm19, wrong, exact.T[-1]) == exact.t[13]

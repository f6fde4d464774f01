"""States with sensitivities: their sums are those of a known error."""

from dataclasses import replace

import cantera as ct
import numpy as np
import pytest
from hydrogen import AIR

from combred.chemistry.reactor import Reactor
from combred.config import ChemistrySettings, SamplingSettings, SensitivitySettings
from combred.dataset import sensitive_states as module
from combred.dataset.sensitive_states import SensitiveSampler, SensitiveTrajectory, plan
from combred.simulation.delay_sensitivity import ignite
from combred.simulation.ignition import Case

SAMPLING = SamplingSettings(fuel="H2:1", T0=[1100.0, 1500.0], p=[8e4, 1.5e5], phi=[0.6, 1.5])
SHORT = replace(SAMPLING, dt=[1e-9, 2e-9])
CHEMISTRY = ChemistrySettings()


def sampler(mechanism, sampling=SAMPLING, seed=0):
    return SensitiveSampler(mechanism, sampling, CHEMISTRY, seed)


@pytest.fixture(scope="module")
def ignition(h2o2):
    """States of an ignition with short time steps."""
    return sampler(h2o2, SHORT).states(SensitiveTrajectory(4, flame=False))


@pytest.fixture(scope="module")
def flame(h2o2):
    """States of a flame with short time steps."""
    return sampler(h2o2, SHORT).states(SensitiveTrajectory(0, flame=True))


def test_flames_come_first_and_need_transport_data(h2o2, kinds):
    found = plan(h2o2, SensitivitySettings(ignitions=3, flames=2))
    assert [t.flame for t in found] == [True, True, False, False, False]
    assert [t.index for t in found] == [0, 1, 2, 3, 4]
    assert [t.flame for t in plan(kinds, SensitivitySettings(ignitions=1, flames=2))] == [False]


def test_chemistry_that_is_too_fast_by_a_share_makes_the_delay_shorter_by_it(ignition):
    """An error of a share of the change: the sum is -1 times the share, in every row, where dt is
    short beside the time in which the rates change."""
    change = (ignition.sensitivity * (ignition.Y_next - ignition.Y)).sum(axis=1) / ignition.dt
    # The states lie between CVODE's steps, at which the sensitivity is known.
    assert change == pytest.approx(-1.0, abs=0.02)
    assert len(ignition.T) == module.STATES and set(ignition.trajectory) == {3 * 4}


@pytest.fixture(scope="module")
def five_steps(h2o2):
    """An ignition, and its states with a dt of which five end just before its delay."""
    found = ignite(
        Reactor(h2o2, 1e-10, 1e-18), Case(1100.0, 1e5, 1.0), h2o2.mixture("H2:1", AIR, 1.0), 0.1
    )
    dt = 0.199 * found.delay
    one = replace(SAMPLING, T0=[1100.0, 1100.0], p=[1e5, 1e5], phi=[1.0, 1.0], dt=[dt, dt])
    return found, sampler(h2o2, one).states(SensitiveTrajectory(0, flame=False))


def test_an_error_at_the_end_of_a_long_step_moves_the_delay_as_it_says(h2o2, five_steps):
    """Each label is disturbed, and the ignition goes on from it."""
    found, rows = five_steps
    rng, reactor = np.random.default_rng(0), Reactor(h2o2, 1e-10, 1e-18)
    gas = h2o2.solution()
    gas.HPY = found.h, 1e5, found.Y[-1]
    for i in range(0, module.STATES, 8):
        Y, s = rows.Y_next[i], rows.sensitivity[i]
        change = Y * rng.normal(size=len(Y))
        change -= Y * change.sum()
        change *= 1e-3 * found.delay / abs(s @ change)  # a thousandth of the delay
        ends = []
        for sign in (1, -1):
            gas.HPY = found.h, 1e5, Y + sign * change
            reactor.start(gas.T, 1e5, gas.Y)
            ends.append(half_rise(reactor, found))
        # J is constant over each of CVODE's steps: some per cent.
        assert 0.5 * (ends[0] - ends[1]) == pytest.approx(s @ change, rel=0.05)


def test_the_states_of_an_ignition_are_those_of_a_march_from_the_fresh_gas(h2o2, five_steps):
    _, rows = five_steps
    fresh = rows.Y[:, h2o2.index("OH")] == 0.0
    assert len(set(rows.T)) == 5
    assert rows.T[fresh] == pytest.approx(1100.0, rel=1e-9)
    # A fifth of them, 8 of 40; the standard deviation is 2.5.
    assert 2 <= fresh.sum() <= 14


def half_rise(reactor, found) -> float:
    """Time [s] until a reactor that was started has the enthalpy and T at which `found` ends."""
    gas = reactor.gas
    end = ct.Solution(thermo="ideal-gas", species=gas.species())
    end.HPY = found.h, found.case.p, found.Y[-1]
    before, (t, T) = (0.0, 0.0), reactor.step()
    while end.T > T:
        before = t, T
        t, T = reactor.step()
    return float(np.interp(end.T, [before[1], T], [before[0], t]))


def test_chemistry_that_is_too_fast_by_a_share_makes_a_flame_faster_by_half_of_it(flame):
    for which in range(module.FLAME_STEPS):
        here = flame.trajectory == which
        change = flame.sensitivity[here] * (flame.Y_next - flame.Y)[here]
        # Half a step of diffusion is a small change of the flame; KEPT leaves out 0.2 % of the sum
        # of absolute values, which is some times the sum.
        assert (change.sum(axis=1) / flame.dt[here]).mean() == pytest.approx(0.5, abs=0.02)
        assert 10 < here.sum() < module.CELLS
        assert len(set(flame.dt[here])) == 1


def test_states_are_physical_and_of_the_ranges(ignition, flame):
    for rows in (ignition, flame):
        assert all(np.isfinite(column).all() for column in rows.columns())
        assert rows.Y.min() >= 0 and rows.Y.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
        assert np.all((rows.p >= 8e4) & (rows.p <= 1.5e5))
        assert np.all((rows.dt >= 0.999e-9) & (rows.dt <= 2e-9))
    assert ignition.T.min() >= 1099.0  # radicals form at first, which takes heat
    assert flame.T.min() < 900.0


def test_a_trajectory_depends_on_seed_and_index_alone(h2o2, ignition):
    again = sampler(h2o2, SHORT)
    again.states(SensitiveTrajectory(1, flame=False))
    same = again.states(SensitiveTrajectory(4, flame=False))
    assert all(
        np.array_equal(a, b) for a, b in zip(same.columns(), ignition.columns(), strict=True)
    )
    other = sampler(h2o2, SHORT, seed=1).states(SensitiveTrajectory(4, flame=False))
    assert not np.array_equal(other.T, ignition.T)


def test_a_mixture_that_does_not_ignite_is_drawn_again_and_then_given_up(h2o2):
    cold = replace(SAMPLING, T0=[400.0, 500.0])
    with pytest.raises(module.IntegrationError, match="no delay between .* and 0.05 s: 4"):
        sampler(h2o2, cold).states(SensitiveTrajectory(0, flame=False))


def test_a_time_step_longer_than_a_flame_s_is_refused(h2o2):
    long = replace(SAMPLING, dt=[1e-2, 1e-2])
    with pytest.raises(module.IntegrationError, match="too long for a flame"):
        sampler(h2o2, long).flame(np.random.default_rng(0))


def test_a_cell_that_could_not_be_integrated_is_refused():
    with pytest.raises(module.IntegrationError, match="could not be integrated"):
        module._most(np.array([1.0, np.nan]))


def test_the_cells_that_matter_are_kept():
    assert module._most(np.array([1e-4, 5.0, 0.0, 3.0, 2.0])).tolist() == [1, 3, 4]

"""0D ignitions: the bookkeeping of a march with known solvers, and CVODE's references."""

import numpy as np
import pytest
from hydrogen import AIR, CHEMISTRY, FUEL, IGNITION_DT, IGNITIONS, solver

from combred.chemistry.reactor import CVODE
from combred.config import ChemistrySettings, ValidationSettings
from combred.simulation import ignition
from combred.simulation.ignition import (
    Case,
    cases,
    follow,
    integrate,
    march,
    mixtures,
    steps_to_equilibrium,
)
from combred.simulation.ignition_delay import ignition_delay

DT = IGNITION_DT


class Warming:
    """An `Advance` that adds 1 K and keeps Y; `batches` has the size and time step of every
    batch."""

    def __init__(self):
        self.batches = []

    def advance(self, T, p, Y, dt):
        self.batches.append((len(T), dt))
        return T + 1.0, Y.copy()


# -- marching --------------------------------------------------------------------------------------


def test_cases_are_all_combinations():
    settings = ValidationSettings(T0=[1e3, 2e3], p=[3e5], phi=[4.0, 5.0, 6.0])
    got = cases(settings)
    assert {(c.T0, c.p, c.phi) for c in got} == {(T, 3e5, f) for T in (1e3, 2e3) for f in (4, 5, 6)}
    assert len(got) == 6


def test_each_case_takes_its_own_number_of_steps(h2o2):
    todo = [Case(1000.0, 1e5, 1.0), Case(1200.0, 2e5, 0.5), Case(1400.0, 1e5, 1.5)]
    Y0, warming, calls = mixtures(h2o2, todo, FUEL, AIR), Warming(), []
    rollouts = march(warming, DT, todo, Y0, [2, 5, 3], lambda *done: calls.append(done))
    assert warming.batches == [(n, DT) for n in (3, 3, 2, 1, 1)]
    assert calls[-1] == (5, 5)
    for rollout, case, Y, steps in zip(rollouts, todo, Y0, [2, 5, 3], strict=True):
        assert rollout.case == case
        assert np.array_equal(rollout.T, case.T0 + np.arange(steps + 1))
        assert np.allclose(rollout.t, DT * np.arange(steps + 1), rtol=1e-15)  # the last digit
        assert np.array_equal(rollout.Y, np.tile(Y, (steps + 1, 1)))


def test_each_case_has_its_own_pressure(h2o2):
    todo = [Case(1000.0, 1e5, 1.0), Case(1000.0, 2e5, 1.0), Case(1000.0, 3e5, 1.0)]
    Y0 = mixtures(h2o2, todo, FUEL, AIR)
    rollouts = march(solver(lambda T, p, Y: (T + p, Y)), DT, todo, Y0, [1, 3, 2])
    assert [r.T[-1] - 1000.0 for r in rollouts] == [1e5, 6e5, 6e5]


def test_initial_mixtures_have_the_equivalence_ratios_of_the_cases(h2o2):
    todo = [Case(1000.0, 1e5, 0.5), Case(1000.0, 1e5, 2.0)]
    Y0 = mixtures(h2o2, todo, FUEL, AIR)
    hydrogen_to_oxygen = Y0[:, h2o2.index("H2")] / Y0[:, h2o2.index("O2")]
    assert hydrogen_to_oxygen[1] / hydrogen_to_oxygen[0] == pytest.approx(4.0, rel=1e-12)  # phi


def test_a_state_that_cvode_cannot_integrate_does_not_stop_other_cases(h2o2):
    todo = [Case(1e5, 101325.0, 1.0), Case(1300.0, 101325.0, 1.0)]  # CVODE fails at the first
    Y0 = mixtures(h2o2, todo, FUEL, AIR)
    failed, other = march(CVODE(h2o2), DT, todo, Y0, [3, 3])
    assert np.isnan(failed.T[1:]).all()
    assert np.isfinite(other.T).all()


# -- the references --------------------------------------------------------------------------------


def test_a_reference_lasts_until_the_burnt_time_after_ignition(ignitions):
    for ref in ignitions:
        assert np.isfinite(ref.T).all()
        ignited = ref.t[np.argmax(ref.T > ref.case.T0 + 400.0)]
        # 1.3 times the ignition on CVODE's own steps, rounded up to whole dt.
        assert abs(ref.t[-1] - (1.3 * ignited + IGNITIONS.burnt_time)) < 3 * DT


def test_a_reference_ends_at_equilibrium(h2o2, ignitions):
    gas = h2o2.solution()
    for ref in ignitions:
        gas.TPY = ref.case.T0, ref.case.p, ref.Y[0]
        gas.equilibrate("HP")
        # 2 ms are some ten recombination times of hydrogen at 1 atm; CVODE's error is 1e-4 K.
        assert ref.T[-1] == pytest.approx(gas.T, abs=0.05)
        assert np.abs(ref.Y[-1] - gas.Y).max() < 1e-5


def test_a_case_that_does_not_ignite_is_refused(h2o2, monkeypatch):
    case = Case(700.0, 101325.0, 1.0)
    Y0 = h2o2.mixture(FUEL, AIR, 1.0)
    monkeypatch.setattr(ignition, "LONGEST", 1e-3)
    with pytest.raises(ValueError, match=r"700 K, phi 1, 1 atm does not ignite.*validation.T0"):
        steps_to_equilibrium(h2o2, case, Y0, DT, IGNITIONS, CHEMISTRY)


def test_a_case_that_cvode_cannot_integrate_is_refused(h2o2):
    Y0 = h2o2.mixture(FUEL, AIR, 1.0)
    with pytest.raises(ValueError, match=r"CVODE cannot integrate the case 100000 K.*chemistry"):
        steps_to_equilibrium(h2o2, Case(1e5, 101325.0, 1.0), Y0, DT, IGNITIONS, CHEMISTRY)


def test_a_rollout_is_nan_after_cvode_fails(h2o2):
    case = Case(1e5, 101325.0, 1.0)
    rollout = integrate(h2o2, case, h2o2.mixture(FUEL, AIR, 1.0), DT, 3, CHEMISTRY)
    assert rollout.T[0] == 1e5 and np.isnan(rollout.T[1:]).all() and np.isnan(rollout.Y[1:]).all()


# -- CVODE as its own surrogate --------------------------------------------------------------------


def test_cvode_with_a_cold_start_in_every_step_follows_its_reference(h2o2, ignitions):
    rollouts = follow(CVODE(h2o2), DT, ignitions)
    for rollout, ref in zip(rollouts, ignitions, strict=True):
        assert rollout.case == ref.case
        assert np.array_equal(rollout.t, ref.t)
        # rtol 1e-8 in each of 500 steps; on the rise, 1e-6 of a delay of 50 us is 0.01 K.
        delays = [ignition_delay(h2o2, one, ref.T[-1]) for one in (rollout, ref)]
        assert delays[0] == pytest.approx(delays[1], rel=1e-5)
        assert np.abs(rollout.T - ref.T).max() < 0.1
        assert np.abs(rollout.Y - ref.Y).max() < 1e-5


def test_one_integration_is_more_accurate_than_cold_starts(h2o2, ignitions):
    ref = ignitions[0]
    steps = int(1.3 * ignition_delay(h2o2, ref, ref.T[-1]) / DT)
    fine = ChemistrySettings(rtol=1e-12, atol=1e-20)
    truth = integrate(h2o2, ref.case, ref.Y[0], DT, steps, fine)
    once = integrate(h2o2, ref.case, ref.Y[0], DT, steps, CHEMISTRY)
    cold = march(CVODE(h2o2), DT, [ref.case], ref.Y[:1], [steps])[0]
    assert np.array_equal(once.T, ref.T[: steps + 1]) and np.array_equal(once.t, cold.t)
    assert np.abs(once.T - truth.T).max() < np.abs(cold.T - truth.T).max()
    delays = [ignition_delay(h2o2, one, ref.T[-1]) for one in (once, truth)]
    assert delays[0] == pytest.approx(delays[1], rel=1e-6)

"""0D ignitions: the bookkeeping of a march with known solvers, and CVODE's rollouts."""

import numpy as np
import pytest
from hydrogen import AIR, FUEL, IGNITION_DT

from combred.chemistry.reactor import CVODE, Tolerances
from combred.experiments.ignition.delay import ignition_delay
from combred.experiments.ignition.rollout import Case, integrate, march, mixtures

DT = IGNITION_DT


class Warming:
    """An `Advance` that adds 1 K and keeps Y; `batches` has the size and time step of every
    batch."""

    def __init__(self):
        self.batches = []

    def advance(self, T, p, Y, dt):
        self.batches.append((len(T), dt))
        return T + 1.0, Y.copy()


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


def test_a_rollout_is_nan_after_cvode_fails(h2o2):
    case = Case(1e5, 101325.0, 1.0)
    rollout = integrate(h2o2, case, h2o2.mixture(FUEL, AIR, 1.0), DT, 3)
    assert rollout.T[0] == 1e5 and np.isnan(rollout.T[1:]).all() and np.isnan(rollout.Y[1:]).all()


def test_one_integration_is_more_accurate_than_cold_starts(h2o2, ignitions):
    ref = ignitions[0]
    steps = int(1.3 * ignition_delay(h2o2, ref, ref.T[-1]) / DT)
    fine = Tolerances(rtol=1e-12, atol=1e-20)
    truth = integrate(h2o2, ref.case, ref.Y[0], DT, steps, fine)
    once = integrate(h2o2, ref.case, ref.Y[0], DT, steps)
    cold = march(CVODE(h2o2), DT, [ref.case], ref.Y[:1], [steps])[0]
    assert np.array_equal(once.T, ref.T[: steps + 1]) and np.array_equal(once.t, cold.t)
    assert np.abs(once.T - truth.T).max() < np.abs(cold.T - truth.T).max()
    delays = [ignition_delay(h2o2, one, ref.T[-1]) for one in (once, truth)]
    assert delays[0] == pytest.approx(delays[1], rel=1e-6)

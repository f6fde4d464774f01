"""The states for which models are timed."""

import numpy as np

from benchmarks.times import states_of
from combred.simulation.ignition import Case, Rollout


def rollout(n: int, p: float) -> Rollout:
    T, Y = np.linspace(1000.0, 2000.0, n), np.full((n, 3), -1e-20)
    Y[:, 0] = 1.0
    return Rollout(Case(1000.0, p, 1.0), np.arange(n) * 1e-6, T, Y)


def test_states_are_spread_over_all_rollouts():
    states = states_of([rollout(300, 1e5), rollout(100, 2e5)], 40)
    assert states.shape == (40, 5)
    assert (states[:, 1] == 1e5).sum() == 30 and (states[:, 1] == 2e5).sum() == 10
    assert states[0, 0] == 1000.0 and states[-1, 0] == 2000.0
    assert states[:, 2:].min() == 0.0  # an integrator may leave small negative values

"""The outcome of a marched flame, from speeds that are made up."""

from types import SimpleNamespace

import numpy as np
import pytest

from combred.experiments.cells import LOST, STEADY, UNSTEADY, WENT_OUT
from combred.experiments.premixed.flame import INTERVALS, OUT, judge

EVERY, SPEED = 20, 0.4  # steps of an interval, m/s


def judged(speeds: np.ndarray, front: float = 30.0, T0: float = 300.0, moved: float = 1.0) -> str:
    """The outcome of a flame with its front at 1500 K and the unburnt end at T0, whose displacement
    is `moved` times that of its speeds, in time steps of 1 s."""
    profile = SimpleNamespace(speed=SPEED, front_T=1500.0)
    grid = SimpleNamespace(front=lambda: front, T=[T0], profile=profile)
    return judge(grid, list(speeds), moved * np.cumsum(speeds), EVERY, 1e-3)


def test_equal_speeds_are_steady_after_all_intervals():
    for intervals in range(1, INTERVALS):
        assert judged(np.full(intervals * EVERY, SPEED)) == UNSTEADY
    assert judged(np.full(INTERVALS * EVERY, SPEED)) == STEADY


@pytest.mark.parametrize("change, outcome", [(0.5e-3, STEADY), (2e-3, UNSTEADY)])
def test_the_means_of_the_intervals_must_agree_within_the_tolerance(change, outcome):
    speeds = np.full(INTERVALS * EVERY, SPEED)
    speeds[:EVERY] *= 1 + change
    assert judged(speeds) == outcome


def test_consumption_and_displacement_must_agree():
    speeds = np.full(INTERVALS * EVERY, SPEED)
    assert judged(speeds, moved=1.0005) == STEADY
    assert judged(speeds, moved=1.01) == UNSTEADY


def test_a_slow_flame_or_one_without_a_front_has_failed():
    speeds = np.full(INTERVALS * EVERY, SPEED)
    assert judged(0.9 * OUT * speeds) == WENT_OUT
    assert judged(speeds, front=np.nan, T0=300.0) == WENT_OUT
    assert judged(speeds, front=np.nan, T0=1800.0) == LOST

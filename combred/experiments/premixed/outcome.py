"""The outcome of a marched flame: whether its speed has become steady, or why it has not.

Takes the speeds of the steps so far, from consumption and from displacement; gives one of the
constants below. `combred.experiments.premixed.flame` marches on while it is `UNSTEADY`.
"""

import numpy as np

from combred.experiments.cells import LOST, STEADY, UNSTEADY, WENT_OUT
from combred.experiments.premixed.grid import MovingGrid

INTERVAL = 0.25  # flame times (thickness / speed) over which a speed is averaged
INTERVALS = 3  # number of intervals whose mean speeds must agree
OUT = 0.02  # a flame slower than this share of its initial speed is extinct


def judge(
    grid: MovingGrid, speeds: list[float], displacement: np.ndarray, every: int, tolerance: float
) -> str:
    """The outcome so far, at the end of an interval of `every` steps: UNSTEADY until the flame is
    steady or has failed. displacement (steps,): position of the front over dt [m/s]."""
    last = float(np.mean(speeds[-every:]))
    if not np.isfinite(grid.front()):
        return LOST if grid.T[0] > grid.profile.front_T else WENT_OUT
    if last < OUT * grid.profile.speed:
        return WENT_OUT
    span = INTERVALS * every
    if len(speeds) < span:
        return UNSTEADY
    means = np.reshape(speeds[-span:], (INTERVALS, every)).mean(axis=1)
    moved = slope(displacement[-span:])
    agree = np.ptp(means) <= tolerance * means.mean()
    return STEADY if agree and abs(moved - means.mean()) <= tolerance * moved else UNSTEADY


def slope(values: np.ndarray) -> float:
    """The mean change from one of `values` (n,) to the next, by linear regression."""
    steps = np.arange(len(values)) - 0.5 * (len(values) - 1)
    return float(steps @ values / (steps @ steps))

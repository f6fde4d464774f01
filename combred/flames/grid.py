"""The grid of a flame: where it needs points, where it has too many, and how wide it is.

Takes a grid and the profiles on it; gives new ones. The criteria are Cantera's: changes of values
and of slopes between neighbouring points, and the ratio of neighbouring intervals.
"""

from dataclasses import dataclass

import numpy as np

from combred.chemistry.states import Rows

# A profile counts where it varies by more than this, relative to its largest value.
VARIES = 0.01
# Added to the changes that are allowed, so that rounding needs no points.
ROUNDING = np.sqrt(np.finfo(float).eps)
SHORTEST = 1e-10  # m: an interval is not halved below it


@dataclass(frozen=True)
class Criteria:
    """Where points are inserted: between two whose values differ by more than `slope`, or whose
    slopes by more than `curve`, relative to the range of the profile; and beside an interval that
    is more than `ratio` times its neighbour. Points are taken out where both are below `prune`
    times these. Raises ValueError for others than ratio >= 2, 0 < slope, curve <= 1 and
    0 <= prune < 0.5."""

    ratio: float = 3.0
    slope: float = 0.06
    curve: float = 0.12
    prune: float = 0.0

    def __post_init__(self) -> None:
        shares = 0.0 < self.slope <= 1.0 and 0.0 < self.curve <= 1.0
        if not (shares and self.ratio >= 2.0 and 0.0 <= self.prune < 0.5):
            raise ValueError(
                f"ratio={self.ratio:g}, slope={self.slope:g}, curve={self.curve:g}, prune="
                f"{self.prune:g}: give a ratio from 2, slope and curve above 0 and at most 1, and "
                "prune from 0 and below 0.5"
            )


def refined(
    grid: np.ndarray, x: Rows, criteria: Criteria, fixed_point: int
) -> tuple[np.ndarray, Rows] | None:
    """The grid (n,) [m] and the profiles x (n, n_unknowns) with the points that the criteria ask
    for; the ends and the fixed point stay. None where nothing changes."""
    intervals = np.diff(grid)
    insert, stay = np.zeros(len(grid) - 1, bool), np.zeros(len(grid), bool)
    stay[[0, -1, fixed_point]] = True
    _by_value(x, criteria, insert, stay)
    _by_slope(x, intervals, criteria, insert, stay)
    insert &= intervals >= 2.0 * SHORTEST
    _by_ratio(intervals, criteria.ratio, insert, stay)
    if criteria.prune == 0.0:
        stay[:] = True
    for j in np.flatnonzero(~stay[1:-1]) + 1:
        stay[j] |= not stay[j - 1]  # two neighbours are not taken out at once
    if stay.all() and not insert.any():
        return None
    between = np.flatnonzero(insert & stay[:-1])
    places = np.concatenate([np.flatnonzero(stay).astype(float), between + 0.5])
    order = np.argsort(places)
    new_grid = np.concatenate([grid[stay], 0.5 * (grid[between] + grid[between + 1])])
    new_x = np.concatenate([x[stay], 0.5 * (x[between] + x[between + 1])])
    return new_grid[order], new_x[order]


def _by_value(x: Rows, criteria: Criteria, insert: np.ndarray, stay: np.ndarray) -> None:
    """Marks intervals over which a profile changes much, and points beside which it does."""
    span = np.ptp(x, axis=0)
    varies = span > VARIES * np.abs(x).max(axis=0)
    change = np.abs(np.diff(x[:, varies], axis=0)) / (criteria.slope * span[varies] + ROUNDING)
    insert |= (change > 1.0).any(1)
    needed = (change >= criteria.prune).any(1)
    stay[:-1] |= needed
    stay[1:] |= needed


def _by_slope(
    x: Rows, intervals: np.ndarray, criteria: Criteria, insert: np.ndarray, stay: np.ndarray
) -> None:
    """Marks intervals beside points at which the slope of a profile changes much."""
    slopes = np.diff(x, axis=0) / intervals[:, None]
    span = np.ptp(slopes, axis=0)
    varies = span > VARIES * np.abs(slopes).max(axis=0)
    allowed = criteria.curve * span[varies] + ROUNDING / intervals[:-1, None]
    change = np.abs(np.diff(slopes[:, varies], axis=0)) / allowed
    bent = (change > 1.0).any(1)
    insert[:-1] |= bent
    insert[1:] |= bent
    stay[1:-1] |= (change >= criteria.prune).any(1)


def _by_ratio(intervals: np.ndarray, ratio: float, insert: np.ndarray, stay: np.ndarray) -> None:
    """Marks intervals that are long beside their neighbours, and points without which one would
    be."""
    last = len(intervals)
    right = np.flatnonzero(intervals[1:] > ratio * intervals[:-1]) + 1
    left = np.flatnonzero(intervals[:-1] > ratio * intervals[1:])
    insert[right], insert[left] = True, True
    for interval in (right, left):
        for offset in (-1, 0, 1, 2):
            stay[np.clip(interval + offset, 0, last)] = True
    joined = intervals[:-1] + intervals[1:]  # of the points 1 to n - 2, without them
    preceding = np.concatenate([[np.inf], intervals[:-2]])
    following = np.concatenate([intervals[2:], [np.inf]])
    stay[1:-1] |= (joined > ratio * preceding) | (joined > ratio * following)


def widened(grid: np.ndarray, x: Rows, flat: float) -> tuple[np.ndarray, Rows] | None:
    """The grid and the profiles on a wider domain, to the left by half of it and to the right by
    all of it, at the ends where the slope of T, the first column of x, is above `flat` times the
    mean slope. None where both ends are flat."""
    width = grid[-1] - grid[0]
    slopes = np.abs(np.diff(x[:, 0]) / np.diff(grid))
    steepest = flat * np.abs(x[-1, 0] - x[0, 0]) / width
    if slopes[0] > steepest:
        return np.concatenate([[grid[0] - 0.5 * width], grid]), np.concatenate([x[:1], x])
    if slopes[-1] > steepest:
        return np.concatenate([grid, [grid[-1] + width]]), np.concatenate([x, x[-1:]])
    return None

"""Rate constants of a skeleton, refitted within the uncertainty that a user gives.

Takes a skeleton and the panel of a search; gives its factors on the rate constants. They minimise

    sum_i (w_i r_i(x) / limit)^2 + sum_j (x_j / ln u)^2,    |x_j| <= ln u,

with x the logarithms of the factors, u the uncertainty, and r the logarithms of delays, residence
times and temperatures at extinction, and flame speeds, relative to those of the detailed mechanism:
a Gauss-Newton method with a ridge. The weights w let the flames count as much as the ignitions. The
derivatives of flame speeds are adjoint sensitivities, the others are differences.
"""

from dataclasses import replace

import numpy as np

from combred.skeletal.search import Search, Step
from combred.skeletal.skeleton import Skeleton

ITERATIONS = 4
DIFFERENCE = 0.02  # of x
ENOUGH = 0.3  # of the limit: errors below it need no further iteration


def refit(search: Search, step: Step, uncertainty: float) -> Step:
    """A step with the factors on its rate constants, each from 1 / uncertainty to uncertainty,
    that give the smallest of the largest errors; as it is where none are better."""
    best, skeleton = step, step.skeleton
    for _ in range(ITERATIONS):
        factors = _improved(search, skeleton, float(np.log(uncertainty)))
        if factors is None:
            break
        found = search.judge(replace(skeleton, factors=factors), [])
        skeleton = found.skeleton
        best = found if found.error < best.error else best
        if not found.error > ENOUGH * search.limit:
            break
    return replace(best, removed=step.removed)


def _improved(search: Search, skeleton: Skeleton, bound: float) -> np.ndarray | None:
    """The factors (n_reactions,) after an iteration; None where a judge gives no number."""
    from scipy.optimize import lsq_linear

    rows = np.flatnonzero(skeleton.reactions)
    x = np.log(skeleton.multipliers[rows])
    with np.errstate(invalid="ignore"):  # a difference of infinities
        value, weight, slopes = _linearised(search, skeleton, rows)
    if not (np.isfinite(value).all() and np.isfinite(slopes).all()):
        return None
    scaled = slopes * (weight / search.limit)[:, None]
    wanted = (slopes @ x - value) * weight / search.limit
    matrix = np.vstack([scaled, np.eye(len(rows)) / bound])
    right = np.concatenate([wanted, np.zeros(len(rows))])
    factors = np.ones(len(skeleton.listed))
    factors[rows] = np.exp(lsq_linear(matrix, right, (-bound, bound)).x)
    return factors


def _linearised(
    search: Search, skeleton: Skeleton, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """r (n,), w (n,) and dr/dx (n, n_rows) of the factors of the reactions `rows`."""
    panel, known = search.panel, skeleton.multipliers
    shifted = np.tile(known, (len(rows), 1))
    shifted[np.arange(len(rows)), rows] *= np.exp(DIFFERENCE)
    candidates = [skeleton, *(replace(skeleton, factors=one) for one in shifted)]
    cheap = len(panel.cheap)
    found = panel.errors([(i, one) for one in candidates for i in panel.cheap])
    logs = np.array(
        [np.log1p(np.concatenate(found[i : i + cheap])) for i in range(0, len(found), cheap)]
    )
    value, slopes = logs[0], (logs[1:] - logs[0]).T / DIFFERENCE
    if not panel.flames:
        return value, np.ones(len(value)), slopes
    speeds, by_x = zip(*panel.speeds(skeleton), strict=True)
    n = len(panel.flames)
    heavy = np.full(n, np.sqrt(len(value) / n))
    return (
        np.concatenate([value, np.log1p(speeds)]),
        np.concatenate([np.ones(len(value)), heavy]),
        np.vstack([slopes, np.array(by_x)[:, rows]]),
    )

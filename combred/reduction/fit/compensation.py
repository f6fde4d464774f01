"""Compensation: how the next layers read the kept units in place of all.

"least_squares" fits the mixing to activations; "own" keeps that of the method, "none" prunes.
"""

import torch

from combred.reduction.fit.calibration import Calibration, Moments
from combred.reduction.network.merge import Merge

RIDGE = 1e-6  # of least squares, relative
COMPENSATIONS = ("own", "least_squares", "none")


def resolve_compensation(compensation: str | None, calibration: Calibration | None) -> str:
    """The compensation that is asked for, or the default: least squares where there is calibration.
    Raises ValueError for another name, and for least squares without calibration."""
    if compensation is None:
        return "own" if calibration is None else "least_squares"
    if compensation not in COMPENSATIONS:
        raise ValueError(f"compensation={compensation!r} is none of {', '.join(COMPENSATIONS)}")
    if compensation == "least_squares" and calibration is None:
        raise ValueError("compensation='least_squares' fits activations: give calibration=inputs")
    return compensation


def refit(merge: Merge, moments: Moments, ridge: float = RIDGE, intercept: bool = True) -> Merge:
    """The same kept units with the mixing Z and offset o that minimise, over calibration inputs,

        |A - (B[:, kept] Z + o)|^2 / n + ridge * trace(G) / k * |Z - Z0|^2

    A (n, m): activations in the original network; B: in the one whose earlier layers are already
    reduced, so that their errors are corrected too. Z0 is the mixing of `merge`: where calibration
    inputs leave Z undetermined, it stays Z0. G (k, k): covariance of B[:, kept]. Normal equations
    in float64.

    The next layers are linear in A: Z and o also minimise the error of their pre-activations,
    whatever their weights, where they read one position at a time. For a wider filter, and behind a
    flatten, they minimise the error of what is read at each position.

    intercept: without it o = 0 and moments are taken about zero, for readers that pad with zeros.
    Moments whose B has k columns are of the kept units alone, after a method has moved them
    (`merge.carriers`).
    """
    G, R, _ = moments.about(intercept)
    mean_B, Z0 = moments.mean_B, merge.mixing.to(G.device)
    if len(G) != len(merge.kept) or not merge.changes:
        indices = merge.kept.to(G.device)
        G, R, mean_B = G[indices][:, indices], R[indices], mean_B[indices]
    weight = max(ridge, 1e-12) * torch.diagonal(G).mean().clamp(min=1e-300)
    damped = G + weight * torch.eye(len(G), dtype=G.dtype, device=G.device)
    Z = torch.linalg.solve(damped, R + weight * Z0)
    offset = moments.mean_A - Z.T @ mean_B if intercept else torch.zeros_like(Z[0])
    return Merge(merge.kept, Z, offset, merge.carriers)

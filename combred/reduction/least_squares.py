"""Least squares: the kept units read so that what the next layers read changes least."""

import torch

from combred.reduction.calibration import Moments
from combred.reduction.merge import Merge


def refit(merge: Merge, moments: Moments, ridge: float = 1e-6, intercept: bool = True) -> Merge:
    """The same kept units with the mixing Z and offset o that minimise, over calibration states,

        |A - (B[:, kept] Z + o)|^2 + ridge * trace(G) / k * |Z - Z0|^2

    A are the layer's activations in the original network, B those in the one whose earlier layers
    are already reduced (asymmetric: errors made before are mended too). Z0 is the mixing given:
    where the calibration says nothing, nothing moves. Since the next layers are linear in A, these
    Z and o also minimise the error of their pre-activations, whatever their weights, where they
    read one position at a time; of a wider kernel, or behind a flatten, the error of what is read
    at each position. Normal equations, float64; G is the covariance of B[:, kept]. Without
    `intercept`, o = 0 and moments are taken about zero: for readers that pad with zeros. Moments
    whose B has k columns are of the kept units alone, as they are after a method has moved them
    (`merge.carriers`).
    """
    G, R, _ = moments.about(intercept)
    mean_B, Z0 = moments.mean_B, merge.mixing.to(G.device)
    if len(G) != len(merge.kept) or not merge.changes:
        kept = merge.kept.to(G.device)
        G, R, mean_B = G[kept][:, kept], R[kept], mean_B[kept]
    weight = max(ridge, 1e-12) * torch.diagonal(G).mean().clamp(min=1e-300)
    damped = G + weight * torch.eye(len(G), dtype=G.dtype, device=G.device)
    Z = torch.linalg.solve(damped, R + weight * Z0)
    offset = moments.mean_A - Z.T @ mean_B if intercept else torch.zeros_like(Z[0])
    return Merge(merge.kept, Z, offset, merge.carriers)

"""Interpolative decomposition: units whose activations span those of all others stay: Chee et al.,
Model preserving compression for neural networks (NeurIPS 2022)."""

import torch
from scipy.linalg.lapack import dpstrf

from combred.reduction.fit.units import Units
from combred.reduction.network.merge import Merge


def interpolative(units: Units, *, keep: int) -> Merge:
    """The merge that keeps the first `keep` pivots of B P = Q R, mixed by [I, R11^-1 R12].

    B (n, m): activations on calibration inputs, columns weighted by the norms of the weights with
    which the next layers read them. Pivots and R are those of the pivoted Cholesky factorisation
    P^T B^T B P = R^T R, which needs no rows of B. Fewer units stay where the rank of B is smaller.
    Raises ValueError without calibration.
    """
    moments = units.require_moments("interpolative")
    BB, _, _ = moments.about(units.layer.takes_offset)
    weight = units.reading.norm(dim=1).to(BB.device).clamp(min=1e-300)
    G = (BB * weight * weight[:, None]).cpu().numpy()
    factor, pivots, rank, _ = dpstrf(G, tol=-1.0, lower=0)  # rank: to m rounding errors
    keep = min(keep, max(int(rank), 1))
    R = torch.from_numpy(factor).triu().to(BB.device)
    if rank == 0:  # all units are constant: the offset is exact
        R.fill_diagonal_(1.0)
    order = torch.from_numpy(pivots.astype("int64") - 1).to(BB.device)
    mixing = torch.zeros(keep, units.m, dtype=torch.float64, device=BB.device)
    mixing[torch.arange(keep), order[:keep]] = 1.0
    solved = torch.linalg.solve_triangular(R[:keep, :keep], R[:keep, keep:], upper=True)
    mixing[:, order[keep:]] = solved * weight[order[:keep], None] / weight[order[keep:]]
    by_index = order[:keep].sort()
    indices, mixing = by_index.values, mixing[by_index.indices]
    offset = torch.zeros(units.m, dtype=torch.float64, device=BB.device)
    if units.layer.takes_offset:
        offset = moments.mean_A - mixing.T @ moments.mean_B[indices]
        offset[indices] = 0.0
    return Merge(indices, mixing, offset)

"""Optimal brain surgeon: units are removed one after another, the least costly first.

Meng et al., OSSCAR: One-shot structured pruning in vision and language models with combinatorial
optimization (ICML 2024, arXiv 2403.12983), its backward elimination; after Hassibi & Stork, Second
order derivatives for network pruning: optimal brain surgeon (NeurIPS 1992).
"""

import torch
from torch import Tensor

from combred.reduction.fit.units import Units
from combred.reduction.network.merge import Merge

RIDGE = 1e-6  # relative
BLOCK = 64  # eliminations between two updates of the matrices


def brain_surgeon(units: Units, *, keep: int) -> Merge:
    """The merge that keeps the `keep` units that backward elimination leaves.

    It prunes the others: least squares (`compensation.refit`) finds the mixing. Needs calibration.
    """
    order, _ = eliminate(units, keep)
    stays = torch.ones(units.m, dtype=torch.bool, device=order.device)
    stays[order] = False
    return Merge.prune(stays.nonzero()[:, 0], units.m)


def eliminate(units: Units, last: int) -> tuple[Tensor, Tensor]:
    """Remove units until `last` are left, 1 <= last <= m: their order and cost.

    order (m - last,): indices of units, the first one removed first. cost (m - last + 1,): cost[i]
    is the squared error of the next layers' pre-activations per calibration row after i removals,
    the other units refitted by least squares, the ridge term included.

    The pre-activations of the next layers, A U, are approximated by B W: A (n, m) and B (n, m) are
    the activations of the original and of the reduced network, U (m, q) the weights that read them.
    With H = B^T B / n + ridge I and W the least-squares solution, removing unit j costs

        |w_j|^2 / [H^-1]_jj,    and W -= H^-1[:, j] w_j / [H^-1]_jj

    makes the other units compensate; H^-1 loses c c^T with c = H^-1[:, j] / sqrt([H^-1]_jj). Costs
    depend on W only through P = W W^T, so that each removal changes two m x m matrices by terms of
    rank one and two. These are collected and applied `BLOCK` at a time; single rows that are needed
    in between are corrected at once. Exact, O(m^3) in all. Raises ValueError for another `last` and
    without calibration.
    """
    BB, BA, AA = units.require_moments("brain_surgeon").about(units.layer.takes_offset)
    U = units.reading.to(BB.device)
    m = len(BB)
    if not 1 <= last <= m:
        raise ValueError(f"of {m} units 1 to {m} can stay, not {last}")
    damp = RIDGE * torch.diagonal(BB).mean().clamp(min=1e-300)
    H = BB + damp * torch.eye(m, dtype=BB.dtype, device=BB.device)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(H))
    target = (BA @ U) + damp * U if BA is not BB else None
    W = U if target is None else inverse @ target
    start = 0.0
    if target is not None:
        start = max(float((U * (AA @ U + damp * U)).sum() - (W * target).sum()), 0.0)
    P = W @ W.T
    left = torch.arange(m, device=BB.device)
    order, costs = [], [start]
    while len(left) > last:
        removed, costs_of_block = _block(inverse, P, min(BLOCK, len(left) - last))
        order.append(left[removed])
        costs += costs_of_block
        stays = torch.ones(len(left), dtype=torch.bool, device=left.device)
        stays[removed] = False
        left, inverse, P = left[stays], inverse[stays][:, stays], P[stays][:, stays]
    cost = torch.tensor(costs, dtype=torch.float64).cumsum(0)
    return torch.cat(order) if order else left[:0], cost


def _block(inverse: Tensor, P: Tensor, count: int) -> tuple[Tensor, list[float]]:
    """Remove `count` units, updating H^-1 and P in place; the indices and costs of the units."""
    m = len(P)
    C, Y = inverse.new_zeros(count, m), inverse.new_zeros(count, m)
    squared = inverse.new_zeros(count)  # |g|^2, g = w_j / sqrt([H^-1]_jj)
    h, p = torch.diagonal(inverse).clone(), torch.diagonal(P).clone()
    removed, costs = [], []
    for i in range(count):
        cost = p / h.clamp(min=1e-300)
        cost[removed] = torch.inf
        j = int(cost.argmin())
        c, y = C[:i], Y[:i]
        root = h[j].clamp(min=1e-300).sqrt()
        column = (inverse[j] - c[:, j] @ c) / root
        # P after i removals: P - sum (c y^T + y c^T - |g|^2 c c^T)
        image = (P[j] - y[:, j] @ c - c[:, j] @ y + (squared[:i] * c[:, j]) @ c) / root
        C[i], Y[i], squared[i] = column, image, p[j].clamp(min=0.0) / root**2
        removed.append(j)
        costs.append(float(squared[i]))
        h -= column**2
        p += column * (squared[i] * column - 2.0 * image)
    inverse -= C.T @ C
    Y -= 0.5 * squared[:, None] * C
    P -= C.T @ Y + Y.T @ C
    return torch.tensor(removed, device=P.device), costs

"""Optimal brain surgeon on the activations: units leave one after another, the cheapest first.

Meng et al., OSSCAR: One-shot structured pruning in vision and language models with combinatorial
optimization (ICML 2024, arXiv 2403.12983), its backward elimination; after Hassibi & Stork, Second
order derivatives for network pruning: optimal brain surgeon (NeurIPS 1992).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from combred.reduction.merge import Merge
from combred.reduction.units import Units

BLOCK = 64  # eliminations between two updates of the matrices


@dataclass(frozen=True)
class Elimination:
    """The order in which units leave, and what each departure costs.

    order (m - last,): units, the first to leave first. cost (m - last + 1,): cost[i] is the squared
    error of the next layers' pre-activations, per calibration row, after i departures, the others
    refitted by least squares (what the ridge adds is counted); size: their own mean square about
    the intercept.
    """

    order: Tensor
    cost: Tensor
    size: float


def brain_surgeon(units: Units, *, keep: int, ridge: float = 1e-6) -> Merge:
    """The `keep` units that backward elimination leaves; mix them by least squares (`refit`)."""
    order = eliminate(units, keep, ridge).order
    stays = torch.ones(units.m, dtype=torch.bool, device=order.device)
    stays[order] = False
    return Merge.prune(stays.nonzero()[:, 0], units.m)


def eliminate(units: Units, last: int, ridge: float = 1e-6) -> Elimination:
    """Take units away until `last` are left.

    What the next layers compute from all units, A U, is approximated by B W. With H = B^T B + ridge
    and W its least squares, the departure of unit j costs |w_j|^2 / [H^-1]_jj, and the others
    take over by W -= H^-1[:, j] w_j / [H^-1]_jj; H^-1 itself loses the rank-one term
    c c^T, c = H^-1[:, j] / sqrt([H^-1]_jj). Costs need of W its Gram matrix P = W W^T alone, so
    that a departure changes two m x m matrices by terms of rank one and two. These are kept aside
    and applied BLOCK at a time: columns that are asked for meanwhile are corrected on the fly.
    Exact, O(m^3) for all of it.
    """
    BB, BA, AA = units.require_moments("brain_surgeon").about(units.layer.takes_offset)
    U = units.reading.to(BB.device)
    m = len(BB)
    if not 1 <= last <= m:
        raise ValueError(f"of {m} units 1 to {m} can stay, not {last}")
    damp = max(ridge, 1e-12) * torch.diagonal(BB).mean().clamp(min=1e-300)
    H = BB + damp * torch.eye(m, dtype=BB.dtype, device=BB.device)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(H))
    target = (BA @ U) + damp * U if BA is not BB else None
    W = U if target is None else inverse @ target
    size = float((U * (AA @ U)).sum())
    start = 0.0
    if target is not None:
        start = max(size + float(damp * U.square().sum() - (W * target).sum()), 0.0)
    P = W @ W.T
    left = torch.arange(m, device=BB.device)
    order, prices = [], [start]
    while len(left) > last:
        gone, costs = _block(inverse, P, min(BLOCK, len(left) - last))
        order.append(left[gone])
        prices += costs
        stays = torch.ones(len(left), dtype=torch.bool, device=left.device)
        stays[gone] = False
        left, inverse, P = left[stays], inverse[stays][:, stays], P[stays][:, stays]
    found = torch.cat(order) if order else left[:0]
    return Elimination(found, torch.tensor(prices, dtype=torch.float64).cumsum(0), size)


def _block(inverse: Tensor, P: Tensor, count: int) -> tuple[Tensor, list[float]]:
    """Take `count` units away, updating H^-1 and P in place; their indices and costs."""
    m = len(P)
    C, Y = inverse.new_zeros(count, m), inverse.new_zeros(count, m)
    squared = inverse.new_zeros(count)  # |g|^2, g = w_j / sqrt([H^-1]_jj)
    h, p = torch.diagonal(inverse).clone(), torch.diagonal(P).clone()
    gone, costs = [], []
    for i in range(count):
        price = p / h.clamp(min=1e-300)
        price[gone] = torch.inf
        j = int(price.argmin())
        c, y = C[:i], Y[:i]
        root = h[j].clamp(min=1e-300).sqrt()
        column = (inverse[j] - c[:, j] @ c) / root
        # P after i departures: P - sum (c y^T + y c^T - |g|^2 c c^T)
        image = (P[j] - y[:, j] @ c - c[:, j] @ y + (squared[:i] * c[:, j]) @ c) / root
        C[i], Y[i], squared[i] = column, image, p[j].clamp(min=0.0) / root**2
        gone.append(j)
        costs.append(float(squared[i]))
        h -= column**2
        p += column * (squared[i] * column - 2.0 * image)
    inverse -= C.T @ C
    Y -= 0.5 * squared[:, None] * C
    P -= C.T @ Y + Y.T @ C
    return torch.tensor(gone, device=P.device), costs

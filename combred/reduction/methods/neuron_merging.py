"""Neuron Merging: prune by a criterion, and read what was pruned through its nearest kept unit.

Kim et al., Neuron Merging: Compensating for Pruned Neurons (NeurIPS 2020).
"""

import torch
from torch import Tensor

from combred.reduction.merge import Merge
from combred.reduction.units import BatchNorm, Units

CRITERIA = ("l1", "l2", "l2-gm")


def neuron_merging(
    units: Units, *, keep: int, criterion: str = "l2", t: float = -1.0, weight: float = 0.85
) -> Merge:
    """The `keep` units with the largest `criterion`; Z by their algorithms 1 to 3.

    criterion: "l1", "l2" norms, or "l2-gm": distance from the geometric median. A pruned unit is
    compensated for where its cosine with the nearest kept unit is at least `t`. Behind a batch norm
    the nearest unit minimises `weight` (1 - cosine) + (1 - `weight`) bias distance (algorithm 3;
    their lambda, 0.7 to 0.9 in their experiments) and the scale is S of equation (8); without one,
    cosine alone counts, on [W | b], and the scale is the ratio of norms (algorithm 2, section 6.1).
    """
    if not -1.0 <= t <= 1.0 or not 0.0 <= weight <= 1.0:
        raise ValueError(f"t={t} must lie in [-1, 1], weight={weight} in [0, 1]")
    kept = important(units, keep, criterion)
    merge = Merge.prune(kept, units.m)
    # Filters are compared as they are, without what the batch norm makes of them: (8) sees to that.
    rows = units.weights if units.norm is not None else units.rows
    pruned = torch.ones(units.m, dtype=torch.bool, device=rows.device)
    pruned[merge.kept] = False
    unit = torch.nn.functional.normalize(rows, dim=1)
    cosine = unit @ unit[merge.kept].T  # (m, k)
    length = rows.norm(dim=1)
    ratio = length[:, None] / length[merge.kept].clamp(min=1e-300)
    ratio = torch.where(length[merge.kept] > 0, ratio, 0.0)  # no unit is a multiple of nothing
    distance, scale = 1.0 - cosine, ratio
    if units.norm is not None:
        scale, bias = batch_norm_relation(units.norm, units.bias, ratio, merge.kept)
        bias_distance = torch.where(scale > 0, bias.abs() / scale.clamp(min=1e-300), torch.inf)
        distance = weight * distance + (1.0 - weight) * _normalised(bias_distance)
    # S < 0 would need a negative multiple, which no ReLU passes on: never nearest.
    distance = torch.where(scale > 0, distance, torch.inf)
    nearest = distance.argmin(dim=1)
    compensated = pruned & (cosine.gather(1, nearest[:, None])[:, 0] >= t)
    compensated &= torch.isfinite(distance.gather(1, nearest[:, None])[:, 0])
    index = compensated.nonzero()[:, 0]
    merge.mixing[nearest[index], index] = scale[index, nearest[index]]
    return merge


def magnitude(units: Units, *, keep: int, criterion: str = "l2") -> Merge:
    """Pruning: the `keep` units with the largest criterion, the others lost."""
    return Merge.prune(important(units, keep, criterion), units.m)


def important(units: Units, keep: int, criterion: str) -> Tensor:
    """Indices (keep,), ascending, of the units of the largest criterion; ties: the lowest index."""
    if criterion not in CRITERIA:
        raise ValueError(f"criterion {criterion!r} is none of {', '.join(CRITERIA)}")
    rows = units.weights if units.norm is not None and units.kernels is None else units.rows
    if criterion == "l1":
        score = rows.abs().sum(dim=1)
    elif criterion == "l2":
        score = rows.norm(dim=1)
    else:
        score = (rows - geometric_median(rows)).norm(dim=1)
    return score.argsort(descending=True, stable=True)[:keep].sort().values


def geometric_median(rows: Tensor, steps: int = 1000) -> Tensor:
    """The point (d,) with the least sum of distances to rows (m, d).

    Weiszfeld's iteration; from a row it goes on as in Vardi & Zhang, PNAS 97 (2000).
    """
    point = rows.mean(dim=0)
    for _ in range(steps):
        distance = (rows - point).norm(dim=1)
        weight = torch.where(distance > 0, 1.0 / distance, 0.0)
        pull, here = weight @ (rows - point), (distance == 0).sum()
        if pull.norm() <= here:  # this row is the median
            break
        step = (1.0 - here / pull.norm()) * pull / weight.sum()
        point = point + step
        if step.norm() <= 1e-12 * point.norm():
            break
    return point


def batch_norm_relation(
    norm: BatchNorm, bias: Tensor, ratio: Tensor, kept: Tensor
) -> tuple[Tensor, Tensor]:
    """S and B (m, k) of equation (8): x_2^BN = S x_1^BN + B, unit 1 being kept, unit 2 any.

    ratio (m, k): s = |F_2| / |F_1|. A bias b (m,) of the convolution shifts its running mean.
    Where gamma_1 is 0, x_1^BN is constant and S is 0.
    """
    gamma, beta, sigma = norm.gamma, norm.beta, norm.std
    mu = norm.mean - bias
    constant = gamma[kept] == 0
    one = torch.where(constant, 1.0, gamma[kept])
    S = ratio * (gamma[:, None] / one) * (sigma[kept] / sigma[:, None])
    S = torch.where(constant, 0.0, S)
    inner = ratio * (-sigma[kept] * beta[kept] / one + mu[kept]) - mu[:, None]
    return S, (gamma / sigma)[:, None] * inner + beta[:, None]


def _normalised(distance: Tensor) -> Tensor:
    """Each row's finite entries to [0, 1]."""
    finite = torch.where(torch.isfinite(distance), distance, torch.nan)
    low = torch.nan_to_num(finite, nan=torch.inf).amin(dim=1, keepdim=True)
    high = torch.nan_to_num(finite, nan=-torch.inf).amax(dim=1, keepdim=True)
    spread = (high - low).clamp(min=1e-300)
    return torch.where(torch.isfinite(distance), (distance - low) / spread, torch.inf)


def ware(original: Tensor, reduced: Tensor, importance: Tensor | None = None) -> float:
    """Weighted average reconstruction error (their equation 9) of responses y (M, N):

        sum_m sum_i s_i |y'_im - y_im| / |y_im| / (M N)

    importance (N,): s_i, 1 if not given. Responses that are exactly zero are left out, and not
    counted: their relative error has no meaning.
    """
    s = torch.ones_like(original[0]) if importance is None else importance
    counted = original != 0
    error = s * (reduced - original).abs() / torch.where(counted, original.abs(), 1.0)
    return float(error[counted].double().sum() / counted.sum().clamp(min=1))

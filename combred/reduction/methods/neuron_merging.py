"""Neuron merging: units are pruned by a criterion and read through the nearest unit that stays:
Kim et al., Neuron Merging: Compensating for Pruned Neurons (NeurIPS 2020)."""

import torch
from torch import Tensor

from combred.reduction.fit.units import BatchNorm, Units
from combred.reduction.methods.magnitude import important_units
from combred.reduction.network.merge import Merge


def neuron_merging(
    units: Units, *, keep: int, criterion: str = "l2", t: float = -1.0, weight: float = 0.85
) -> Merge:
    """The merge that keeps the `keep` units with the largest criterion and merges the others.

    criterion: as in `magnitude.important_units`. Each pruned unit is read as a positive multiple of
    the nearest kept unit, if their cosine is at least `t` in [-1, 1]; else it is lost (algorithm
    1). Without a batch norm the nearest unit has the largest cosine between rows [W | b], and the
    multiple is the ratio of norms (algorithm 2, section 6.1). Behind a batch norm the nearest unit
    minimises `weight` (1 - cosine) + (1 - `weight`) (bias distance) (algorithm 3; `weight` in
    [0, 1] is their lambda, 0.7 to 0.9 in their experiments), and the multiple is S of equation (8).
    """
    if not -1.0 <= t <= 1.0 or not 0.0 <= weight <= 1.0:
        raise ValueError(f"t={t} must lie in [-1, 1], weight={weight} in [0, 1]")
    indices = important_units(units, keep, criterion)
    merge = Merge.prune(indices, units.m)
    # Filters are compared without the batch norm: equation (8) takes it into account.
    rows = units.weights if units.norm is not None else units.rows
    pruned = torch.ones(units.m, dtype=torch.bool, device=rows.device)
    pruned[merge.kept] = False
    unit = torch.nn.functional.normalize(rows, dim=1)
    cosine = unit @ unit[merge.kept].T  # (m, k)
    length = rows.norm(dim=1)
    ratio = length[:, None] / length[merge.kept].clamp(min=1e-300)
    ratio = torch.where(length[merge.kept] > 0, ratio, 0.0)  # no unit is a multiple of zeros
    distance, scale = 1.0 - cosine, ratio
    if units.norm is not None:
        scale, bias = batch_norm_relation(units.norm, units.bias, ratio, merge.kept)
        bias_distance = torch.where(scale > 0, bias.abs() / scale.clamp(min=1e-300), torch.inf)
        distance = weight * distance + (1.0 - weight) * _normalised(bias_distance)
    # S < 0 would be a negative multiple, which a ReLU does not pass on: never the nearest.
    distance = torch.where(scale > 0, distance, torch.inf)
    nearest = distance.argmin(dim=1)
    compensated = pruned & (cosine.gather(1, nearest[:, None])[:, 0] >= t)
    compensated &= torch.isfinite(distance.gather(1, nearest[:, None])[:, 0])
    index = compensated.nonzero()[:, 0]
    merge.mixing[nearest[index], index] = scale[index, nearest[index]]
    return merge


def batch_norm_relation(
    norm: BatchNorm, bias: Tensor, ratio: Tensor, indices: Tensor
) -> tuple[Tensor, Tensor]:
    """S and B (m, k) of equation (8), x_2^BN = S x_1^BN + B, for kept units 1 and all units 2.

    ratio (m, k): s = |F_2| / |F_1| of the filters. bias (m,) of the convolution, which shifts the
    running mean. kept (k,): indices. Where gamma_1 is 0, x_1^BN is constant and S is 0.
    """
    gamma, beta, sigma = norm.gamma, norm.beta, norm.std
    mu = norm.mean - bias
    constant = gamma[indices] == 0
    scale = torch.where(constant, 1.0, gamma[indices])
    S = ratio * (gamma[:, None] / scale) * (sigma[indices] / sigma[:, None])
    S = torch.where(constant, 0.0, S)
    inner = ratio * (-sigma[indices] * beta[indices] / scale + mu[indices]) - mu[:, None]
    return S, (gamma / sigma)[:, None] * inner + beta[:, None]


def _normalised(distance: Tensor) -> Tensor:
    """The finite entries of each row, mapped to [0, 1]."""
    finite = torch.where(torch.isfinite(distance), distance, torch.nan)
    low = torch.nan_to_num(finite, nan=torch.inf).amin(dim=1, keepdim=True)
    high = torch.nan_to_num(finite, nan=-torch.inf).amax(dim=1, keepdim=True)
    spread = (high - low).clamp(min=1e-300)
    return torch.where(torch.isfinite(distance), (distance - low) / spread, torch.inf)

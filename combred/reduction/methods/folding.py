"""Folding: units are clustered by k-means, and each cluster becomes its centroid, without data:
Wang et al., Forget the data and fine-tuning! Just fold the network to compress (ICLR 2025)."""

import torch
from torch import Tensor

from combred.reduction.fit.units import Units
from combred.reduction.network.merge import Merge
from combred.reduction.network.tensors import tensor_of


def folding(units: Units, *, keep: int, seed: int = 0) -> Merge:
    """The merge that replaces each of at most `keep` clusters of units by its centroid.

    Rows [W | b], with the batch norm behind the layer folded in, are clustered by k-means (seed: of
    its start). The unit nearest to the centroid stays and takes the centroid's row, written back
    through the batch norm. The mixing is one. Clusters may stay empty.
    """
    rows = units.rows
    distinct, labels = torch.unique(rows, dim=0, return_inverse=True)
    if len(distinct) > keep:
        labels = k_means(rows, keep, seed)
    clusters = torch.unique(labels, return_inverse=True)[1]
    k = int(clusters.max()) + 1
    member = torch.nn.functional.one_hot(clusters, k).double().T  # (k, m)
    centroids = (member @ rows) / member.sum(dim=1, keepdim=True)
    distance = torch.where(member > 0, torch.cdist(centroids, rows), torch.inf)
    nearest = distance.argmin(dim=1)
    order = nearest.argsort()
    indices, member, centroids = nearest[order], member[order], centroids[order]
    offset = rows.new_zeros(units.m)
    return Merge(indices, member, offset, _unfold(units, indices, centroids))


def k_means(points: Tensor, k: int, seed: int, iterations: int = 30) -> Tensor:
    """Cluster (m,) in 0, ..., k - 1 of each of the points (m, d); clusters may stay empty.

    Lloyd's iteration until nothing moves, at most `iterations`, from centres drawn as in k-means++
    (Arthur & Vassilvitskii, SODA 2007) with `seed`.
    """
    generator = torch.Generator().manual_seed(seed)
    square = points.square().sum(dim=1)
    chance, start = torch.ones_like(square), []
    while len(start) < k and chance.any():
        start.append(int(torch.multinomial(chance.cpu(), 1, generator=generator)))
        centre = start[-1]
        distance = (square - 2.0 * (points @ points[centre]) + square[centre]).clamp(min=0.0)
        chance = distance if len(start) == 1 else torch.minimum(chance, distance)
        chance[centre] = 0.0
    centres, labels = points[start], torch.full((len(points),), -1)
    for _ in range(iterations):
        nearest = torch.cdist(points, centres).argmin(dim=1)
        if torch.equal(nearest, labels.to(nearest.device)):
            break
        labels = nearest
        count = torch.bincount(labels, minlength=len(start))[:, None]
        total = torch.zeros_like(centres).index_add_(0, labels, points)
        centres = torch.where(count > 0, total / count.clamp(min=1), centres)
    return labels


def _unfold(units: Units, indices: Tensor, centroids: Tensor) -> dict[str, Tensor]:
    """Parameters of the kept units (k,) whose rows, batch norm folded in, are centroids (k, d + 1).

    Running statistics and gamma stay (gamma is 1 where it was zero); beta takes up the bias, or the
    running mean where there is no beta.
    """
    name, norm = units.layer.name, units.norm
    producer = units.network.get_submodule(name)
    shape = (-1, *tensor_of(producer).shape[1:])
    weights, bias = centroids[:, :-1], centroids[:, -1]
    if norm is None:
        new = {f"{name}.weight": weights.reshape(shape)}
        return new | ({f"{name}.bias": bias} if producer.bias is not None else {})
    scale = norm.scale[indices]
    scale = torch.where(scale == 0, 1.0 / norm.std[indices], scale)
    offset = units.bias[indices]
    new = {f"{name}.weight": (weights / scale[:, None]).reshape(shape)}
    if not norm.affine:
        return new | {f"{units.layer.norm}.running_mean": offset - bias / scale}
    return new | {
        f"{units.layer.norm}.weight": scale * norm.std[indices],
        f"{units.layer.norm}.bias": bias - (offset - norm.mean[indices]) * scale,
    }

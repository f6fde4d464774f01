"""Channel similarity: units with similar distributions are clustered, and one of each stays:
Zhang et al., Network pruning via channel similarity, sections 3.1 to 3.4."""

import numpy as np
import torch
from scipy.cluster.hierarchy import cut_tree, fcluster, linkage
from scipy.spatial.distance import squareform
from torch import Tensor

from combred.reduction.fit.units import Units
from combred.reduction.network.merge import Merge


def channel_similarity(
    units: Units,
    *,
    threshold: float | None = None,
    keep: int | None = None,
    statistics: str = "auto",
) -> Merge:
    """The merge that keeps one unit of each cluster, the one with the largest |gamma|.

    Distances between units are normalised to [0, 1] within the layer and clustered hierarchically
    (by average linkage; the paper names none), either up to the distance `threshold` in [0, 1]
    or into `keep` clusters. statistics: the distance, "batch_norm" (equation 4), "activations"
    (equation 1, of the activations that the readers see on calibration inputs), "moments" (equation
    2, with mean and variance of the activations in place of beta and gamma^2), or "auto": batch
    norm where there is one, else moments. The mixing is equation (6): the unit that stays takes the
    place of its cluster (the paper removes the others and retrains).
    """
    if statistics == "auto":
        statistics = "batch_norm" if units.norm is not None else "moments"
    labels = cluster(distances(units, statistics), threshold, keep)
    if units.norm is not None:
        strength = units.norm.gamma.abs()
    else:  # the standard deviation of the activations
        strength = torch.diagonal(units.moments.BB).clamp(min=0.0).sqrt()
    found = torch.from_numpy(labels).to(strength.device)
    member = (found == found.unique()[:, None]).double()
    kept = torch.where(member > 0, strength, -torch.inf).argmax(dim=1)
    order = kept.argsort()
    return Merge(kept[order], member[order], strength.new_zeros(units.m))


def distances(units: Units, statistics: str) -> Tensor:
    """Distances (m, m) between units, zero on the diagonal, by the `statistics` of
    `channel_similarity` but "auto". Raises ValueError for others, and where they are missing."""
    if statistics not in ("activations", "batch_norm", "moments"):
        raise ValueError(
            f"statistics={statistics!r} is none of auto, batch_norm, activations, moments"
        )
    if statistics == "batch_norm":
        if units.norm is None:
            raise ValueError(
                f"layer {units.layer.name} has no batch norm: give calibration, and "
                'statistics="moments" or "activations"'
            )
        mean, variance = units.norm.beta, units.norm.gamma**2
    else:
        moments = units.require_moments("channel_similarity")
        mean, variance = moments.mean_B, torch.diagonal(moments.BB)
    found = (mean[:, None] - mean) ** 2 + variance[:, None] + variance
    if statistics == "activations":  # the mean of (a_i - a_j)^2
        found = found - 2.0 * moments.BB
    return found.clamp(min=0.0).fill_diagonal_(0.0)


def cluster(distance: Tensor, threshold: float | None, keep: int | None) -> np.ndarray:
    """Cluster (m,) of each unit, numbered from 1 (their algorithm 1: normalise, cluster).

    distance (m, m): symmetric, zero on the diagonal. threshold in [0, 1], or keep clusters.
    """
    m = len(distance)
    if m == 1:
        return np.ones(1, dtype=int)
    pairs = squareform(distance.cpu().numpy(), checks=False)
    spread = pairs.max() - pairs.min()
    normalised = (pairs - pairs.min()) / (spread if spread > 0 else 1.0)
    tree = linkage(normalised, method="average")
    if threshold is not None:
        return fcluster(tree, threshold, criterion="distance")
    # fcluster's maxclust gives fewer clusters where distances tie; cut_tree gives exactly so many.
    return cut_tree(tree, n_clusters=min(keep, m))[:, 0] + 1

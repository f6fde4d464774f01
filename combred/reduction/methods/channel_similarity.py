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
    normalise: bool = True,
) -> Merge:
    """The merge that keeps one unit of each cluster, the one with the largest |gamma|.

    Distances between units are normalised to [0, 1] within the layer and clustered hierarchically
    (by average linkage; the paper names none), either up to the distance `threshold` in [0, 1]
    or into `keep` clusters. normalise: False leaves the distances as they are (their section 4.4);
    a threshold is then any positive number. statistics: the distance, "batch_norm" (equation 4),
    "activations" (equation 1) or "moments" (equation 2), both of the units before the activation
    function on calibration inputs, as in the paper, or "auto": batch norm where there is one, else
    moments. The mixing is equation (6): the unit that stays takes the place of its cluster (the
    paper removes the others and retrains).
    """
    if statistics == "auto":
        statistics = "batch_norm" if units.norm is not None else "moments"
    distance, strength = distances(units, statistics)
    labels = torch.from_numpy(cluster(distance, threshold, keep, normalise)).to(strength.device)
    member = (labels == labels.unique()[:, None]).double()
    indices = torch.where(member > 0, strength, -torch.inf).argmax(dim=1)
    order = indices.argsort()
    return Merge(indices[order], member[order], strength.new_zeros(units.m))


def distances(units: Units, statistics: str) -> tuple[Tensor, Tensor]:
    """Distances (m, m) between units, zero on the diagonal, by the `statistics` of
    `channel_similarity` but "auto", and the strength (m,) of each unit: |gamma|, or its standard
    deviation where there is no batch norm. Raises ValueError for other statistics, and where they
    are missing."""
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
        moments = units.require_producer_moments("channel_similarity")
        mean, variance = moments.mean_B, torch.diagonal(moments.BB)
    squared = (mean[:, None] - mean) ** 2 + variance[:, None] + variance
    if statistics == "activations":  # the mean of (a_i - a_j)^2
        squared = squared - 2.0 * moments.BB
    strength = variance.clamp(min=0.0).sqrt() if units.norm is None else units.norm.gamma.abs()
    return squared.clamp(min=0.0).fill_diagonal_(0.0), strength


def cluster(
    distance: Tensor, threshold: float | None, keep: int | None, normalise: bool = True
) -> np.ndarray:
    """Cluster (m,) of each unit, numbered from 1 (their algorithm 1: normalise, cluster).

    distance (m, m): symmetric, zero on the diagonal. Its smallest and largest entries, between
    which it is normalised, are those of pairs of different units (the paper's matrix of equation 4
    has 2 gamma^2 on the diagonal). threshold, or keep clusters.
    """
    m = len(distance)
    if m == 1:
        return np.ones(1, dtype=int)
    pairs = squareform(distance.cpu().numpy(), checks=False)
    if normalise:
        spread = pairs.max() - pairs.min()
        pairs = (pairs - pairs.min()) / (spread if spread > 0 else 1.0)
    tree = linkage(pairs, method="average")
    if threshold is not None:
        return fcluster(tree, threshold, criterion="distance")
    # fcluster's maxclust gives fewer clusters where distances tie; cut_tree gives exactly so many.
    return cut_tree(tree, n_clusters=m if keep is None else min(keep, m))[:, 0] + 1

"""Channel similarity: units whose distributions are alike are clustered, one of each stays.

Zhang et al., Network pruning via channel similarity: sections 3.1 to 3.4.
"""

import numpy as np
import torch
from scipy.cluster.hierarchy import cut_tree, fcluster, linkage
from scipy.spatial.distance import squareform
from torch import Tensor

from combred.reduction.merge import Merge
from combred.reduction.units import Units


def channel_similarity(
    units: Units,
    *,
    threshold: float | None = None,
    keep: int | None = None,
    statistics: str = "auto",
    link: str = "average",
) -> Merge:
    """One unit of each cluster stays, the one with the largest |gamma|.

    Distances are normalised to [0, 1] within the layer, clustered hierarchically (scipy, `link`;
    the paper names none) and cut at `threshold`, one for all layers, or into `keep` clusters.
    statistics: "batch_norm" (equation 4), "activations" (equation 1, of calibration data: the
    activations that the readers see), "moments" (equation 2, with the mean and variance of the
    calibration data in the place of beta and gamma^2), or "auto": batch norm where there is one.
    The paper removes the other units and lets retraining mend it; the mixing here is its equation
    (6), which lets the one that stays replace them.
    """
    if statistics == "auto":
        statistics = "batch_norm" if units.norm is not None else "moments"
    distance = distances(units, statistics)
    labels = cluster(distance, threshold, keep, link)
    strength = importance(units)
    mixing, kept = [], []
    for label in np.unique(labels):
        members = torch.from_numpy(np.flatnonzero(labels == label)).to(strength.device)
        kept.append(int(members[strength[members].argmax()]))
        row = torch.zeros(units.m, dtype=torch.float64, device=strength.device)
        row[members] = 1.0
        mixing.append(row)
    order = np.argsort(kept)
    return Merge(
        torch.tensor(np.array(kept)[order], device=strength.device),
        torch.stack([mixing[i] for i in order]),
        torch.zeros(units.m, dtype=torch.float64, device=strength.device),
    )


def distances(units: Units, statistics: str) -> Tensor:
    """Dist (m, m) between units, zero on the diagonal."""
    if statistics == "activations":
        moments = units.require_moments("channel_similarity")
        mean, variance = moments.mean_B, torch.diagonal(moments.BB)
        # the mean of (a_i - a_j)^2
        found = (mean[:, None] - mean) ** 2 + variance[:, None] + variance - 2.0 * moments.BB
    else:
        if statistics == "batch_norm":
            if units.norm is None:
                raise ValueError(
                    f"layer {units.layer.name} has no batch norm: give calibration, and "
                    'statistics="moments" or "activations"'
                )
            mean, variance = units.norm.beta, units.norm.gamma**2
        elif statistics == "moments":
            moments = units.require_moments("channel_similarity")
            mean, variance = moments.mean_B, torch.diagonal(moments.BB)
        else:
            raise ValueError(
                f"statistics={statistics!r} is none of auto, batch_norm, activations, moments"
            )
        found = (mean[:, None] - mean) ** 2 + variance[:, None] + variance
    return found.clamp(min=0.0).fill_diagonal_(0.0)


def cluster(
    distance: Tensor, threshold: float | None, keep: int | None, link: str = "average"
) -> np.ndarray:
    """Cluster (m,) of each unit, numbered from 1 (algorithm 1 of the paper: normalise, cluster)."""
    m = len(distance)
    if m == 1:
        return np.ones(1, dtype=int)
    pairs = squareform(distance.cpu().numpy(), checks=False)
    spread = pairs.max() - pairs.min()
    normalised = (pairs - pairs.min()) / (spread if spread > 0 else 1.0)
    tree = linkage(normalised, method=link)
    if threshold is not None:
        return fcluster(tree, threshold, criterion="distance")
    # fcluster's maxclust leaves fewer where distances tie; cut_tree leaves exactly so many.
    return cut_tree(tree, n_clusters=min(keep, m))[:, 0] + 1


def importance(units: Units) -> Tensor:
    """|gamma| (m,), or the standard deviation of the activations where there is no batch norm."""
    if units.norm is not None:
        return units.norm.gamma.abs()
    moments = units.require_moments("channel_similarity")
    return torch.diagonal(moments.BB).clamp(min=0.0).sqrt()

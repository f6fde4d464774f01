"""Magnitude pruning: the units with the largest weights stay, the others are lost; by the criteria
of Kim et al., Neuron Merging: Compensating for Pruned Neurons (NeurIPS 2020)."""

import torch
from torch import Tensor

from combred.reduction.fit.units import Units
from combred.reduction.network.merge import Merge

CRITERIA = ("l1", "l2", "l2-gm")


def magnitude(units: Units, *, keep: int, criterion: str = "l2") -> Merge:
    """The merge that keeps the `keep` units with the largest criterion and prunes the others."""
    return Merge.prune(important_units(units, keep, criterion), units.m)


def important_units(units: Units, keep: int, criterion: str) -> Tensor:
    """Indices (keep,), ascending, of the units with the largest criterion; ties: the lowest index.

    criterion: "l1" or "l2", a norm of the row, or "l2-gm", its distance from the geometric median
    of all rows. Rows are [W | b], or W alone where a batch norm follows. Raises ValueError for
    another criterion.
    """
    if criterion not in CRITERIA:
        raise ValueError(f"criterion {criterion!r} is none of {', '.join(CRITERIA)}")
    rows = units.weights if units.norm is not None and units.filters is None else units.rows
    if criterion == "l1":
        score = rows.abs().sum(dim=1)
    elif criterion == "l2":
        score = rows.norm(dim=1)
    else:
        score = (rows - geometric_median(rows)).norm(dim=1)
    return score.argsort(descending=True, stable=True)[:keep].sort().values


def geometric_median(rows: Tensor, steps: int = 1000) -> Tensor:
    """The point (d,) with the least sum of distances to rows (m, d), to a relative 1e-12.

    Weiszfeld's iteration, at most `steps`; from a point that is a row it goes on as in Vardi &
    Zhang, The multivariate L1-median and associated data depth, PNAS 97 (2000).
    """
    point = rows.mean(dim=0)
    for _ in range(steps):
        distance = (rows - point).norm(dim=1)
        weight = torch.where(distance > 0, 1.0 / distance, 0.0)
        pull, coincident = weight @ (rows - point), (distance == 0).sum()
        if pull.norm() <= coincident:  # this row is the median
            break
        step = (1.0 - coincident / pull.norm()) * pull / weight.sum()
        point = point + step
        if step.norm() <= 1e-12 * point.norm():
            break
    return point

"""Greedy grouping of rows by cosine similarity, defined in plain torch.

All other implementations of `combred.kernels.group` are tested against this one.
"""

import torch
from torch import Tensor

EXACT = 1e-12  # rounding must not separate a row from its own multiple at a threshold of 1


def group(weights: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Greedy grouping of rows by cosine similarity (Chen & Xu 2024, section 2.2.3).

    Two rows are similar if their cosine is at least `threshold`. The degree of a row is the number
    of ungrouped rows that are similar to it, itself included. The ungrouped row of largest degree
    (ties: the lowest index) becomes a main row, and the ungrouped rows similar to it are its group;
    this is repeated until every row is in a group.

    weights: (m, d); threshold: in [-1, 1]. Returns labels (m,) int64, the group of each row, and
    mains (n_groups,) int64, the main row of each group, groups in the order in which they are
    formed. A row of zero norm is similar to itself alone. Cosines are computed in float64.
    """
    unit, dead = unit_rows(weights)
    similar = (unit @ unit.T) >= threshold - EXACT
    similar[dead] = False
    similar[:, dead] = False
    similar.fill_diagonal_(True)
    degree = similar.sum(dim=1)
    open_rows = torch.ones(len(unit), dtype=torch.bool, device=unit.device)
    labels = torch.full((len(unit),), -1, dtype=torch.int64, device=unit.device)
    mains: list[int] = []
    while bool(open_rows.any()):
        # argmax may return any of several maxima: the lowest index is asked for explicitly.
        masked = torch.where(open_rows, degree, -1)
        main = int((masked == masked.max()).nonzero()[0, 0])
        members = (similar[main] & open_rows).nonzero()[:, 0]
        labels[members] = len(mains)
        mains.append(main)
        open_rows[members] = False
        degree = degree - similar[:, members].sum(dim=1)
    return labels, torch.tensor(mains, dtype=torch.int64, device=unit.device)


def unit_rows(weights: Tensor) -> tuple[Tensor, Tensor]:
    """Rows divided by their norms (m, d), float64, and which rows have zero norm (m,) bool."""
    rows = weights.detach().to(torch.float64)
    norm = rows.norm(dim=1)
    dead = norm == 0
    return torch.where(dead[:, None], 0.0, rows / norm.clamp(min=1e-300)[:, None]), dead

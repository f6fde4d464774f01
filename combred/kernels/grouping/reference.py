"""What the kernels compute, defined in plain torch."""

import torch
from torch import Tensor

EXACT = 1e-12  # rounding must not separate a row from its own multiple at a threshold of 1


def group(weights: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Greedy grouping of rows by cosine similarity (Chen & Xu 2024, section 2.2.3).

    Among the rows not yet grouped, the one with the most ungrouped rows at least `threshold` alike
    (itself included; ties: the lowest index) becomes the main unit, and these rows its group;
    repeated until none is left.

    weights (m, d); threshold in [-1, 1]. Returns labels (m,) int64, each row's group, and mains
    (n_groups,) int64, each group's main row, groups in the order in which they are made. A row of
    zero norm is like nothing but itself. Similarities are taken in float64.
    """
    require_rows(weights, threshold)
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


def require_rows(weights: Tensor, threshold: float) -> None:
    """ValueError unless `weights` is (m, d) and `threshold` a cosine."""
    if weights.ndim != 2:
        raise ValueError(f"group wants rows (m, d), not shape {tuple(weights.shape)}")
    if not -1.0 <= threshold <= 1.0:
        raise ValueError(f"a cosine threshold lies in [-1, 1]; {threshold} was given")


def unit_rows(weights: Tensor) -> tuple[Tensor, Tensor]:
    """Rows over their norms (m, d), float64, and which rows have none (m,)."""
    rows = weights.detach().to(torch.float64)
    norm = rows.norm(dim=1)
    dead = norm == 0
    return torch.where(dead[:, None], 0.0, rows / norm.clamp(min=1e-300)[:, None]), dead

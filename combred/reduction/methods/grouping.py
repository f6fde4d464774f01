"""Groups of units that point in the same direction, and the merge of such groups: a part of
condensation (Chen & Xu 2024, section 2.2.3)."""

import torch
from torch import Tensor

from combred import kernels
from combred.reduction.network.merge import Merge


def group_rows(rows: Tensor, dead: Tensor, threshold: float) -> Tensor:
    """Index (m,) of the main unit of each row's group; -1 for dead rows.

    rows (m, d), dead (m,): rows that join no group. threshold: cosine in [-1, 1].
    """
    main_of = torch.full((len(rows),), -1, dtype=torch.int64, device=rows.device)
    alive = (~dead).nonzero()[:, 0]
    if len(alive) == 0:
        alive = torch.zeros(1, dtype=torch.int64, device=rows.device)  # one unit has to stay
    labels, mains = kernels.group(rows[alive], threshold)
    main_of[alive] = alive[mains][labels]
    return main_of


def merge_groups(rows: Tensor, main_of: Tensor, constants: Tensor) -> Merge:
    """The merge that reads each unit as |v_k| / |v_main| times the main unit of its group.

    rows (m, d): v_k. main_of (m,): as `group_rows` gives it. constants (m,): the outputs of dead
    units (-1), which become offsets.
    """
    m = len(rows)
    alive = main_of >= 0
    kept = main_of[alive].unique()
    norm = rows.norm(dim=1)
    mains = main_of[alive]
    ratio = torch.where(norm[mains] > 0, norm[alive] / norm[mains].clamp(min=1e-300), 1.0)
    mixing = torch.zeros(len(kept), m, dtype=torch.float64, device=rows.device)
    mixing[torch.searchsorted(kept, mains), alive.nonzero()[:, 0]] = ratio
    return Merge(kept, mixing, torch.where(alive, 0.0, constants))


def threshold_for(rows: Tensor, keep: int | None) -> float:
    """A cosine threshold that leaves at most `keep` groups of rows (m, d); 1e-6 more leaves more.

    Found by bisection. It is the highest such threshold if a higher threshold never leaves fewer
    groups, which holds for greedy groups nearly always. Raises ValueError for keep < 1.
    """
    if keep is None or keep < 1:
        raise ValueError(f"condensation needs threshold=, or keep= of at least 1, not keep={keep}")
    few, many = -1.0, 1.0
    if len(kernels.group(rows, many)[1]) <= keep:
        return many
    while many - few > 1e-6:
        middle = 0.5 * (few + many)
        leaves = len(kernels.group(rows, middle)[1])
        few, many = (middle, many) if leaves <= keep else (few, middle)
    return few

"""Groups of units that point in the same direction, and the merge of such groups: a part of
condensation (Chen & Xu 2024, section 2.2.3)."""

import torch
from torch import Tensor

from combred import kernels
from combred.reduction.network.merge import Merge


def merge_similar(
    rows: Tensor, dead: Tensor, constants: Tensor, threshold: float | None, keep: int | None
) -> Merge:
    """The merge that reads each unit as |v_k| / |v_main| times the main unit of its group.

    rows (m, d): v_k. dead (m,): units that join no group; constants (m,): their outputs, which
    become offsets. threshold: cosine in [-1, 1]; None: the highest that leaves `keep` groups.
    """
    if threshold is None:
        threshold = threshold_for(rows[~dead], keep)
    alive = (~dead).nonzero()[:, 0]
    if len(alive) == 0:
        alive = alive.new_zeros(1)  # one unit has to stay
    labels, groups = kernels.group(rows[alive], threshold)
    main = alive[groups][labels]
    indices, norm = main.unique(), rows.norm(dim=1)
    ratio = torch.where(norm[main] > 0, norm[alive] / norm[main].clamp(min=1e-300), 1.0)
    mixing = torch.zeros(len(indices), len(rows), dtype=torch.float64, device=rows.device)
    mixing[torch.searchsorted(indices, main), alive] = ratio
    return Merge(indices, mixing, constants.index_fill(0, alive, 0.0))


def threshold_for(rows: Tensor, keep: int | None) -> float:
    """A cosine threshold that leaves at most `keep` groups of rows (m, d); 1e-6 more leaves more.

    Found by bisection. It is the highest such threshold if a higher threshold never leaves fewer
    groups, which holds for greedy groups nearly always.
    """
    if keep is None or keep < 1:
        raise ValueError(f"condensation needs threshold=, or keep= of at least 1, not keep={keep}")
    lower, upper = -1.0, 1.0
    if len(kernels.group(rows, upper)[1]) <= keep:
        return upper
    while upper - lower > 1e-6:
        middle = 0.5 * (lower + upper)
        leaves = len(kernels.group(rows, middle)[1])
        lower, upper = (middle, upper) if leaves <= keep else (lower, middle)
    return lower

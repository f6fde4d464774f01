"""Groups of units that point in the same direction, and the merge of such groups.

Part of condensation (Chen & Xu 2024, section 2.2.3). Takes rows [W | b]; gives groups and their
`Merge`.

Cosines are computed in float32, in blocks of rows. Those that differ from the threshold by no more
than their rounding error are computed again in float64, so that groups are those of cosines in
float64. Memory is one byte per pair, never a matrix of floats: 10 MB for 3200 units, 400 MB for
20,000.
"""

import numpy as np
import torch
from torch import Tensor

from combred.reduction.network.merge import Merge

EXACT = 1e-12  # rounding must not separate a row from its own multiple at a threshold of 1
BLOCK = 1024  # rows of similarities at once
PRODUCTS = 1 << 22  # float64 products at once in dot products of single pairs: 32 MB
PAIR = 64  # cost of the float64 dot product of one pair, relative to one in a matrix product


def group(weights: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Greedy grouping of rows by cosine similarity (Chen & Xu 2024, section 2.2.3).

    Two rows are similar if their cosine is at least `threshold`. The degree of a row is the number
    of ungrouped rows that are similar to it, itself included. The ungrouped row of largest degree
    (ties: the lowest index) becomes a main row, and the ungrouped rows similar to it are its group;
    this is repeated until every row is in a group.

    weights: (m, d), of any floating type. threshold: in [-1, 1]. Returns labels (m,) int64, the
    group of each row, and mains (n_groups,) int64, the main row of each group, groups in the order
    in which they are formed, on the device of `weights`. A row of zero norm is similar to itself
    alone. Raises ValueError if `weights` is not a matrix, or `threshold` not a cosine.
    """
    if weights.ndim != 2:
        raise ValueError(f"group wants rows (m, d), not shape {tuple(weights.shape)}")
    if not -1.0 <= threshold <= 1.0:
        raise ValueError(f"a cosine threshold lies in [-1, 1]; {threshold} was given")
    labels, mains = greedy(*adjacency(weights.detach().cpu().double(), threshold))
    device = weights.device
    return torch.from_numpy(labels).to(device), torch.from_numpy(mains).to(device)


def adjacency(rows: Tensor, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Which rows (m, d), float64, are similar, (m, m) uint8 of 0 and 1, and the degree of each row,
    (m,) int64."""
    m, d = rows.shape
    norm = rows.norm(dim=1)
    dead = norm == 0
    unit = torch.where(dead[:, None], 0.0, rows / norm.clamp(min=1e-300)[:, None])
    single = unit.float()
    # Upper bound on the error of a float32 dot product of two unit rows with d rounded entries.
    rounding = (d + 8) * 2.0**-23
    exact = threshold - EXACT
    similar = torch.empty(m, m, dtype=torch.uint8)
    for start in range(0, m, BLOCK):  # the upper triangle; the lower is its mirror image
        part = slice(start, min(start + BLOCK, m))
        distance = (single[part] @ single[start:].T).sub_(exact)
        above = (distance >= 0).view(torch.uint8)
        near = distance.abs_().lt_(rounding)
        if PAIR * int(near.count_nonzero()) > near.numel():
            above = ((unit[part] @ unit[start:].T) >= exact).view(torch.uint8)
        else:
            for pairs in near.nonzero().split(max(1, PRODUCTS // max(d, 1))):
                i, j = pairs[:, 0], pairs[:, 1]
                exactly = (unit[i + start] * unit[j + start]).sum(dim=1) >= exact
                above[i, j] = exactly.to(torch.uint8)
        similar[part, start:] = above
        similar[start:, part] = above.T
    similar[dead] = 0
    similar[:, dead] = 0
    similar.fill_diagonal_(1)
    degree = torch.cat([part.sum(dim=1, dtype=torch.int32) for part in similar.split(BLOCK)])
    return similar.numpy(), degree.to(torch.int64).numpy()


def greedy(similar: np.ndarray, degree: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels (m,) and mains (n_groups,) of the groups: see `group`.

    Once no ungrouped row has an ungrouped neighbour, each of them is a group of one, in order.
    """
    m = len(degree)
    labels, mains = np.full(m, -1, dtype=np.int64), []
    degree = degree.copy()  # of ungrouped rows; 0 for grouped ones
    while m and (main := int(degree.argmax())) >= 0 and degree[main] > 1:
        members = np.flatnonzero(similar[main] & (labels < 0))
        labels[members] = len(mains)
        mains.append(main)
        # `similar` is symmetric: rows, which are contiguous in memory, are read instead of columns.
        # At most 255 of them at once, because the sum is kept in a byte.
        for part in np.array_split(members, -(-len(members) // 255)):
            degree -= similar[part].sum(axis=0, dtype=np.uint8)
        degree[members] = 0
    single = np.flatnonzero(labels < 0)
    labels[single] = len(mains) + np.arange(len(single))
    return labels, np.concatenate([np.array(mains, dtype=np.int64), single])


def group_rows(rows: Tensor, dead: Tensor, threshold: float) -> Tensor:
    """Index (m,) of the main unit of each row's group; -1 for dead rows.

    rows (m, d), dead (m,): rows that join no group. threshold: cosine in [-1, 1].
    """
    main_of = torch.full((len(rows),), -1, dtype=torch.int64, device=rows.device)
    alive = (~dead).nonzero()[:, 0]
    if len(alive) == 0:
        alive = torch.zeros(1, dtype=torch.int64, device=rows.device)  # one unit has to stay
    labels, mains = group(rows[alive], threshold)
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
    if len(group(rows, many)[1]) <= keep:
        return many
    while many - few > 1e-6:
        middle = 0.5 * (few + many)
        leaves = len(group(rows, middle)[1])
        few, many = (middle, many) if leaves <= keep else (few, middle)
    return few

"""Grouping on a CPU: a faster implementation of `reference.group` with equal labels.

Cosines are computed in float32, in blocks of rows. Those that differ from the threshold by no more
than their rounding error are computed again in float64, so that labels equal those of the
reference. Memory is one byte per pair, never a matrix of floats: 10 MB for 3200 units, 400 MB for
20,000.
"""

import numpy as np
import torch
from torch import Tensor

from combred.kernels.grouping.reference import EXACT, unit_rows

BLOCK = 1024  # rows of similarities at once
PRODUCTS = 1 << 22  # float64 products at once in dot products of single pairs: 32 MB
PAIR = 64  # cost of the float64 dot product of one pair, relative to one in a matrix product


def group(weights: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Greedy grouping of rows by cosine similarity: see `reference.group`."""
    unit, dead = unit_rows(weights.cpu())
    similar, degree = adjacency(unit, dead, threshold)
    labels, mains = greedy(similar, degree)
    device = weights.device
    return torch.from_numpy(labels).to(device), torch.from_numpy(mains).to(device)


def adjacency(unit: Tensor, dead: Tensor, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are similar, (m, m) uint8 of 0 and 1, and the degree of each row, (m,) int64.

    unit, dead: see `reference.unit_rows`. The degree counts the rows that are similar to a row,
    itself included.
    """
    m, d = unit.shape
    single = unit.float()
    # Upper bound on the error of a float32 dot product of two unit rows with d rounded entries.
    rounding = (d + 8) * 2.0**-23
    exact = threshold - EXACT
    similar = torch.empty(m, m, dtype=torch.uint8)
    for start in range(0, m, BLOCK):  # the upper triangle; the lower is its mirror image
        rows = slice(start, min(start + BLOCK, m))
        distance = (single[rows] @ single[start:].T).sub_(exact)
        above = (distance >= 0).view(torch.uint8)
        near = distance.abs_().lt_(rounding)
        if PAIR * int(near.count_nonzero()) > near.numel():
            above = ((unit[rows] @ unit[start:].T) >= exact).view(torch.uint8)
        else:
            for part in near.nonzero().split(max(1, PRODUCTS // max(d, 1))):
                i, j = part[:, 0], part[:, 1]
                exactly = (unit[i + start] * unit[j + start]).sum(dim=1) >= exact
                above[i, j] = exactly.to(torch.uint8)
        similar[rows, start:] = above
        similar[start:, rows] = above.T
    similar[dead] = 0
    similar[:, dead] = 0
    similar.fill_diagonal_(1)
    degree = torch.cat([part.sum(dim=1, dtype=torch.int32) for part in similar.split(BLOCK)])
    return similar.numpy(), degree.to(torch.int64).numpy()


def greedy(similar: np.ndarray, degree: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels (m,) and mains (n_groups,) of the groups: see `reference.group`.

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

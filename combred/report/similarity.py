"""Condensation of the layers: numbers for the report, written before they are drawn.

Takes the networks of the stages of a run; writes condensation.json (number of groups against
threshold, and for each reduction the groups of the reduced layer before and after) and
condensation.npz (cosine-similarity matrices of these layers, units ordered by group; figure 3 of
Chen & Xu 2024).
"""

import os
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from combred import kernels
from combred.files.records import write_json
from combred.reduction.methods.condensation import cosine_similarity, directions
from combred.reduction.methods.grouping import group_rows
from combred.surrogate.network import Network

THRESHOLDS = (0.999, 0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
PIXELS = 320  # of a side of a stored matrix, at most: more than a printed panel shows


def condensation_numbers(
    folder: Path, networks: dict[int, Network], reductions: dict[int, dict]
) -> dict:
    """Write condensation.json and condensation.npz into the folder; returns the former.

    networks: by stage. reductions: by stage, with `layer` and `threshold` as in reduce.json. A
    reduction is omitted if one of the two networks is missing, or if it did not condense a single
    layer.
    """
    stages: list[dict] = []
    matrices: dict[str, Any] = {}
    for stage, record in sorted(reductions.items()):
        if stage not in networks or stage - 1 not in networks or "layer" not in record:
            continue
        layer, threshold = record["layer"], record["threshold"]
        entry = {"stage": stage, "layer": layer, "threshold": threshold}
        for when, network in (("before", networks[stage - 1]), ("after", networks[stage])):
            numbers, matrix = ordered_similarity(network.layers[layer - 1], threshold)
            entry[when] = numbers
            matrices[f"stage{stage}_{when}"] = matrix.astype(np.float16)
        stages.append(entry)
    numbers = {
        "thresholds": THRESHOLDS,
        "groups": {
            f"stage{stage}": {
                str(i): [count_groups(layer, threshold) for threshold in THRESHOLDS]
                for i, layer in enumerate(cast(list[nn.Linear], network.layers[:-1]), start=1)
            }
            for stage, network in networks.items()
        },
        "reductions": stages,
    }
    new = folder / "condensation.new.npz"
    np.savez_compressed(new, **matrices)
    os.replace(new, folder / "condensation.npz")
    write_json(folder / "condensation.json", numbers)
    return numbers


def ordered_similarity(layer: nn.Linear, threshold: float) -> tuple[dict, np.ndarray]:
    """The groups of a layer at a cosine threshold, and its similarity matrix, ordered by group.

    The largest group comes first, units without input weights last. A matrix of more than `PIXELS`
    units is averaged over square blocks of `units_per_pixel` units on a side.
    """
    rows, dead = directions(layer), ~layer.weight.detach().any(dim=1)
    main_of = group_rows(rows, dead, threshold)
    labels = torch.where(main_of >= 0, main_of.unique(return_inverse=True)[1] - int(dead.any()), -1)
    sizes = torch.bincount(labels[labels >= 0])
    size_of = torch.where(labels >= 0, sizes[labels.clamp(min=0)], 0)
    order = torch.from_numpy(np.lexsort((labels.numpy(), -size_of.numpy())))
    side = -(-len(labels) // PIXELS)
    numbers = {
        "units": len(labels),
        "groups": len(sizes),
        "largest_group": int(sizes.max()) if len(sizes) else 0,
        "units_in_groups": int(sizes[sizes > 1].sum()),
        "dead_units": int((labels < 0).sum()),
        "units_per_pixel": side,
    }
    return numbers, block_means(cosine_similarity(rows)[order][:, order], side).numpy()


def block_means(matrix: Tensor, side: int) -> Tensor:
    """Means of a square matrix over blocks of side x side; blocks at the edge may be smaller."""
    if side == 1:
        return matrix
    m = len(matrix)
    count = -(-m // side)
    pixel = torch.arange(m) // side
    summed = torch.zeros(count, m, dtype=matrix.dtype).index_add_(0, pixel, matrix)
    summed = torch.zeros(count, count, dtype=matrix.dtype).index_add_(1, pixel, summed)
    units = torch.bincount(pixel).to(matrix.dtype)
    return summed / (units[:, None] * units[None, :])


def count_groups(layer: nn.Linear, threshold: float) -> int:
    """Number of groups of a layer at a cosine threshold, without units that have no input
    weights."""
    alive = layer.weight.detach().any(dim=1)
    return len(kernels.group(directions(layer)[alive], threshold)[1])

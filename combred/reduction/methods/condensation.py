"""Condensation: neurons of a layer that point the same way are merged into one.

Chen & Xu, Efficient and flexible method for reducing moderate-size deep neural networks with
condensation (2024), sections 2.2.1 to 2.3.3.
"""

import torch
from torch import Tensor, nn

from combred.reduction.merge import Merge
from combred.reduction.methods.depthwise import condense_block
from combred.reduction.methods.grouping import group_rows, merge_groups, threshold_for
from combred.reduction.units import Units


def condense(units: Units, *, threshold: float | None = None, keep: int | None = None) -> Merge:
    """The merge of a layer's groups.

    Greedy groups of units at least `threshold` alike (`kernels.group`), or at the highest threshold
    that leaves at most `keep`. Rows are [W | b], kernels unfolded, a batch norm behind the layer
    folded in. The main unit of a group stays; unit k is read as |v_k| / |v_main| times it, so that
    the next layer's column becomes u_main' = sum_k (|v_k| / |v_main|) u_k: exact for ReLU where the
    cosine is 1 (their equations 5 to 12 and 36). A unit without input weights is dead: its constant
    output relu(b_k) is an offset, where it is zero or the readers take one; else it is grouped as
    any other. A depthwise-separable block is condensed on its depthwise kernels
    (`depthwise.condense_block`).
    """
    if units.layer.depthwise:
        return condense_block(units, threshold=threshold, keep=keep)
    rows = units.rows
    dead, constants = dead_units(units)
    if threshold is None:
        threshold = threshold_for(rows[~dead], keep)
    return merge_groups(rows, group_rows(rows, dead, threshold), constants)


def dead_units(units: Units) -> tuple[Tensor, Tensor]:
    """Which units (m,) always give a constant that may leave, and these constants (m,)."""
    layer, bias = units.layer, units.rows[:, -1]
    relu = layer.activation == "relu"
    constants = bias.clamp(min=0.0, max=6.0 if layer.bounded else None) if relu else bias
    leaves = (constants == 0) | (relu and layer.takes_offset)
    return ~units.rows[:, :-1].any(dim=1) & leaves & layer.homogeneous, constants


def directions(layer: nn.Linear) -> Tensor:
    """Rows v_k = [W_k | b_k] (m, m_in + 1) of a linear layer, float64."""
    return torch.cat([layer.weight, layer.bias[:, None]], dim=1).detach().double()


def cosine_similarity(rows: Tensor) -> Tensor:
    """C (m, m) between rows v_k (their equation 4); 0 for a row of zero norm."""
    unit = nn.functional.normalize(rows, dim=1)
    return unit @ unit.T

"""Condensation: units of a layer whose weights point in the same direction are merged into one.

Chen & Xu, Efficient and flexible method for reducing moderate-size deep neural networks with
condensation (2024), sections 2.2.1 to 2.3.3.
"""

from torch import Tensor

from combred.reduction.fit.units import Units
from combred.reduction.methods.depthwise import condense_block
from combred.reduction.methods.grouping import merge_similar
from combred.reduction.network.merge import Merge


def condense(units: Units, *, threshold: float | None = None, keep: int | None = None) -> Merge:
    """The merge that keeps the main unit of each group of similar units.

    Rows are v_k = [W_k | b_k], filters flattened, the batch norm behind the layer folded in. Units
    are grouped greedily where their cosine similarity is at least `threshold` in [-1, 1]
    (`kernels.group`), or at the highest threshold that leaves at most `keep` units. The main unit
    of a group stays, and the next layer reads unit k as |v_k| / |v_main| times the main unit:

        u_main' = sum_k (|v_k| / |v_main|) u_k

    exact for ReLU where the cosine is 1 (their equations 5 to 12 and 36). A dead unit, whose input
    weights are all zero, has the constant output relu(b_k): it becomes an offset where it is zero
    or the readers take an offset, and is grouped as any other unit elsewhere. With a depthwise
    convolution behind the layer, its filters are grouped (`depthwise.condense_block`).
    """
    if units.layer.depthwise:
        return condense_block(units, threshold=threshold, keep=keep)
    return merge_similar(units.rows, *dead_units(units), threshold, keep)


def dead_units(units: Units) -> tuple[Tensor, Tensor]:
    """Which units (m,) are dead and can become an offset, and the constants (m,) that they give."""
    layer, bias = units.layer, units.rows[:, -1]
    relu = layer.activation == "relu"
    constants = bias.clamp(min=0.0, max=6.0 if layer.bounded else None) if relu else bias
    # A ReLU6 on one of several branches leaves a unit above 6 with two constants.
    one_value = not layer.bounded or len(layer.readers) == 1 or bias <= 6.0
    leaves = (constants == 0) | (relu and layer.takes_offset & one_value)
    return ~units.rows[:, :-1].any(dim=1) & leaves & layer.homogeneous, constants

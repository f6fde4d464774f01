"""Staged reduction: which layer, at which threshold, and what it did to the network.

Takes the network of one stage and calibration states; gives the network of the next and a record
of numbers. Retraining is the caller's (`pipeline`).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from combred.config import ReductionSettings
from combred.network import Network
from combred.reduction.condensation import condense
from combred.reduction.least_squares import activations, refit
from combred.reduction.merge import apply_merge, check_layer


@dataclass(frozen=True)
class Stage:
    """One row of the stage table: condense hidden layer `layer` at `threshold`."""

    index: int
    layer: int
    threshold: float


def stage_table(settings: ReductionSettings) -> list[Stage]:
    """Stages 1, 2, ... of the settings."""
    pairs = zip(settings.layers, settings.thresholds, strict=True)
    return [Stage(i, layer, threshold) for i, (layer, threshold) in enumerate(pairs, start=1)]


def reduce_layer(
    network: Network, stage: Stage, settings: ReductionSettings, calibration: Tensor
) -> tuple[Network, dict]:
    """The network of a stage before retraining, and its record.

    `calibration` (n, m_in): network inputs, on which the relative errors of the next layer's
    pre-activations and of the output are measured and, if asked for, the mixing is fitted.
    Raises ValueError where the threshold merges nothing, or leaves fewer than `min_width` units.
    """
    check_layer(network, stage.layer)
    source = network.layers[stage.layer - 1]
    merge, labels = condense(source, stage.threshold)
    before, after = source.out_features, len(merge.kept)
    where = f"stage {stage.index} (layer {stage.layer}, threshold {stage.threshold})"
    if not merge.changes:
        raise ValueError(
            f"{where} merges none of {before} units: nothing has condensed that far. Lower "
            "reduction.thresholds, or train from a smaller initialisation (network.scales)."
        )
    if after < settings.min_width:
        raise ValueError(
            f"{where} would leave {after} of {before} units, fewer than reduction.min_width = "
            f"{settings.min_width}. Raise reduction.thresholds, or lower reduction.min_width."
        )
    merged = apply_merge(network, stage.layer, merge)
    errors = {"norm": merge_errors(network, merged, stage.layer, calibration)}
    if settings.compensation == "least_squares":
        A = activations(network, stage.layer, calibration)
        merge = refit(merge, [(a, a) for a in A.split(4096)], settings.ridge)
        merged = apply_merge(network, stage.layer, merge)
        errors["least_squares"] = merge_errors(network, merged, stage.layer, calibration)
    sizes = torch.bincount(labels[labels >= 0])
    record = {
        "stage": stage.index,
        "layer": stage.layer,
        "threshold": stage.threshold,
        "compensation": settings.compensation,
        "widths_before": network.widths,
        "widths_after": merged.widths,
        "weights_before": network.n_weights,
        "weights_after": merged.n_weights,
        "groups": len(sizes),
        "largest_group": int(sizes.max()) if len(sizes) else 0,
        "dead_units": int((labels < 0).sum()),
        "merge_errors": errors,
    }
    return merged, record


@torch.no_grad()
def merge_errors(network: Network, merged: Network, layer: int, x: Tensor) -> dict[str, float]:
    """|reduced - original| / |original| (Frobenius) of the next layer's pre-activations and of the
    output, over inputs x."""
    following, following_merged = network.layers[layer], merged.layers[layer]
    pre = following(activations(network, layer, x))
    pre_merged = following_merged(activations(merged, layer, x))
    out, out_merged = network(x), merged(x)
    return {
        "next_layer": float((pre_merged - pre).norm() / pre.norm()),
        "output": float((out_merged - out).norm() / out.norm()),
    }

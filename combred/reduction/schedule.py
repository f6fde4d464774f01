"""Staged reduction: which layer, how far, and what it did to the network.

Takes the network of one stage and calibration states; gives the network of the next and a record
of numbers. Retraining is the caller's (`pipeline`).
"""

from dataclasses import dataclass

from torch import Tensor

from combred.config import ReductionSettings
from combred.network import Network
from combred.reduction.calibration import layer_moments, relative_error
from combred.reduction.condensation import condense
from combred.reduction.layers import HiddenLayer, find_layers
from combred.reduction.least_squares import refit
from combred.reduction.merge import apply_merge
from combred.reduction.units import look


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
    survey = find_layers(network, calibration[:1])
    layer = survey[stage.layer]
    merge = condense(look(network, layer), threshold=stage.threshold)
    before, after = layer.units, len(merge.kept)
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
    merged = apply_merge(network, layer, merge)
    errors = {"norm": merge_errors(network, merged, layer, calibration)}
    if settings.compensation == "least_squares":
        refitted = refit(merge, layer_moments(network, None, layer, calibration), settings.ridge)
        merged = apply_merge(network, layer, refitted)
        errors["least_squares"] = merge_errors(network, merged, layer, calibration)
    sizes = (merge.mixing != 0).sum(dim=1)
    record = {
        "stage": stage.index,
        "layer": stage.layer,
        "threshold": stage.threshold,
        "compensation": settings.compensation,
        "widths_before": network.widths,
        "widths_after": merged.widths,
        "weights_before": network.n_weights,
        "weights_after": merged.n_weights,
        "groups": after,
        "largest_group": int(sizes.max()),
        "dead_units": int((~merge.mixing.any(dim=0)).sum()),
        "merge_errors": errors,
    }
    return merged, record


def merge_errors(
    network: Network, merged: Network, layer: HiddenLayer, x: Tensor
) -> dict[str, float]:
    """|reduced - original| / |original| (Frobenius) of the next layer's pre-activations and of the
    output, over inputs x."""
    return {
        "next_layer": relative_error(network, merged, layer, x),
        "output": relative_error(network, merged, None, x),
    }

"""Staged reduction: which layer, how far, and what it did to the network.

Takes the network of one stage and calibration states; gives the network of the next and a record
of numbers. Retraining is the caller's (`pipeline`).
"""

from dataclasses import asdict, dataclass

from torch import Tensor

from combred.config import ReductionSettings
from combred.reduction.calibration import layer_moments, relative_error
from combred.reduction.layers import HiddenLayer, find_layers
from combred.reduction.least_squares import refit
from combred.reduction.merge import apply_merge
from combred.reduction.methods.condensation import condense
from combred.reduction.reduce import reduce
from combred.reduction.size import Unreachable, count_parameters
from combred.reduction.units import describe_units
from combred.surrogate.network import Network


@dataclass(frozen=True)
class Stage:
    """One row of the stage table: condense hidden layer `layer` at `threshold`; or, where `layer`
    is 0, leave the share `parameters` of the first network's, in all layers, by `method`; that
    share is what is looked for where there are `criteria`."""

    index: int
    layer: int = 0
    threshold: float = 0.0
    parameters: float = 0.0
    method: str = "condensation"
    criteria: str = ""

    @property
    def what(self) -> str:
        """In words, as in "hidden layer 1 condensed at 0.9"."""
        if self.layer:
            return f"hidden layer {self.layer} condensed at {self.threshold}"
        if self.criteria:
            return f"as few parameters left by {self.method} as pass {self.criteria}"
        return f"{100 * self.parameters:g} % of the parameters left by {self.method}"


def stage_table(settings: ReductionSettings) -> list[Stage]:
    """Stages 1, 2, ... of the settings."""
    if settings.criteria:
        return [Stage(1, method=settings.method, criteria=settings.criteria)]
    if settings.parameters:
        return [
            Stage(i, parameters=share, method=settings.method)
            for i, share in enumerate(settings.parameters, start=1)
        ]
    pairs = zip(settings.layers, settings.thresholds, strict=True)
    return [Stage(i, layer, threshold) for i, (layer, threshold) in enumerate(pairs, start=1)]


def reduce_stage(
    network: Network, stage: Stage, settings: ReductionSettings, calibration: Tensor, full: int
) -> tuple[Network, dict]:
    """The network of a stage before retraining, and its record.

    `calibration` (n, m_in): network inputs; full: parameters of the first network. Raises
    ValueError where the stage changes nothing, or leaves a layer fewer than `min_width` units.
    """
    if stage.layer:
        return reduce_layer(network, stage, settings, calibration)
    return reduce_widths(network, stage, settings, calibration, full)


def reduce_widths(
    network: Network, stage: Stage, settings: ReductionSettings, calibration: Tensor, full: int
) -> tuple[Network, dict]:
    """All hidden layers by any method, widths chosen for the share of parameters of the stage."""
    share = stage.parameters * full / count_parameters(network)
    if share >= 1:
        raise ValueError(
            f"stage {stage.index} is to leave {100 * stage.parameters:g} % of {full:,} parameters, "
            f"but the network has only {count_parameters(network):,}: lower reduction.parameters"
        )
    found = reduce(
        network,
        calibration[:1],
        method=stage.method,
        parameters=share,
        calibration=calibration,
        compensation="own" if settings.compensation == "norm" else "least_squares",
        ridge=settings.ridge,
    )
    reduced = found.network
    if min(reduced.widths[1:-1]) < settings.min_width:
        raise Unreachable(
            f"stage {stage.index} ({stage.what}) would leave widths {reduced.widths}, one under "
            f"reduction.min_width = {settings.min_width}. Raise reduction.parameters, or lower "
            "reduction.min_width."
        )
    record = {
        "stage": stage.index,
        "method": stage.method,
        "parameters": stage.parameters,
        "compensation": settings.compensation,
        "widths_before": network.widths,
        "widths_after": reduced.widths,
        "weights_before": network.n_weights,
        "weights_after": reduced.n_weights,
        "trace": [asdict(cut) for cut in found.trace],
        "merge_errors": {settings.compensation: {"output": found.output_error}},
    }
    return reduced, record


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
    merge = condense(describe_units(network, layer), threshold=stage.threshold)
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

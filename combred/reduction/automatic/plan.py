"""The layers that the loop reduces, in which order and how: found once, before it begins.

Takes a network, settings and calibration inputs; gives a `Plan`, by which `loop` condenses layers.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from combred.reduction.arguments import choose_layers
from combred.reduction.automatic.criteria import AutomaticSettings
from combred.reduction.fit.calibration import Calibration, require_repeatable
from combred.reduction.fit.compensation import resolve_compensation
from combred.reduction.layerwise import LayerwiseReducer, fixed_width_is_an_error
from combred.reduction.methods import refusal, resolve_method
from combred.reduction.network.layers import HiddenLayer, Survey, find_layers
from combred.reduction.network.merge import Merge
from combred.reduction.network.size import count_parameters
from combred.reduction.network.tracing import evaluation

OUTPUT = "its units are the network's output"  # as `find_layers` says it of the output layer


@dataclass(frozen=True)
class Plan:
    """The settings, the reducer of the given network, the layers of a main reduction in order, the
    layer of the final cut (or None), and why other layers are left alone."""

    settings: AutomaticSettings
    reducer: LayerwiseReducer
    layers: list[HiddenLayer]
    final: HiddenLayer | None
    untouched: dict[str, str]

    @property
    def all(self) -> dict[str, HiddenLayer]:
        """The layers of the main reductions and of the final cut, by name."""
        final = [self.final] if self.final else []
        return {layer.name: layer for layer in [*self.layers, *final]}

    def condense(self, network: nn.Module, layer: HiddenLayer, threshold: float) -> Merge:
        """The merge of a layer of a network at a cosine threshold, compensated."""
        reducer = replace(self.reducer, network=network)
        return reducer.merge(None, layer, {"threshold": threshold})[0]

    def require_runs(self, network: nn.Module, layer: HiddenLayer) -> None:
        """Raises ValueError where a network does not run with fewer units in a layer."""
        with fixed_width_is_an_error(layer), evaluation(network), torch.no_grad():
            network(self.reducer.example_input)


def make_plan(
    network: nn.Module,
    example_input: Tensor,
    settings: AutomaticSettings,
    calibration: Calibration | None,
) -> Plan:
    """The `Plan` of a network.

    Raises ValueError where it cannot be traced, where a layer of the settings cannot be condensed,
    where none can, and where the target is not below the size of the network.
    """
    compensation = resolve_compensation(settings.compensation, calibration)
    require_repeatable(calibration)
    size = count_parameters(network)
    if settings.target is not None and settings.target >= size:
        raise ValueError(
            f"target={settings.target} parameters, and the network has {size}: ask for fewer"
        )
    method = resolve_method("condensation")
    reducer = LayerwiseReducer(network, example_input, calibration, method, compensation)
    survey, final = find_layers(network, example_input), None
    if settings.final_threshold is not None:
        final = _layer_before_output(survey, reducer, settings.final_threshold)
    layers, untouched = choose_layers(survey, settings.layers, method, compensation)
    if settings.layers is None:
        layers = [layer for layer in layers if layer is not final]
    if not layers:
        raise ValueError(
            f"there is no layer for a main reduction but {final.name}, which is left to the final "
            "cut: set final_threshold=None"
        )
    return Plan(settings, reducer, layers, final, untouched)


def _layer_before_output(
    survey: Survey, reducer: LayerwiseReducer, threshold: float
) -> HiddenLayer:
    """The last layer that the output layer reads; ValueError where it cannot be condensed."""
    outputs = {name for name, why in survey.untouched.items() if why == OUTPUT}
    for layer in reversed(survey.layers):
        refused = refusal(reducer.method, layer, reducer.compensation)
        if outputs.intersection(name for name, _ in layer.readers) and not refused:
            return layer
    raise ValueError(
        f"final_threshold={threshold} cuts the layer in front of the output layer "
        f"({', '.join(outputs) or 'there is none'}), and that layer cannot be condensed: set "
        "final_threshold=None"
    )

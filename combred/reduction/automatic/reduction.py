"""`reduce_automatically`: the layers are chosen, and the loop is begun or goes on."""

import copy
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from torch import Tensor, nn

from combred.files.trace import digest_of_tensors
from combred.reduction.arguments import choose_layers
from combred.reduction.automatic.criteria import AutomaticSettings
from combred.reduction.automatic.events import AutomaticReduction, Event, Found, Record
from combred.reduction.automatic.loop import Loop, Metric, Train, cut_layer
from combred.reduction.methods import refusal, resolve_method
from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.layers import Survey, find_layers
from combred.reduction.network.size import count_parameters

METHOD = resolve_method("condensation")
OUTPUT = "its units are the network's output"  # as `find_layers` says it of the output layer


def reduce_automatically(  # noqa: PLR0913
    network: nn.Module,
    example_input: Tensor,
    train: Train,
    metric: Metric,
    settings: AutomaticSettings | None = None,
    *,
    folder: Path | None = None,
    on_event: Callable[[Event], None] = lambda _: None,
) -> AutomaticReduction:
    """Condense a network layer by layer, with retraining, as long as it meets the criteria.

    network: any that torch.fx traces; it is not modified. example_input (n, ...): an input it runs
    on. train(network, rate) and metric(network): see `combred.reduction.automatic`. folder: where
    events and networks are stored; the same call goes on from it. on_event: is given each event
    once it is stored; by a loop that goes on, also those of before.

    Raises ValueError for a network or a layer that cannot be reduced, a target that is not below
    the network's size, and a folder that holds another reduction.
    """
    settings, size = settings or AutomaticSettings(), count_parameters(network)
    if settings.target is not None and settings.target >= size:
        raise ValueError(
            f"target={settings.target} parameters, and the network has {size}: ask for fewer"
        )
    survey, final = find_layers(network, example_input), None
    if settings.final_threshold is not None:
        final = _layer_before_output(survey, settings.final_threshold)
    layers, untouched = choose_layers(survey, settings.layers, METHOD, "own")
    if settings.layers is None:
        layers = [layer for layer in layers if layer is not final]
    if final and not layers:
        raise ValueError(
            f"there is no layer for a main reduction but {final.name}, which is left to the final "
            "cut: set final_threshold=None"
        )
    layer_names = {layer.name: layer for layer in [*layers, *([final] if final else [])]}
    inputs = asdict(settings)
    inputs["network"] = digest_of_tensors(network.state_dict(), repr(network)) if folder else ""
    record = Record(network, layer_names, folder, inputs, on_event)
    units = {name: layer.units for name, layer in layer_names.items()}
    initial = Found(copy.deepcopy(network), units, size)
    steps = record.replaying(train, metric, cut_layer)
    loop = Loop(settings, layers, final, *steps, record, initial)
    loop.run()
    best = loop.best["smallest"], loop.best.get("main")
    return AutomaticReduction(*best, loop.reason, record.events, untouched)


def _layer_before_output(survey: Survey, threshold: float) -> HiddenLayer:
    """The last layer that the output layer reads; ValueError where it cannot be condensed."""
    outputs = {name for name, why in survey.untouched.items() if why == OUTPUT}
    for layer in reversed(survey.layers):
        if outputs.intersection(name for name, _ in layer.readers):
            if not refusal(METHOD, layer, "own"):
                return layer
    raise ValueError(
        f"final_threshold={threshold} cuts the layer in front of the output layer "
        f"({', '.join(outputs) or 'there is none'}), and that layer cannot be condensed: set "
        "final_threshold=None"
    )

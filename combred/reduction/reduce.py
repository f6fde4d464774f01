"""`combred.reduce`: any trained network, made smaller by any method.

The arguments are checked (`arguments`), the hidden layers found (`network.layers`), their widths
given or chosen (`allocation`), and the layers reduced one after another (`layerwise`).
"""

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from combred.reduction.allocation import allocate
from combred.reduction.arguments import (
    Sizes,
    choose_layers,
    require_inputs,
    require_method,
    require_sizes,
    sizes_by_layer,
)
from combred.reduction.fit.calibration import Calibration
from combred.reduction.fit.compensation import resolve_compensation
from combred.reduction.fit.held_out import split
from combred.reduction.layerwise import LayerwiseReducer, Reduced, warn_of_few_rows
from combred.reduction.methods import resolve_method
from combred.reduction.network.layers import find_layers
from combred.reduction.network.merge import Merge
from combred.reduction.network.size import Unchanged
from combred.reduction.network.tracing import batch_of, own_copy
from combred.reduction.network.widths import problem_of_widths

UNCHANGED = (
    "{what} changes nothing: all {units} units stay. No units are that similar, or the share that "
    "stays is too large: give ratio= or parameters= with method='brain_surgeon'."
)


def reduce(  # noqa: PLR0913
    network: Any,
    example_input: Tensor | None = None,
    *,
    method: str | Callable[..., Merge] = "condensation",
    layers: Sequence[str | int] | None = None,
    threshold: Sizes | None = None,
    ratio: Sizes | None = None,
    parameters: float | None = None,
    flops: float | None = None,
    error: float | None = None,
    multiple: int = 1,
    calibration: Calibration | None = None,
    compensation: str | None = None,
) -> Reduced:
    """Make a trained network smaller; the one that is given is not modified.

    network: an `nn.Module` that torch.fx traces; or a model, such as a surrogate, with an attribute
    `network` and a method `network_inputs(calibration)`, which makes inputs (n, ...) of that
    network. example_input (n, ...): an input for tracing; a model needs none. method: a name in
    `METHODS`, or a function such as functools.partial(neuron_merging, criterion="l1"). layers:
    names, or numbers from 1, of the hidden layers; None: all that the method can reduce.

    How far: give exactly one of these sizes. threshold: cosine in [-1, 1] for condensation,
    distance in [0, 1] for channel similarity. ratio: the largest share of units to keep, in (0, 1]
    (a method that groups units may keep fewer). Either is one number, or a dict by name. Or widths
    are chosen (`allocation`): parameters or flops, the share of the network's to keep, in (0, 1);
    or error, the largest relative error of the output. multiple: of chosen widths above it.

    calibration: inputs (n, ...), or an iterable of batches (run through more than once); of a
    surrogate states, or None (`Surrogate.network_inputs`). Four fifths are fitted, the others
    measure the errors; below ten fitted rows for each unit that stays a warning is given, since
    least squares then overfits. compensation: "least_squares" (the default with calibration), "own"
    (the mixing of the method; the default without calibration) or "none" (pruning).

    Returns `Reduced`; where every unit stays with the network as it is, and warns (`Unchanged`).
    Raises ValueError, with the reason, for a network that cannot be traced, a layer that cannot be
    reduced, and wrong arguments; `Unreachable` where no widths meet a budget.
    """
    sizes = dict(threshold=threshold, ratio=ratio, parameters=parameters, flops=flops, error=error)
    kind, amount = _how_far(sizes)
    if hasattr(network, "network_inputs"):  # a model
        options = dict(method=method, layers=layers, multiple=multiple, compensation=compensation)
        return _reduce_model(network, calibration, options | {kind: amount})
    network, chosen = own_copy(network), resolve_method(method)
    require_method(chosen, kind, calibration)
    example_input = require_inputs(network, example_input, calibration)
    compensation = resolve_compensation(compensation, calibration)
    survey, example_input = find_layers(network, example_input), batch_of(network, example_input)
    targets, untouched = choose_layers(survey, layers, chosen, compensation)
    fitted, held_out = (None, None) if calibration is None else split(calibration)
    reducer = LayerwiseReducer(network, example_input, fitted, held_out, chosen, compensation)
    targets.sort(key=survey.layers.index)  # front to back, in whatever order they are named
    if kind in ("threshold", "ratio") or isinstance(amount, Mapping):
        reduced = reducer.reduce(targets, sizes_by_layer(kind, amount, targets))
    else:
        reduced = allocate(reducer, targets, kind, amount, multiple)
    description = f"{chosen.name} with {kind}={amount}"
    if all(layer.units_after == layer.units_before for layer in reduced.trace):
        units = sum(layer.units for layer in targets)
        warnings.warn(UNCHANGED.format(what=description, units=units), Unchanged, stacklevel=2)
        return replace(reduced, network=network, untouched=untouched)
    widths = zip(targets, [layer.units_after for layer in reduced.trace], strict=True)
    if problem := problem_of_widths(network, dict(widths), example_input):
        raise ValueError(f"{description}: {problem}")
    warn_of_few_rows(reduced)
    return replace(reduced, untouched=untouched)


def _how_far(sizes: dict[str, Any]) -> tuple[str, Any]:
    """The one size that is given, with its kind. Raises ValueError where it is not one, or no
    size."""
    sizes_given = {kind: amount for kind, amount in sizes.items() if amount is not None}
    if len(sizes_given) != 1:
        raise ValueError(f"say how far to reduce by one of {', '.join(f'{k}=' for k in sizes)}")
    ((kind, amount),) = sizes_given.items()
    require_sizes(kind, amount)
    return kind, amount


def _reduce_model(model: Any, calibration: Calibration | None, options: dict) -> Reduced:
    """A copy of a model whose network is reduced."""
    if isinstance(calibration, np.ndarray):
        calibration = torch.from_numpy(calibration)
    inputs = model.network_inputs(calibration)
    smaller = reduce(model.network, inputs[:1], calibration=inputs, **options)
    reduced = copy.deepcopy(model)
    reduced.network = smaller.network
    return replace(smaller, network=reduced)

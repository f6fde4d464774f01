"""`combred.reduce`: any trained network, made smaller by any method.

Takes a network that torch.fx traces and, if there are some, calibration inputs; gives a smaller
network of the same type, and a trace of numbers. Layer after layer, front to back: a method looks
at the units (`units.describe_units`) and answers a `Merge`, least squares refits it, `merge.apply_merge_in_place` does it.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from combred.reduction.allocation import Budget, allocate
from combred.reduction.calibration import Calibration, batches, gaussian_inputs, require_repeatable
from combred.reduction.job import Job, Reduced
from combred.reduction.layers import HiddenLayer, Survey, find_layers
from combred.reduction.merge import Merge
from combred.reduction.methods.table import (
    Method,
    name_of,
    refusal,
    resolve_compensation,
    resolve_method,
)
from combred.reduction.size import Unchanged
from combred.reduction.tracing import evaluation
from combred.surrogate.surrogate import Surrogate

Sizes = float | Sequence[float] | Mapping[str, float]


def reduce(
    network: nn.Module,
    example_input: Tensor | None = None,
    *,
    method: str | Callable[..., Merge] = "condensation",
    layers: Sequence[str | int] | None = None,
    threshold: Sizes | None = None,
    ratio: Sizes | None = None,
    parameters: float | None = None,
    flops: float | None = None,
    error: float | None = None,
    calibration: Calibration | None = None,
    compensation: str | None = None,
    ridge: float = 1e-6,
) -> Reduced:
    """Make a trained network smaller; the one given is not modified.

    network: any `nn.Module` that torch.fx traces, or a `Surrogate`. example_input (n, ...): one
    input it runs on (a surrogate needs none). method: a name in `METHODS`, or a callable such as
    functools.partial(neuron_merging, criterion="l1"). layers: names, or numbers from 1, of the
    hidden layers to reduce, in any order; None: all that the method can.

    How far, one of: threshold (cosine for condensation, distance for channel similarity); ratio,
    the share of units kept, at most (a grouping need not come out at every number); each one
    number, one per layer, or a dict by name. Or widths that are chosen: parameters or flops, the
    share of the network's that may stay, or error, the largest relative error of the output
    (`allocation`).

    calibration: inputs, (n, ...) or an iterable of batches (run through more than once);
    states [T, p, Y] for a surrogate, which without any is calibrated on Gaussian inputs with the
    covariance of its training states. compensation: "least_squares" (the default with
    calibration), "own" (the method's mixing; the default without), "none" (pruning).

    Raises ValueError for a network that cannot be traced and a layer that cannot be reduced (saying
    why); `Unchanged` where every unit stays; `Unreachable` for a budget that no widths meet.
    """
    far = {"threshold": threshold, "ratio": ratio}
    far |= {"parameters": parameters, "flops": flops, "error": error}
    far = {kind: value for kind, value in far.items() if value is not None}
    if len(far) != 1:
        raise ValueError(
            "say how far: one of threshold=, ratio=, parameters=, flops= or error= (and one alone)"
        )
    if isinstance(network, Surrogate):
        how = {"method": method, "layers": layers, "compensation": compensation, "ridge": ridge}
        return _reduce_surrogate(network, calibration, how | far)
    if example_input is None:
        raise ValueError("reduce wants an example_input that the network runs on")
    chosen = resolve_method(method)
    (kind, amount), *_ = far.items()
    if kind == "threshold" and not chosen.thresholds:
        raise ValueError(f"{name_of(method)} takes ratio= (the share of units kept), no threshold=")
    _require_network(network, example_input)
    _require_calibration(calibration, chosen, name_of(method), kind)
    if calibration is not None:
        _require_inputs(network, calibration, example_input)
    compensation = resolve_compensation(compensation, calibration)
    survey = find_layers(network, example_input)
    targets, untouched = _choose_layers(survey, layers, chosen, name_of(method), compensation)
    job = Job(network, example_input, calibration, chosen, name_of(method), compensation, ridge)
    sizes = _sizes(kind, amount, targets) if kind in ("threshold", "ratio") else None
    targets.sort(key=survey.layers.index)  # front to back, however named
    if sizes is not None:
        found = job.cut(targets, [sizes[layer.name] for layer in targets])
    else:
        found = allocate(
            network,
            example_input,
            targets,
            calibration,
            Budget(kind, amount),
            lambda widths: job.cut(targets, [{"keep": k} for k in widths]),
            job.error_of_one,
        )
    if all(cut.units_after == cut.units_before for cut in found.trace):
        raise Unchanged(
            f"{name_of(method)} with {kind}={amount} changes nothing: all "
            f"{sum(layer.units for layer in targets)} units stay. No units are that similar, or "
            "the share that stays is too large."
        )
    return replace(found, untouched=untouched)


def _require_calibration(
    calibration: Calibration | None, method: Method, name: str, kind: str
) -> None:
    """ValueError where calibration is wanted and not there, or cannot be run through again."""
    if calibration is None and method.activations:
        raise ValueError(
            f"{name} looks at activations: give calibration=inputs (512 are nearly enough; "
            "combred.reduction.gaussian_inputs makes some where there is no data)"
        )
    if calibration is None and kind in ("parameters", "flops", "error"):
        raise ValueError(
            f"{kind}= chooses widths by what each costs in accuracy: give calibration=inputs"
        )
    require_repeatable(calibration)


def _require_network(network: nn.Module, example_input: Tensor) -> None:
    """ValueError where the example has no batch axis, or a parameter is not finite."""
    if not isinstance(example_input, Tensor) or example_input.dim() < 2:
        raise ValueError("example_input is a batch (n, ...) of inputs, as x[:1]")
    bad = [name for name, p in network.named_parameters() if not torch.isfinite(p).all()]
    if bad:
        raise ValueError(
            f"parameters are not finite: {', '.join(bad[:4])}. A network that has diverged cannot "
            "be reduced; load an earlier one"
        )


def _require_inputs(network: nn.Module, calibration: Calibration, example_input: Tensor) -> None:
    """ValueError unless calibration is finite, like the example, and the output one tensor."""
    rows = 0
    for x in batches(calibration):
        if not isinstance(x, Tensor):
            raise ValueError(
                f"calibration holds a {type(x).__name__}, where a tensor of inputs is wanted: give "
                "[x for x, _ in loader], or torch.from_numpy(x)"
            )
        if x.shape[1:] != example_input.shape[1:] or x.dtype != example_input.dtype:
            raise ValueError(
                f"calibration is {x.dtype} of shape {tuple(x.shape)}, example_input "
                f"{example_input.dtype} of shape {tuple(example_input.shape)}: they differ in more "
                "than the number of inputs. Give calibration=x.to(example_input.dtype), of inputs "
                "as the network takes them"
            )
        finite = torch.isfinite(x).flatten(1).all(dim=1)
        if not finite.all():
            raise ValueError(
                f"{int((~finite).sum())} of {len(x)} calibration inputs are not finite: leave them "
                "out, x[torch.isfinite(x).flatten(1).all(dim=1)]"
            )
        rows += len(x)
    if not rows:
        raise ValueError("calibration is empty: give some inputs (512 are nearly enough)")
    with evaluation(network), torch.no_grad():
        if not isinstance(network(example_input[:1]), Tensor):
            raise ValueError(
                "with calibration the error of the output is measured, and this network returns "
                "more than one tensor: wrap it in a module that returns the one that counts"
            )


def _choose_layers(
    survey: Survey,
    layers: Sequence[str | int] | None,
    method: Method,
    name: str,
    compensation: str,
) -> tuple[list[HiddenLayer], dict[str, str]]:
    """The layers to reduce, as they were named, and why others are left alone."""
    if isinstance(layers, (str, int)):
        raise ValueError(f"layers={layers!r} is one name: give a list, layers=[{layers!r}]")
    untouched, targets = dict(survey.untouched), []
    for layer in survey.layers if layers is None else [survey[wanted] for wanted in layers]:
        reason = refusal(method, layer, compensation)
        if layers is None and layer.selects and not method.selects:
            continue
        if reason and layers is not None:
            raise ValueError(f"layer {layer.name} cannot be reduced: {reason}")
        if layer in targets:
            raise ValueError(f"layer {layer.name} is named twice in layers={list(layers)}")
        if reason:
            untouched[layer.name] = reason
        else:
            targets.append(layer)
    if not targets:
        told = "; ".join(f"{layer}: {reason}" for layer, reason in untouched.items())
        raise ValueError(f"there is no layer that {name} can reduce. {told}")
    return targets, untouched


def _sizes(kind: str, amount: Sizes, targets: list[HiddenLayer]) -> dict[str, dict]:
    """{"threshold": value} or {"keep": units} of each layer, by name."""
    values = _by_layer(amount, targets)
    if kind == "threshold":
        return {name: {"threshold": value} for name, value in values.items()}
    if not all(0 < value <= 1 for value in values.values()):
        raise ValueError(f"ratio={amount} is the share of units kept: it lies in (0, 1]")
    return {
        layer.name: {"keep": max(1, round(values[layer.name] * layer.units))} for layer in targets
    }


def _by_layer(sizes: Sizes, targets: list[HiddenLayer]) -> dict[str, float]:
    """A size for each layer. ValueError where there are too few, or names that are not there."""
    names = [layer.name for layer in targets]
    if isinstance(sizes, (Tensor, np.ndarray)):
        sizes = sizes.tolist()
    if isinstance(sizes, str):
        raise ValueError(f"a size is a number, one per layer, or a dict by name, not {sizes!r}")
    if isinstance(sizes, Mapping):
        if set(sizes) != set(names):
            raise ValueError(f"sizes are given for {sorted(sizes)}, layers are {names}")
        return dict(sizes)
    if isinstance(sizes, Sequence):
        if len(sizes) != len(names):
            raise ValueError(f"{len(sizes)} sizes are given for {len(names)} layers: {names}")
        return dict(zip(names, sizes, strict=True))
    return dict.fromkeys(names, sizes)


def _reduce_surrogate(surrogate: Surrogate, calibration: Calibration | None, how: dict) -> Reduced:
    """Reduce the network inside a surrogate: everything around it stays."""
    transform = surrogate.transform
    if calibration is None:
        inputs = gaussian_inputs(transform)
    else:
        states = calibration if isinstance(calibration, Tensor) else torch.cat(list(calibration))
        if states.dtype != torch.float64:
            raise ValueError(f"states are float64, these are {states.dtype}: give states.double()")
        surrogate.require_states(states)
        inputs = transform.inputs(states)
    found = reduce(surrogate.network, inputs[:1], calibration=inputs, **how)
    reduced = copy.deepcopy(surrogate)
    reduced.network = found.network
    return Reduced(reduced, found.trace, found.untouched, found.output_error)

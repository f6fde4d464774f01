"""`combred.reduce`: any trained network, made smaller by any method.

Takes a network that torch.fx traces and, if there are some, calibration inputs; gives a smaller
network of the same type, and a trace of numbers. Layer after layer, front to back: a method looks
at the units (`units.look`) and answers a `Merge`, least squares refits it, `merge.perform` does it.
"""

import copy
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from combred.network import Surrogate
from combred.reduction.allocation import Budget, allocate
from combred.reduction.brain_surgeon import brain_surgeon
from combred.reduction.calibration import (
    Calibration,
    gaussian_inputs,
    layer_moments,
    relative_error,
)
from combred.reduction.channel_similarity import channel_similarity
from combred.reduction.condensation import condense
from combred.reduction.folding import folding
from combred.reduction.interpolative import interpolative
from combred.reduction.layers import HiddenLayer, Survey, evaluation, find_layers
from combred.reduction.least_squares import refit
from combred.reduction.merge import Merge, apply_merge, perform
from combred.reduction.neuron_merging import magnitude, neuron_merging
from combred.reduction.units import look


@dataclass(frozen=True)
class Method:
    """A way to choose units: `choose(units, *, threshold= | keep=) -> Merge`, and what it asks of a
    layer and of the caller."""

    choose: Callable[..., Merge]
    multiples: bool = False  # reads units as multiples of others: sigma(c x) = c sigma(x)
    thresholds: bool = False  # takes a threshold, not only a number of units
    activations: bool = False  # needs calibration
    depthwise: bool = True  # is defined for depthwise-separable blocks
    selects: bool = False  # chooses channels of a residual stream as well


METHODS = {
    "condensation": Method(condense, multiples=True, thresholds=True),
    "neuron_merging": Method(neuron_merging, multiples=True, depthwise=False),
    "magnitude": Method(magnitude),
    "channel_similarity": Method(channel_similarity, thresholds=True, selects=True),
    "folding": Method(folding, multiples=True, depthwise=False),
    "interpolative": Method(interpolative, activations=True),
    "brain_surgeon": Method(brain_surgeon, activations=True),
}
COMPENSATIONS = ("own", "least_squares", "none")
Sizes = float | Sequence[float] | Mapping[str, float]


@dataclass(frozen=True)
class Cut:
    """One layer's reduction. parameters and flops (two per multiply-add, for one input row) are the
    whole network's; error: relative (Frobenius) error of the pre-activations of the layers that
    read this one, against the network that was given, over the calibration; None without."""

    layer: str
    method: str
    compensation: str
    units_before: int
    units_after: int
    groups: int  # kept units that stand for others too
    largest_group: int
    parameters_before: int
    parameters_after: int
    flops_before: int
    flops_after: int
    error: float | None
    seconds: float


@dataclass(frozen=True)
class Reduced:
    """The smaller network, what was done to each layer, and why other layers were left alone.

    output_error: relative (Frobenius) error of the output over the calibration, None without.
    """

    network: nn.Module
    trace: list[Cut]
    untouched: dict[str, str] = field(default_factory=dict)
    output_error: float | None = None


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
    the share of units kept; each one number, one per layer, or a dict by name. Or widths that are
    chosen: parameters or flops, the share of the network's that may stay, or error, the largest
    relative error of the output (`allocation`).

    calibration: inputs, (n, ...) or an iterable of batches (run through more than once);
    states [T, p, Y] for a surrogate, which without any is calibrated on Gaussian inputs with the
    covariance of its training states. compensation: "least_squares" (the default with
    calibration), "own" (the method's mixing; the default without), "none" (pruning).

    Raises ValueError for a network that cannot be traced, a layer that cannot be reduced (saying
    why), and a cut that changes nothing.
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
    _require_calibration(calibration, chosen, name_of(method), kind)
    compensation = _resolve_compensation(compensation, calibration)
    survey = find_layers(network, example_input)
    targets, untouched = _choose_layers(survey, layers, chosen, name_of(method), compensation)
    job = Job(network, example_input, calibration, chosen, name_of(method), compensation, ridge)
    if kind in ("threshold", "ratio"):
        sizes = _sizes(kind, amount, targets)
        targets = sorted(targets, key=survey.layers.index)  # front to back, however named
        found = job.cut(targets, [sizes[layer.name] for layer in targets])
    else:
        targets = sorted(targets, key=survey.layers.index)
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
        raise ValueError(
            f"{name_of(method)} with {kind}={amount} changes nothing: all "
            f"{sum(layer.units for layer in targets)} units stay. Nothing is alike that far, or "
            "the share is too large: ask for more."
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
    if isinstance(calibration, Iterator):
        raise ValueError(
            "calibration is run through more than once, an iterator only once: give inputs "
            "(n, ...), or list(batches)"
        )


def _choose_layers(
    survey: Survey,
    layers: Sequence[str | int] | None,
    method: Method,
    name: str,
    compensation: str,
) -> tuple[list[HiddenLayer], dict[str, str]]:
    """The layers to reduce, as they were named, and why others are left alone."""
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


@dataclass(frozen=True)
class Job:
    """A network to be reduced, and how: what stays the same from layer to layer."""

    network: nn.Module
    example_input: Tensor
    calibration: Calibration | None
    method: Method
    name: str
    compensation: str
    ridge: float

    def cut(self, layers: list[HiddenLayer], sizes: list[dict]) -> Reduced:
        """Reduce layers one after another, front to back, each to its size."""
        reduced, trace = copy.deepcopy(self.network), []
        for layer, size in zip(layers, sizes, strict=True):
            begun = time.perf_counter()
            before = count_parameters(reduced), count_flops(reduced, self.example_input)
            changed = any(cut.units_after < cut.units_before for cut in trace)
            merge, choice = self.merge(reduced if changed else None, layer, size)
            if merge.changes:
                perform(reduced, layer, merge)
            members = (choice.mixing != 0).sum(dim=1)
            error = None if self.calibration is None else 0.0
            with _narrower(layer):
                after = count_parameters(reduced), count_flops(reduced, self.example_input)
                if self.calibration is not None and (changed or merge.changes):
                    error = relative_error(self.network, reduced, layer, self.calibration)
            trace.append(
                Cut(
                    layer=layer.name,
                    method=self.name,
                    compensation=self.compensation,
                    units_before=layer.units,
                    units_after=len(merge.kept),
                    groups=int((members > 1).sum()),
                    largest_group=int(members.max()),
                    parameters_before=before[0],
                    parameters_after=after[0],
                    flops_before=before[1],
                    flops_after=after[1],
                    error=error,
                    seconds=time.perf_counter() - begun,
                )
            )
        output = None
        if self.calibration is not None:
            output = relative_error(self.network, reduced, None, self.calibration)
        return Reduced(reduced, trace, {}, output)

    def error_of_one(self, layer: HiddenLayer, keep: int) -> float:
        """Relative error of the output where one layer alone keeps `keep` units."""
        merge, _ = self.merge(None, layer, {"keep": keep})
        reduced = apply_merge(self.network, layer, merge)
        with _narrower(layer):
            return relative_error(self.network, reduced, None, self.calibration)

    def merge(
        self, reduced: nn.Module | None, layer: HiddenLayer, size: dict
    ) -> tuple[Merge, Merge]:
        """The merge of one layer, compensated, and the method's own.

        reduced: the network whose earlier layers are reduced, None if none is. size:
        {"keep": units} or {"threshold": value}.
        """
        current = self.network if reduced is None else reduced
        if size.get("keep") == layer.units:
            whole = Merge.prune(torch.arange(layer.units), layer.units)
            return whole, whole
        data = None
        if self.calibration is not None:
            data = layer_moments(self.network, reduced, layer, self.calibration)
        choice = self.method.choose(look(current, layer, data), **size)
        if not choice.changes or self.compensation == "own":
            return choice, choice
        if self.compensation == "none":
            return Merge.prune(choice.kept, layer.units), choice
        if choice.carriers:
            moved = apply_merge(current, layer, choice)
            with _narrower(layer):
                data = layer_moments(self.network, moved, layer, self.calibration)
        return refit(choice, data, self.ridge, layer.takes_offset), choice


@contextmanager
def _narrower(layer: HiddenLayer) -> Iterator[None]:
    """ValueError where a network does not run once a layer has fewer units."""
    try:
        yield
    except RuntimeError as problem:
        raise ValueError(
            f"with fewer units in {layer.name} the network no longer runs ({problem}): its "
            "forward has the old width written into it"
        ) from problem


def refusal(method: Method, layer: HiddenLayer, compensation: str) -> str:
    """Why a method cannot reduce a layer, "" if it can."""
    if layer.selects and not (method.selects or method.activations):
        return "it chooses channels of a residual stream, which have no weights of their own"
    if layer.depthwise and not method.depthwise:
        return "the method is not defined through a depthwise convolution"
    if method.multiples and compensation == "own" and not layer.homogeneous:
        return (
            "its activation is not homogeneous, so that no unit is a multiple of another; "
            'compensation="least_squares" can do without'
        )
    return ""


def resolve_method(method: str | Callable[..., Merge]) -> Method:
    """The `Method` of a name or callable. ValueError names all where there is none."""
    if callable(method):
        base = method
        while isinstance(base, functools.partial):
            base = base.func
        known = {entry.choose: entry for entry in METHODS.values()}
        return replace(known.get(base, Method(method, thresholds=True)), choose=method)
    if method not in METHODS:
        raise ValueError(f"there is no method {method!r}: {', '.join(METHODS)}")
    return METHODS[method]


def name_of(method: str | Callable[..., Merge]) -> str:
    """A method's name, for messages and traces."""
    while isinstance(method, functools.partial):
        method = method.func
    return method if isinstance(method, str) else getattr(method, "__name__", repr(method))


def count_parameters(network: nn.Module) -> int:
    """Parameters of a network, each counted once."""
    return sum(p.numel() for p in network.parameters())


def count_flops(network: nn.Module, example_input: Tensor) -> int:
    """Floating-point operations of the matrix products and convolutions for one input row, two per
    multiply-add."""
    with evaluation(network), torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(example_input[:1])
    return counter.get_total_flops()


def _resolve_compensation(compensation: str | None, calibration: Calibration | None) -> str:
    if compensation is None:
        return "own" if calibration is None else "least_squares"
    if compensation not in COMPENSATIONS:
        raise ValueError(f"compensation={compensation!r} is none of {', '.join(COMPENSATIONS)}")
    if compensation == "least_squares" and calibration is None:
        raise ValueError("compensation='least_squares' fits activations: give calibration=inputs")
    return compensation


def _by_layer(sizes: Sizes, targets: list[HiddenLayer]) -> dict[str, float]:
    """A size for each layer. ValueError where there are too few, or names that are not there."""
    names = [layer.name for layer in targets]
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
        surrogate.require_states(states)
        inputs = transform.features(transform.variables(states)).float()
    found = reduce(surrogate.network, inputs[:1], calibration=inputs, **how)
    reduced = copy.deepcopy(surrogate)
    reduced.network = found.network
    return Reduced(reduced, found.trace, found.untouched, found.output_error)

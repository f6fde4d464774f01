"""All methods by name, and what each asks of a layer and of the caller."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

from combred.reduction.calibration import Calibration
from combred.reduction.layers import HiddenLayer
from combred.reduction.merge import Merge
from combred.reduction.methods.brain_surgeon import brain_surgeon
from combred.reduction.methods.channel_similarity import channel_similarity
from combred.reduction.methods.condensation import condense
from combred.reduction.methods.folding import folding
from combred.reduction.methods.interpolative import interpolative
from combred.reduction.methods.neuron_merging import magnitude, neuron_merging


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


def resolve_compensation(compensation: str | None, calibration: Calibration | None) -> str:
    """The compensation asked for, or the default: least squares where there is calibration."""
    if compensation is None:
        return "own" if calibration is None else "least_squares"
    if compensation not in COMPENSATIONS:
        raise ValueError(f"compensation={compensation!r} is none of {', '.join(COMPENSATIONS)}")
    if compensation == "least_squares" and calibration is None:
        raise ValueError("compensation='least_squares' fits activations: give calibration=inputs")
    return compensation

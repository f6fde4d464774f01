"""The reduction methods.

A method chooses which units of one hidden layer stay, and how the next layers read the others:

    method(units: Units, *, keep: int, ...) -> Merge

It changes no network: `merge.apply_merge` does. docs/reduction.md has an example, and tells how a
method gets a name. `grouping` and `depthwise` are parts of `condensation`.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

from combred.reduction.fit.units import Units
from combred.reduction.methods.brain_surgeon import brain_surgeon
from combred.reduction.methods.channel_similarity import channel_similarity
from combred.reduction.methods.condensation import condense
from combred.reduction.methods.folding import folding
from combred.reduction.methods.interpolative import interpolative
from combred.reduction.methods.magnitude import magnitude
from combred.reduction.methods.neuron_merging import neuron_merging
from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.merge import Merge


@dataclass(frozen=True)
class Method:
    """A method, `choose(units, *, keep= or threshold=) -> Merge`, and its requirements.

    needs_homogeneous: reads units as multiples of others, which its own mixing may do only where
    the activation is homogeneous, sigma(c x) = c sigma(x) for c > 0. takes_threshold: takes
    `threshold` as well as `keep`. needs_calibration: uses activations. handles_depthwise: is
    defined for a layer with a depthwise convolution behind it. handles_residual: chooses channels
    of a residual stream unasked (a method that needs calibration can do so where they are named).
    ranks_given: ranks the units of every layer by the weights of the given network, not by those
    that remain once the layers before it are reduced.
    """

    choose: Callable[..., Merge]
    needs_homogeneous: bool = False
    takes_threshold: bool = False
    needs_calibration: bool = False
    handles_depthwise: bool = True
    handles_residual: bool = False
    ranks_given: bool = False
    name: str = ""  # of the key in `METHODS`, or of the function


METHODS = {
    "condensation": Method(condense, needs_homogeneous=True, takes_threshold=True),
    "neuron_merging": Method(
        neuron_merging, needs_homogeneous=True, handles_depthwise=False, ranks_given=True
    ),
    "magnitude": Method(magnitude, ranks_given=True),
    "channel_similarity": Method(channel_similarity, takes_threshold=True, handles_residual=True),
    "folding": Method(folding, needs_homogeneous=True, handles_depthwise=False),
    "interpolative": Method(interpolative, needs_calibration=True),
    "brain_surgeon": Method(brain_surgeon, needs_calibration=True),
}


def resolve_method(method: str | Callable[..., Merge]) -> Method:
    """The `Method` of a name or of a function, which may be a `functools.partial` of a listed one.

    A function that is not listed is taken to handle everything and to need nothing; ValueError is
    raised where it then returns no `Merge`.
    """
    if isinstance(method, str):
        if method not in METHODS:
            raise ValueError(f"there is no method {method!r}: {', '.join(METHODS)}")
        return replace(METHODS[method], name=method)
    inner = method
    while isinstance(inner, functools.partial):
        inner = inner.func
    name = getattr(inner, "__name__", repr(method))
    listed = {entry.choose: replace(entry, name=key) for key, entry in METHODS.items()}
    if inner in listed:
        return replace(listed[inner], choose=method)

    def choose(units: Units, **how) -> Merge:
        merge = method(units, **how)
        if not isinstance(merge, Merge):
            raise ValueError(f"the method {name} returns {merge!r}: let it return a Merge")
        return merge

    return Method(choose, takes_threshold=True, name=name)


def refusal(method: Method, layer: HiddenLayer, compensation: str) -> str:
    """Why a method cannot reduce a layer, "" if it can."""
    if layer.residual and not (method.handles_residual or method.needs_calibration):
        return "it chooses channels of a residual stream, which have no weights of their own"
    if layer.depthwise and not method.handles_depthwise:
        return "the method is not defined through a depthwise convolution"
    if method.needs_homogeneous and compensation == "own" and not layer.homogeneous:
        return (
            "its activation is not homogeneous, so that no unit is a multiple of another: give "
            "calibration=inputs, and leave out compensation='own': least squares does not need it"
        )
    return ""

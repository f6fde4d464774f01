"""Checks of what `combred.reduce` is given, its layers, and the sizes that it is asked for."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real

import torch
from torch import Tensor, nn

from combred.reduction.fit.calibration import Calibration, batches, missing_calibration
from combred.reduction.methods import Method, refusal
from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.layers import Survey
from combred.reduction.network.operations import NORMS
from combred.reduction.network.tensors import tensor_of
from combred.reduction.network.tracing import batch_of, evaluation

Sizes = float | Mapping[str, float]
BUDGETS = "parameters", "flops", "error"


def require_method(method: Method, kind: str, calibration: Calibration | None) -> None:
    """ValueError where a method takes no threshold, or calibration inputs are missing."""
    if kind == "threshold" and not method.takes_threshold:
        raise ValueError(f"{method.name} takes ratio= (the share of units kept), no threshold=")
    if calibration is None and method.needs_calibration:
        raise ValueError(missing_calibration(method.name))
    if calibration is None and kind in BUDGETS:
        raise ValueError(
            f"{kind}= chooses widths by their cost in accuracy: give calibration=inputs"
        )


def require_inputs(
    network: nn.Module, example: Tensor | None, calibration: Calibration | None
) -> Tensor:
    """The example; ValueError where it is missing or no batch, the network has no values or wrong
    ones, or the calibration inputs cannot be used."""
    if example is None:
        raise ValueError("reduce needs an example_input that the network runs on, as x[:1]")
    if not isinstance(example, Tensor) or example.dim() < 2 or not len(example):
        raise ValueError("example_input is a batch (n, ...) of inputs, as x[:1]")
    _require_values(network)
    if calibration is None:
        return example
    if isinstance(calibration, Iterator):
        raise ValueError(
            "calibration is run through more than once, an iterator only once: give inputs "
            "(n, ...), or list(batches)"
        )
    if not sum(_rows_like(example, x) for x in batches(calibration)):
        raise ValueError("calibration is empty: give inputs (n, ...)")
    with evaluation(network), torch.no_grad():
        if not isinstance(network(batch_of(network, example[:1])), Tensor):
            raise ValueError(
                "with calibration the error of the output is measured, and this network returns "
                "more than one tensor: wrap it in a module that returns the one that counts"
            )
    return example


def _require_values(network: nn.Module) -> None:
    """ValueError where parameters have no values or are not finite, or running statistics are no
    means and variances."""
    values: dict[str, Tensor] = dict(network.named_parameters())
    for name, module in network.named_modules():
        if isinstance(module, NORMS) and module.running_var is not None:
            statistics = {key: tensor_of(module, key) for key in ("running_mean", "running_var")}
            values |= {f"{name}.{key}": value for key, value in statistics.items()}
    checks: list[tuple[str, Callable[[str, Tensor], bool], str]] = [
        ("parameters are on the device meta", lambda _, v: v.is_meta, "Load their values"),
        ("parameters are empty", lambda _, v: v.numel() == 0, "Leave out layers without units"),
        (
            "parameters are not finite",
            lambda _, v: not torch.isfinite(v).all(),
            "A network that has diverged cannot be reduced; load an earlier one",
        ),
        (
            "variances are negative",
            lambda name, v: name.endswith("running_var") and bool((v < 0.0).any()),
            "Load an earlier network",
        ),
    ]
    for problem, is_wrong, remedy in checks:
        if wrong := [name for name, value in values.items() if is_wrong(name, value)]:
            raise ValueError(f"{problem}: {', '.join(wrong[:4])}. {remedy}")


def _rows_like(example: Tensor, x: Tensor) -> int:
    """Number of calibration inputs x; ValueError unless they are finite and like the example."""
    if not isinstance(x, Tensor):
        raise ValueError(
            f"calibration holds a {type(x).__name__}, but has to hold tensors of inputs: give "
            "[x for x, _ in loader], or torch.from_numpy(x)"
        )
    if x.shape[1:] != example.shape[1:] or x.dtype != example.dtype:
        raise ValueError(
            f"calibration is {x.dtype} of shape {tuple(x.shape)}, example_input {example.dtype} "
            f"of shape {tuple(example.shape)}: they differ in more than the number of inputs. "
            "Give calibration=x.to(example_input.dtype), of inputs as the network takes them"
        )
    finite = torch.isfinite(x).flatten(1).all(dim=1)
    if not finite.all():
        raise ValueError(
            f"{int((~finite).sum())} of {len(x)} calibration inputs are not finite: leave them "
            "out, x[torch.isfinite(x).flatten(1).all(dim=1)]"
        )
    return len(x)


def choose_layers(
    survey: Survey, layers: Sequence[str | int] | None, method: Method, compensation: str
) -> tuple[list[HiddenLayer], dict[str, str]]:
    """The layers to reduce, in the order in which they are named (None: all that the method can
    reduce), and why others are left alone.

    Raises ValueError for a layer that it cannot reduce, or that is named twice, and where no layer
    is left.
    """
    if isinstance(layers, (str, int)):
        raise ValueError(f"layers={layers!r} is one name: give a list, layers=[{layers!r}]")
    untouched, targets = dict(survey.untouched), []
    named = None if layers is None else [survey[wanted] for wanted in layers]
    for layer in survey.layers if named is None else named:
        reason = refusal(method, layer, compensation)
        if named is None and layer.residual and not method.handles_residual:
            continue
        if reason and named is not None:
            raise ValueError(f"layer {layer.name} cannot be reduced: {reason}")
        if layer in targets:
            raise ValueError(f"layer {layer.name} is named twice in layers={list(layers or ())}")
        if reason:
            untouched[layer.name] = reason
        else:
            targets.append(layer)
    if not targets:
        reasons = "; ".join(f"{layer}: {reason}" for layer, reason in untouched.items())
        raise ValueError(f"there is no layer that {method.name} can reduce. {reasons}")
    return targets, untouched


def require_sizes(kind: str, sizes: Sizes) -> None:
    """ValueError unless sizes are numbers, and shares where they are shares."""
    values: list[object] = [sizes]
    if kind in ("threshold", "ratio") and isinstance(sizes, Mapping):
        values = list(sizes.values())
    for size in values:
        if not isinstance(size, int | float | Real):
            raise ValueError(f"a size is a number, or a dict of numbers by layer, not {sizes!r}")
        if kind == "ratio" and not 0 < float(size) <= 1:
            raise ValueError(f"ratio={sizes} is the share of units kept: it lies in (0, 1]")
        if kind in BUDGETS and not 0 < float(size) < 1:
            raise ValueError(f"{kind}={sizes} is a share: it lies between 0 and 1")


def sizes_by_layer(kind: str, sizes: Sizes, targets: list[HiddenLayer]) -> list[dict]:
    """{"threshold": value} or {"keep": units} of each layer, for one number or a dict by name."""
    names = [layer.name for layer in targets]
    by_name = sizes if isinstance(sizes, Mapping) else dict.fromkeys(names, sizes)
    if set(by_name) != set(names):
        raise ValueError(f"sizes are given for {sorted(by_name)}, layers are {names}")
    if kind == "threshold":
        return [{"threshold": by_name[name]} for name in names]
    # At most this share, but for the rounding of a ratio such as 0.29 = 29 / 100.
    widths = [math.floor(by_name[layer.name] * layer.units * (1.0 + 1e-6)) for layer in targets]
    return [{"keep": max(1, k)} for k in widths]

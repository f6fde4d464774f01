"""Allocation: one budget is divided among the layers so that the output loses least accuracy."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from combred.reduction.fit.calibration import Calibration, layer_moments, missing_calibration
from combred.reduction.fit.units import describe_units
from combred.reduction.layerwise import LayerwiseReducer, Reduced
from combred.reduction.methods.brain_surgeon import eliminate
from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.size import CostOfWidths, Unreachable, count_flops, list_costs
from combred.reduction.network.tensors import bias_of, tensor_of

Cost = Callable[[Sequence], Tensor]  # of widths (..., n) of the layers
STEP = 128  # a layer is narrowed by one part in so many at a time
# Squared relative error at which the sensitivity of the output is measured: small, so that the
# output responds linearly, and far above the loss that the ridge (1e-6) causes in redundant layers.
VISIBLE = 1e-4


def allocate(
    reducer: LayerwiseReducer,
    layers: list[HiddenLayer],
    kind: str,
    amount: float,
    multiple: int = 1,
) -> Reduced:
    """The network of a reducer with the widths of `layers` that use a budget best.

    kind: "parameters" or "flops", with the share that may stay as amount, or "error", with the
    largest relative error of the output. multiple: of which widths are one, if they are larger.

    The loss of layer i at width k is s_i L_i(k). L_i(k) is the squared relative error of the next
    layers' pre-activations after elimination by the brain surgeon, which removes units one after
    another from the layer of the unreduced network. s_i is the sensitivity of the output to it,
    measured once: the squared error of the output over L_i, where layer i alone is reduced until
    L_i = `VISIBLE`. Losses of layers are taken to add up.

    Widths are lowered greedily: first where the loss per parameter (or flop) saved is least. Sizes
    are recounted after each step, since a unit costs less when the layers beside it are narrower.
    For a budget of parameters or flops, the same share of every layer is tried as well, and the one
    with the smaller error returned: losses of the brain surgeon need not be those of the method in
    use. An error is met by bisection along the path of widths, on which it is taken to rise.
    """
    if multiple != int(multiple) or multiple < 1:
        raise ValueError(f"multiple={multiple} is a whole number of units, at least 1")

    def reduce_to(widths: list[int]) -> Reduced:
        return reducer.reduce(layers, [{"keep": k} for k in widths])

    if reducer.calibration is None:
        raise ValueError(missing_calibration("allocation"))
    losses, full = [], [layer.units for layer in layers]
    for layer in layers:
        curve = _loss_curve(reducer.network, layer, reducer.calibration)
        width = max(1, int((curve >= VISIBLE).sum()) - 1)  # curves fall, from width 0 on
        error = reducer.error_of_one(layer, width) ** 2
        losses.append((error / curve[width] if curve[width] > 0 else 1.0) * curve)
    network, example = reducer.network, reducer.example_input
    cost = cost_of_widths(network, example, layers, kind, reducer.compensation != "none")
    path = _descend(losses, cost, full, multiple)
    if kind == "error":
        return _largest_reduction(path, amount, reduce_to)
    steps = max(full)
    even = [  # the same share of every layer, from all units down to one
        [_rounded(max(1, round(k * i / steps)), multiple) for k in full]
        for i in range(steps, 0, -1)
    ]
    parameters, operations = reducer.count(network)
    total = operations if kind == "flops" else parameters
    candidates = [reduce_to(_within(widths, cost, kind, amount, total)) for widths in (path, even)]
    return min(candidates, key=_error)


def _error(reduced: Reduced) -> float:
    """The error of the output, which a reduction with calibration inputs has."""
    return np.inf if reduced.output_error is None else reduced.output_error


def _largest_reduction(
    path: list[list[int]], amount: float, reduce_to: Callable[[list[int]], Reduced]
) -> Reduced:
    """The narrowest network of a path of widths whose output error is at most an amount."""
    lower, upper, best = 1, len(path) - 1, None  # path[0]: all units; path[-1]: one in each layer
    while lower <= upper:
        middle = (lower + upper) // 2
        reduced = reduce_to(path[middle])
        if _error(reduced) <= amount:
            best, lower = reduced, middle + 1
        else:
            upper = middle - 1
    if best is None:
        raise ValueError(
            f"error={amount} cannot be kept: the smallest reduction already gives more. "
            "Allow more, or give more calibration inputs"
        )
    return best


def _within(path: list[list[int]], cost: Cost, kind: str, amount: float, total: int) -> list[int]:
    """The first widths of a falling path whose cost is at most the share `amount` of that of the
    given network, `whole`; raises Unreachable where there are none."""
    size = cost(path).tolist()
    for widths, left in zip(path, size, strict=True):
        if left <= amount * total:
            return widths
    smallest = size[-1] / total
    raise Unreachable(
        f"{kind}={amount} cannot be reached: with one unit in every layer that may shrink, "
        f"{smallest:.3g} of the {kind} are left"
    )


def _rounded(width: int, multiple: int) -> int:
    """The largest multiple that a width holds, or the width where it holds none."""
    return width // multiple * multiple or width


def _loss_curve(network: nn.Module, layer: HiddenLayer, calibration: Calibration) -> np.ndarray:
    """L (units + 1,): squared relative error of the next layers' pre-activations, by width."""
    data = layer_moments(network, None, layer, calibration)
    units = describe_units(network, layer, data)
    _, cost = eliminate(units, 1)
    _, _, AA = data.about(intercept=False)
    square = float((units.reading * (AA.to(units.reading) @ units.reading)).sum())
    return np.concatenate([[np.inf], cost.numpy()[::-1] / max(square, 1e-300)])


def cost_of_widths(
    network: nn.Module,
    example_input: Tensor,
    layers: Sequence[HiddenLayer],
    kind: str,
    offsets: bool = False,
) -> Cost:
    """The flops of a network (for `kind` "flops"), else its parameters, as a function of the widths
    (..., n) of its layers. offsets: with the biases that offsets add to readers without one."""
    column, terms = {layer.name: i for i, layer in enumerate(layers, start=1)}, []
    for item in list_costs(network, example_input, {layer.name: layer for layer in layers}):
        weight = 2.0 * item.operations * item.is_matrix if kind == "flops" else item.parameters
        terms.append((weight, [column[name] for name in item.layers]))
    readers = {name for layer in layers if layer.takes_offset for name, _ in layer.readers}
    for name in sorted(readers) if offsets and kind != "flops" else ():
        module = network.get_submodule(name)
        if bias_of(module) is None:
            produced = [column[name]] if name in column else []
            terms.append((1.0 if produced else float(len(tensor_of(module))), produced))
    total, fixed = CostOfWidths(terms), 0.0

    def cost(widths: Sequence) -> Tensor:
        k = torch.as_tensor(widths, dtype=torch.float64)
        return total(torch.nn.functional.pad(k, (1, 0), value=1.0)) + fixed

    if kind == "flops":  # those of other operations, which do not depend on the widths
        fixed = count_flops(network, example_input) - float(cost([layer.units for layer in layers]))
    return cost


def _descend(
    losses: list[np.ndarray], cost: Cost, full: list[int], multiple: int = 1
) -> list[list[int]]:
    """Widths from `full` to one unit in each layer, each step where the loss per cost is least."""
    widths, path = list(full), [list(full)]
    while any(k > 1 for k in widths):
        one_more = np.eye(len(widths)) + widths
        price = (cost(one_more.tolist()) - cost(widths)).tolist()
        best, best_rate, narrower = -1, np.inf, 1
        for i, k in enumerate(widths):
            if k > 1:
                reduced_width = _rounded(k - max(1, k // STEP), multiple)
                rate = (losses[i][reduced_width] - losses[i][k]) / max(
                    price[i] * (k - reduced_width), 1e-300
                )
                if rate < best_rate or best < 0:
                    best, best_rate, narrower = i, rate, reduced_width
        widths[best] = narrower
        path.append(list(widths))
    return path

"""Widths that are chosen: one budget, spent over the layers where it costs least accuracy.

Takes what each layer loses as its units leave (`brain_surgeon.eliminate`) and what the units cost;
gives a width for each layer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn

from combred.reduction.calibration import Calibration, layer_moments
from combred.reduction.layers import HiddenLayer
from combred.reduction.methods.brain_surgeon import eliminate
from combred.reduction.size import Unreachable, positions
from combred.reduction.units import describe_units


@dataclass(frozen=True)
class Budget:
    """kind: "parameters" or "flops", and amount, the share that may stay; or "error", and the
    largest relative error of the output."""

    kind: str
    amount: float

    def __post_init__(self):
        if not 0 < self.amount < 1:
            raise ValueError(f"{self.kind}={self.amount} is a share: it lies between 0 and 1")


STEP = 128  # a layer is lowered by one part in so many at a time
# Squared relative error at which is measured how much of it arrives: small, so that the answer is
# linear, but far above what the ridge (1e-6) counts as lost where units are redundant.
VISIBLE = 1e-4


def allocate(
    network: nn.Module,
    example_input: Tensor,
    layers: Sequence[HiddenLayer],
    calibration: Calibration,
    budget: Budget,
    cut: Callable[[list[int]], Any],
    error_of_one: Callable[[HiddenLayer, int], float],
) -> Any:
    """The result of `cut(widths)` for the widths that spend a budget best.

    cut: reduces all layers to widths; error_of_one(layer, width): the output's relative error where
    that layer alone is reduced.

    Loss of a layer at width k: the squared relative error of the next layers' pre-activations that
    the brain surgeon leaves (from one elimination of the unreduced network's layer), times how much
    of such an error arrives at the output (measured: the output's error, squared, over the loss,
    when this layer alone is reduced until it loses `VISIBLE`). Losses of layers are taken to add.
    Widths are lowered greedily, the layer that loses least per parameter (or flop) saved first, and
    the sizes are recounted after each step, since a unit costs less when its neighbours have
    shrunk. The brain surgeon's losses need not be those of the method that cuts: for a budget of
    parameters or flops the same share of every layer is tried as well, and the better of the two
    returned. An error is met by bisection along the path, on which it is taken to rise.
    """
    curves = [_curve(network, layer, calibration) for layer in layers]
    full = [layer.units for layer in layers]
    weights = []
    for layer, curve in zip(layers, curves, strict=True):
        width = max(1, int((curve >= VISIBLE).sum()) - 1)  # curves fall, from width 0 on
        arrived = error_of_one(layer, width) ** 2
        weights.append(arrived / curve[width] if curve[width] > 0 else 1.0)
    costs = unit_costs(network, example_input, layers, budget.kind)
    path = _descend([w * c for w, c in zip(weights, curves, strict=True)], costs, full)
    if budget.kind != "error":
        chosen, even = _within(path, costs, budget), _within(_evenly(full), costs, budget)
        found = [cut(widths) for widths in (chosen, even)]
        return min(found, key=lambda one: one.output_error)
    few, many, best = 1, len(path) - 1, None  # path[0] is full, path[-1] one unit each
    while few <= many:
        middle = (few + many) // 2
        found = cut(path[middle])
        if found.output_error <= budget.amount:
            best, few = found, middle + 1
        else:
            many = middle - 1
    if best is None:
        raise ValueError(
            f"error={budget.amount} cannot be kept: the smallest cut already gives more. Allow "
            "more, or give more calibration inputs"
        )
    return best


def _within(path: list[list[int]], costs: "Costs", budget: Budget) -> list[int]:
    """The first widths of a falling path that keep a budget. Unreachable where none do."""
    total = costs.total(path[0])
    for widths in path:
        if costs.total(widths) <= budget.amount * total:
            return widths
    smallest = costs.total(path[-1]) / total
    raise Unreachable(
        f"{budget.kind}={budget.amount} cannot be reached: with one unit in every layer that may "
        f"shrink, {smallest:.3g} of the {budget.kind} are left"
    )


def _evenly(full: list[int]) -> list[list[int]]:
    """The same share of every layer, from all units to one."""
    steps = max(full)
    return [[max(1, round(k * i / steps)) for k in full] for i in range(steps, 0, -1)]


def _curve(network: nn.Module, layer: HiddenLayer, calibration: Calibration) -> np.ndarray:
    """Relative squared error (units + 1,) of the next layers' pre-activations, by width."""
    data = layer_moments(network, None, layer, calibration)
    units = describe_units(network, layer, data)
    found = eliminate(units, 1)
    _, _, AA = data.about(intercept=False)
    square = float((units.reading * (AA.to(units.reading) @ units.reading)).sum())
    loss = np.empty(layer.units + 1)
    loss[1:] = found.cost.numpy()[::-1] / max(square, 1e-300)
    loss[0] = np.inf
    return loss


@dataclass(frozen=True)
class Costs:
    """Parameters or flops of a network as a function of its widths.

    total(k) = fixed + sum_i own_i k_i + sum_ij pair_ij k_i k_j: weights between two layers that may
    shrink are bilinear in their widths, all others linear.
    """

    fixed: float
    own: np.ndarray
    pair: np.ndarray

    def total(self, widths: Sequence[int]) -> float:
        k = np.asarray(widths, dtype=float)
        return float(self.fixed + self.own @ k + k @ self.pair @ k)

    def gradient(self, widths: Sequence[int]) -> np.ndarray:
        """Cost of one unit of each layer at these widths."""
        k = np.asarray(widths, dtype=float)
        return self.own + self.pair @ k + self.pair.T @ k


def unit_costs(
    network: nn.Module, example_input: Tensor, layers: Sequence[HiddenLayer], kind: str
) -> Costs:
    """`Costs` of a network, by parameters (also for "error") or by flops."""
    calls = positions(network, example_input)
    size = len(layers)
    fixed, own, pair = 0.0, np.zeros(size), np.zeros((size, size))
    makes = {name: i for i, layer in enumerate(layers) for name in layer.carriers}
    reads = {name: i for i, layer in enumerate(layers) for name, _ in layer.readers}
    for name, module in network.named_modules():
        for key, tensor in module.named_parameters(recurse=False):
            amount = float(tensor.numel())
            if kind == "flops":
                amount = 2.0 * amount * calls.get(name, 0) if tensor.dim() > 1 else 0.0
            out, into = makes.get(name), reads.get(name) if key == "weight" else None
            if out is not None and into is not None:
                pair[into, out] += amount / (layers[out].units * layers[into].units)
            elif out is not None or into is not None:
                index = out if out is not None else into
                own[index] += amount / layers[index].units
            else:
                fixed += amount
    return Costs(fixed, own, pair)


def _descend(losses: list[np.ndarray], costs: Costs, full: list[int]) -> list[list[int]]:
    """Widths from full to one unit in each layer, each step where it loses least."""
    widths, path = list(full), [list(full)]
    while any(k > 1 for k in widths):
        price = costs.gradient(widths)
        best, best_rate = -1, np.inf
        for i, k in enumerate(widths):
            if k > 1:
                down = k - max(1, k // STEP)
                rate = (losses[i][down] - losses[i][k]) / max(price[i] * (k - down), 1e-300)
                if rate < best_rate or best < 0:
                    best, best_rate = i, rate
        widths[best] -= max(1, widths[best] // STEP)
        path.append(list(widths))
    return path

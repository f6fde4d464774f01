"""The size of a network, in parameters and operations, also as a function of the widths of its
layers, and the errors of a reduction that cannot be made."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.operations import NORMS, PRODUCERS
from combred.reduction.network.tracing import Traced, batch_of, evaluation


class Unreachable(ValueError):
    """A network cannot be made as small as it is asked for."""


class Unchanged(UserWarning):
    """A reduction keeps every unit."""


def count_parameters(network: nn.Module) -> int:
    """Number of parameters of a network, shared ones counted once."""
    return sum(p.numel() for p in network.parameters())


def count_flops(network: nn.Module, example_input: Tensor) -> int:
    """Floating-point operations of matrix products and convolutions for one input row.

    A multiply-add counts as two. example_input (n, ...): the first row is run.
    """
    x = batch_of(network, example_input[:1])
    with evaluation(network), torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(x)
    return counter.get_total_flops() // len(x)


@dataclass(frozen=True)
class Cost:
    """The cost of one tensor of a module for each combination of one unit of each of `layers`.

    operations: multiply-accumulates for one input row. is_matrix: the tensor is no bias and not of
    a batch norm.
    """

    module: str
    is_matrix: bool
    parameters: float
    operations: float
    layers: tuple[str, ...]


def list_costs(
    network: nn.Module, example_input: Tensor, layers: Mapping[str, HiddenLayer]
) -> list[Cost]:
    """The cost of every parameter tensor of a network that runs on example_input (n, ...).

    Weights are used once for each position of the output; a bias costs one operation for each
    position, a batch norm one multiply-add. Parameters of other modules cost no operations; shared
    ones count once.
    """
    traced = Traced(network, example_input)
    producers = {c: name for name, layer in layers.items() for c in layer.carriers}
    read = {r: name for name, layer in layers.items() for r, _ in layer.readers}
    positions, costs, seen = dict.fromkeys(traced.modules, 0.0), [], set()
    for node in traced.nodes:
        module = traced.modules.get(node.target) if node.op == "call_module" else None
        if isinstance(module, (*PRODUCERS, *NORMS)):
            shape = traced.shape(node) or ()
            units = shape[-1] if isinstance(module, nn.Linear) else shape[1]
            positions[node.target] += math.prod(shape) / shape[0] / units
    for name, module in network.named_modules():
        for key, p in module.named_parameters(recurse=False, remove_duplicate=False):
            factors = [producers[name]] if name in producers else []
            if name in read and key == "weight":
                factors.append(read[name])
            share = p.numel() / math.prod(layers[factor].units for factor in factors)
            counted = isinstance(module, PRODUCERS) or isinstance(module, NORMS) and key == "weight"
            uses = positions.get(name, 0.0) if counted else 0.0
            parameters = 0.0 if id(p) in seen else share
            seen.add(id(p))
            costs.append(Cost(name, p.dim() > 1, parameters, share * uses, tuple(factors)))
    return costs


class CostOfWidths:
    """A sum of products of widths k: sum_t weight_t prod_{i in factors_t} k_i.

    terms: (weight, factors), the factors as indices into the widths; k_0 is one.
    """

    def __init__(self, terms: Sequence[tuple[float, Sequence[int]]], device=None):
        largest = max((len(factors) for _, factors in terms), default=0)
        padded = [[*factors, *[0] * (largest - len(factors))] for _, factors in terms]
        self.factors = torch.tensor(padded, dtype=torch.long, device=device)
        self.factors = self.factors.reshape(len(terms), largest)
        weights = [weight for weight, _ in terms]
        self.weights = torch.tensor(weights, dtype=torch.float64, device=device)

    def __call__(self, widths: Tensor) -> Tensor:
        """The cost (...) of widths (..., n), the first of which are one."""
        product = widths.new_ones(*widths.shape[:-1], len(self.factors))
        for factor in self.factors.unbind(1):
            product = product * widths[..., factor]
        return product @ self.weights.to(widths.dtype)

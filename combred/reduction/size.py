"""How large a network is: parameters, and floating-point operations for one input."""

import math

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from combred.reduction.operations import NORMS, PRODUCERS
from combred.reduction.tracing import Traced, evaluation


class Unreachable(ValueError):
    """A network cannot be made so small."""


class Unchanged(ValueError):
    """A reduction leaves every unit where it is."""


def count_parameters(network: nn.Module) -> int:
    """Parameters of a network, each counted once."""
    return sum(p.numel() for p in network.parameters())


def count_flops(network: nn.Module, example_input: Tensor) -> int:
    """Floating-point operations of the matrix products and convolutions for one input row, two per
    multiply-add."""
    with evaluation(network), torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(example_input[:1])
    return counter.get_total_flops()


def positions(network: nn.Module, example_input: Tensor) -> dict[str, float]:
    """How often the weights of a linear, convolutional or batch-norm layer are used for one input
    row, by name."""
    traced = Traced(network, example_input)
    modules, found = traced.modules, {}
    for node in traced.nodes:
        module = modules.get(node.target) if node.op == "call_module" else None
        if isinstance(module, (*PRODUCERS, *NORMS)):
            shape = node.meta["tensor_meta"].shape
            width = getattr(module, "out_features", None) or getattr(module, "out_channels", None)
            width = width or module.num_features
            found[node.target] = found.get(node.target, 0) + math.prod(shape) / shape[0] / width
    return found

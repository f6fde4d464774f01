"""How large a network is: parameters, and floating-point operations for one input."""

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from combred.reduction.tracing import evaluation


def count_parameters(network: nn.Module) -> int:
    """Parameters of a network, each counted once."""
    return sum(p.numel() for p in network.parameters())


def count_flops(network: nn.Module, example_input: Tensor) -> int:
    """Floating-point operations of the matrix products and convolutions for one input row, two per
    multiply-add."""
    with evaluation(network), torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(example_input[:1])
    return counter.get_total_flops()

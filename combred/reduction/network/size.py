"""The size of a network: its parameters, and floating-point operations for one input row. Also the
two errors of a reduction that cannot be made: `Unreachable` and `Unchanged`."""

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from combred.reduction.network.tracing import evaluation


class Unreachable(ValueError):
    """A network cannot be made as small as it is asked for."""


class Unchanged(ValueError):
    """A reduction would keep every unit."""


def count_parameters(network: nn.Module) -> int:
    """Number of parameters of a network, shared ones counted once."""
    return sum(p.numel() for p in network.parameters())


def count_flops(network: nn.Module, example_input: Tensor) -> int:
    """Floating-point operations of matrix products and convolutions for one input row.

    A multiply-add counts as two. example_input (n, ...): the first row is run.
    """
    with evaluation(network), torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(example_input[:1])
    return counter.get_total_flops()

"""The expected cost of a network with masks: the complexity index J_FP of Guenter & Sideris,
section 3.1. One rule stands for their equations (11) and (12). A weight costs

    f E[inputs] E[outputs] prod theta_B   multiply-accumulates
    p E[inputs] E[outputs] prod theta_B   parameters

E[inputs] = |theta|_1 of the layer that feeds it, E[outputs] = |theta|_1 of the layer that it makes
(the width where a layer is not masked), theta_B of the blocks that it lies in. With K^2 entries of
a filter and an output of W x H pixels, f = W H K^2 and p = K^2; for a fully connected layer both
are 1. Their f_a = p_a = 1 stands for bias and activation; the biases b_3 of shortcuts, which (11)
and (12) leave out, are counted.
"""

import math

import torch
from torch import Tensor, nn

from combred.reduction.complexity.structure import Structure
from combred.reduction.network.size import CostOfWidths, list_costs


class ComplexityIndex:
    """J_FP (equation 13) of theta, flat (n,), for the masks of a structure of a network:

        beta sum_l J_F^l / F + (1 - beta) sum_l J_P^l / P + alpha sum_l theta_B^l / L

    F, P, L (`totals`): the operations, parameters and blocks of the unreduced network, where theta
    = 1 gives 1 + alpha (1 without blocks). beta, alpha: weights. example_input (n, ...): an input
    that the network runs on.
    """

    def __init__(
        self,
        network: nn.Module,
        example_input: Tensor,
        structure: Structure,
        beta: float,
        alpha: float,
    ):
        costs = list_costs(network, example_input, structure.layers)
        sizes, L = structure.sizes, max(len(structure.blocks), 1)
        full = [math.prod(sizes[layer] for layer in cost.layers) for cost in costs]
        F = sum(cost.operations * n for cost, n in zip(costs, full, strict=True))
        P = sum(cost.parameters * n for cost, n in zip(costs, full, strict=True))
        self.totals, self.device = (F, P, L), example_input.device
        self.terms = [
            (
                beta * cost.operations / F + (1.0 - beta) * cost.parameters / P,
                (*cost.layers, *structure.blocks_around([cost.module])),
            )
            for cost in costs
        ]
        self.terms += [(alpha / L, (block,)) for block in structure.blocks]
        self.narrow(structure)

    def narrow(self, structure: Structure) -> None:
        """Leave out the costs of units and blocks that are no longer in the structure."""
        column = {name: i for i, name in enumerate(structure.sizes, start=1)}
        left = [(weight, names) for weight, names in self.terms if column.keys() >= {*names}]
        terms = [(weight, [column[name] for name in names]) for weight, names in left]
        self.cost, self.width = CostOfWidths(terms, self.device), len(column) + 1
        owner = [column[name] for name, size in structure.sizes.items() for _ in range(size)]
        self.owner = torch.tensor(owner, dtype=torch.long, device=self.device)

    def __call__(self, theta: Tensor) -> Tensor:
        """J_FP (a scalar) of theta (n,)."""
        unit_vector = torch.eye(1, self.width, dtype=theta.dtype, device=theta.device)[0]
        return self.cost(unit_vector.index_add(0, self.owner, theta))

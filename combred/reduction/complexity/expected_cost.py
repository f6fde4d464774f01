"""The expected cost of a network with masks: the complexity index J_FP.

Guenter & Sideris, Complexity-Aware Training of Deep Neural Networks for Optimal Structure
Discovery, section 3.1. Takes a network and its `structure.Structure`; gives `ComplexityIndex`, a
differentiable function of theta. One rule stands for their equations (11) and (12). A weight costs

    f E[inputs] E[outputs] prod theta_B   multiply-accumulates
    p E[inputs] E[outputs] prod theta_B   parameters

E[inputs] = |theta|_1 of the layer that feeds it, E[outputs] = |theta|_1 of the layer that it makes
(the width where a layer is not masked), theta_B of the blocks that it lies in. With K^2 entries of
a filter and an output of W x H pixels, f = W H K^2 and p = K^2; for a fully connected layer both
are 1.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from combred.reduction.complexity.structure import Structure
from combred.reduction.network.operations import NORMS, PRODUCERS
from combred.reduction.network.size import positions


@dataclass(frozen=True)
class Cost:
    """The cost of one tensor of a module: flops (multiply-accumulates per input row) and parameters
    for each combination of one unit or block of each of `masks`."""

    module: str
    flops: float
    parameters: float
    masks: tuple[str, ...]


class ComplexityIndex:
    """J_FP (equation 13) of theta, flat (n,), for the masks of a structure of a network:

        beta sum_l J_F^l / F + (1 - beta) sum_l J_P^l / P + alpha sum_l theta_B^l / L

    F, P, L (`totals`): the operations, parameters and blocks of the unreduced network, where theta
    = 1 gives 1 + alpha (1 without blocks). beta, alpha: weights. example_input (n, ...): an input
    that the network runs on.

    By (14) and (16) the hyperparameters log gamma of the paper's priors follow from J_FP: its
    derivatives by |theta_1|_1 are -log gamma_1 / (nu N). For log gamma_B, (16) has -nu alpha N;
    (14) holds with -nu alpha N / L.
    """

    def __init__(
        self,
        network: nn.Module,
        example_input: Tensor,
        structure: Structure,
        beta: float,
        alpha: float,
    ):
        self.costs = list_costs(network, example_input, structure)
        self.beta, self.alpha, self.device = beta, alpha, example_input.device
        sizes = structure.sizes
        full = [math.prod(sizes[mask] for mask in cost.masks) for cost in self.costs]
        F = sum(cost.flops * n for cost, n in zip(self.costs, full, strict=True))
        P = sum(cost.parameters * n for cost, n in zip(self.costs, full, strict=True))
        self.totals = F, P, max(len(structure.blocks), 1)
        self.narrow(structure)

    def narrow(self, structure: Structure) -> None:
        """Leave out the costs of units and blocks that are no longer in the structure."""
        (F, P, L), names = self.totals, list(structure.sizes)
        column = {name: i + 1 for i, name in enumerate(names)}  # 0: a constant one
        weights, masks = [], []
        for cost in self.costs:
            if all(name in column for name in cost.masks):
                weights.append(self.beta * cost.flops / F + (1.0 - self.beta) * cost.parameters / P)
                masks.append([column[name] for name in cost.masks])
        for name in structure.blocks:
            weights.append(self.alpha / L)
            masks.append([column[name]])
        most = max(map(len, masks), default=0)
        padded = [g + [0] * (most - len(g)) for g in masks]
        owner = [column[name] for name in names for _ in range(structure.sizes[name])]
        # Types are given, since all units and blocks may be gone.
        self.owner = torch.tensor(owner, dtype=torch.long, device=self.device)
        self.masks = torch.tensor(padded, dtype=torch.long, device=self.device)
        self.masks = self.masks.reshape(len(masks), most)
        self.weights = torch.tensor(weights, dtype=torch.float64, device=self.device)
        self.n_columns = len(names) + 1

    def __call__(self, theta: Tensor) -> Tensor:
        """J_FP (a scalar) of theta (n,)."""
        widths = theta.new_zeros(self.n_columns).index_add(0, self.owner, theta)
        constant = torch.zeros_like(widths)
        constant[0] = 1.0
        widths = widths + constant
        product = theta.new_ones(len(self.masks))
        for column in self.masks.unbind(1):
            product = product * widths[column]
        return self.weights.to(theta.dtype) @ product


def list_costs(network: nn.Module, example_input: Tensor, structure: Structure) -> list[Cost]:
    """The cost of every parameter tensor of a network.

    A bias costs one operation per position and one parameter (their f_a = p_a = 1 stands for bias
    and activation); a batch norm one multiply-add per position and two parameters. The biases b_3
    of shortcuts, which (11) and (12) leave out, are counted. Parameters of other modules cost no
    operations.
    """
    uses = positions(network, example_input)
    made = {c: name for name, layer in structure.layers.items() for c in layer.carriers}
    read = {r: name for name, layer in structure.layers.items() for r, _ in layer.readers}
    sizes, costs, seen = structure.sizes, [], set()
    for name, module in network.named_modules():
        for key, p in module.named_parameters(recurse=False, remove_duplicate=False):
            masks = [made[name]] if name in made else []
            if name in read and key == "weight":
                masks.append(read[name])
            each = p.numel() / math.prod(sizes[mask] for mask in masks)
            counted = isinstance(module, PRODUCERS) or isinstance(module, NORMS) and key == "weight"
            flops = each * uses.get(name, 0) if counted else 0.0
            parameters = 0.0 if id(p) in seen else each
            seen.add(id(p))
            costs.append(Cost(name, flops, parameters, (*masks, *structure.blocks_around([name]))))
    return costs

"""What a network with masks is expected to cost: the complexity index J_FP.

Guenter & Sideris, Complexity-Aware Training of Deep Neural Networks for Optimal Structure
Discovery, section 3.1. Takes a network and its `structure.Structure`; gives `ComplexityIndex`, a
differentiable function of theta. One rule stands for their equations (11) and (12): a weight costs

    f E[inputs] E[outputs] prod theta_B,     f = its entries x positions / (inputs x outputs)

multiply-accumulates, E[inputs] = |theta|_1 of the layer that feeds it and E[outputs] = |theta|_1 of
the layer that it makes (or the width where that is not masked), theta_B those of the blocks it lies
in; and p E[inputs] E[outputs] prod theta_B parameters, with positions = 1. So f = 1 for a fully
connected layer, W H K^2 for a convolution with an output of W x H, p = 1 and K^2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from combred.reduction.complexity.structure import Structure
from combred.reduction.operations import NORMS, PRODUCERS
from combred.reduction.size import positions


@dataclass(frozen=True)
class Cost:
    """flops [multiply-accumulates per input row] and parameters of one tensor of a module, per open
    mask of each of the layers and blocks `masks`."""

    module: str
    flops: float
    parameters: float
    masks: tuple[str, ...]


def list_costs(network: nn.Module, example_input: Tensor, structure: Structure) -> list[Cost]:
    """The cost of every parameter of a network.

    A bias costs one operation per position and one parameter (their f_a, p_a = 1, which stands for
    bias and activation); a batch norm one multiply-add per position and two parameters. The biases
    b_3 of shortcuts, which (11) and (12) leave out, are counted. Parameters of other modules cost
    no operations.
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


class ComplexityIndex:
    """J_FP (equation 13) of theta, flat (n,), for the masks of a structure:

        beta sum_l J_F^l / F + (1 - beta) sum_l J_P^l / P + alpha sum_l theta_B^l / L

    F, P, L: operations, parameters and blocks of the unreduced network, so that theta = 1 gives
    1 + alpha (1 without blocks) there. costs: those of the unreduced network; what is no longer in
    `structure` is left out.

    By (14) and (16) the hyperparameters log gamma of the paper's priors follow from J_FP: its
    derivatives by |theta_1|_1 are -log gamma_1 / (nu N). Of log gamma_B, (16) prints -nu alpha N;
    (14) holds with -nu alpha N / L.
    """

    def __init__(
        self,
        costs: Sequence[Cost],
        structure: Structure,
        totals: tuple[float, float, int],
        beta: float,
        alpha: float,
        device: torch.device | None = None,
    ):
        sizes = structure.sizes
        names = list(sizes)
        column = {name: i + 1 for i, name in enumerate(names)}  # 0: a constant one
        F, P, L = totals
        flops, parameters, weights, masks = [], [], [], []
        for cost in costs:
            if any(name not in column for name in cost.masks):
                continue  # it lay in a block that is gone
            flops.append(cost.flops)
            parameters.append(cost.parameters)
            weights.append(beta * cost.flops / F + (1.0 - beta) * cost.parameters / P)
            masks.append([column[name] for name in cost.masks])
        for name in structure.blocks:
            flops.append(0.0)
            parameters.append(0.0)
            weights.append(alpha / L)
            masks.append([column[name]])
        most = max(map(len, masks), default=0)
        padded = [g + [0] * (most - len(g)) for g in masks]
        self.owner = torch.tensor(
            [column[n] for n in names for _ in range(sizes[n])], device=device
        )
        self.masks = torch.tensor(padded, device=device).reshape(len(masks), most)
        table = torch.tensor([weights, flops, parameters], dtype=torch.float64, device=device)
        self.weights, self.flops, self.parameters = table
        self.n_columns = len(names) + 1

    def __call__(self, theta: Tensor) -> Tensor:
        """J_FP, a scalar."""
        return self.weights.to(theta.dtype) @ self._open(theta)

    @torch.no_grad()
    def expected(self, theta: Tensor) -> tuple[float, float]:
        """Expected multiply-accumulates per input row (the sum of 11), expected parameters (12)."""
        products = self._open(theta.double())
        return float(self.flops @ products), float(self.parameters @ products)

    def _open(self, theta: Tensor) -> Tensor:
        """The product of the expected numbers of open masks that multiplies each cost."""
        widths = theta.new_zeros(self.n_columns).index_add(0, self.owner, theta)
        constant = torch.zeros_like(widths)
        constant[0] = 1.0
        widths = widths + constant
        product = theta.new_ones(len(self.masks))
        for column in self.masks.unbind(1):
            product = product * widths[column]
        return product


def index_of(
    network: nn.Module, example_input: Tensor, structure: Structure, beta: float, alpha: float
) -> tuple[ComplexityIndex, list[Cost], tuple[float, float, int]]:
    """The index of an unreduced network, its costs, and its totals (F, P, L)."""
    costs = list_costs(network, example_input, structure)
    sizes = structure.sizes
    full = [math.prod(sizes[mask] for mask in cost.masks) for cost in costs]
    F = sum(cost.flops * n for cost, n in zip(costs, full, strict=True))
    P = sum(cost.parameters * n for cost, n in zip(costs, full, strict=True))
    totals = F, P, max(len(structure.blocks), 1)
    return (
        ComplexityIndex(costs, structure, totals, beta, alpha, example_input.device),
        costs,
        totals,
    )

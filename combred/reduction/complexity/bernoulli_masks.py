"""BernoulliMasks on a network: a Bernoulli variable on every hidden unit and every residual block.

Takes a `Structure` and theta; gives hooks that multiply by xi ~ Bernoulli(theta), and lets
optimisers go on when the network has shrunk. Used by `sparse_training`.

A unit's mask multiplies what its readers read, a block's mask the output of its nonlinear path:
xi_1, xi_2 and xi_B of Guenter & Sideris, equation (1).
"""

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from combred.reduction.complexity.structure import Structure

DECIDED = 0.5  # theta from which a unit or block stays when theta is rounded


class BernoulliMasks:
    """theta of every mask of a structure, flat (n,), and hooks that multiply by xi ~ theta.

    floor (n,): lower bounds of theta, 0, or 1 for the last unit of a layer, which must stay.
    """

    def __init__(self, structure: Structure, theta: Tensor):
        self.floor = torch.zeros_like(theta)
        self.handles: list = []
        self.resize(structure, theta)

    def resize(self, structure: Structure, theta: Tensor) -> None:
        """Take over the structure that is left, and its theta."""
        self.sizes = structure.sizes
        if theta.shape != (sum(self.sizes.values()),):
            raise ValueError(f"theta {tuple(theta.shape)} for {sum(self.sizes.values())} masks")
        self.theta = nn.Parameter(theta.detach().clone())
        self.round()

    def by_name(self, values: Tensor) -> dict[str, Tensor]:
        """Views of a flat tensor (n,), by layer and block."""
        return dict(zip(self.sizes, values.split(list(self.sizes.values())), strict=True))

    def sample(self, generator: torch.Generator) -> Tensor:
        """One sample of every mask, which the network then runs with; its gradient is the
        straight-through estimate of dC/dtheta."""
        xi = torch.bernoulli(self.theta.detach(), generator=generator).requires_grad_()
        self.xi = self.by_name(xi)
        return xi

    def round(self) -> None:
        """Let the network run with theta rounded for xi."""
        self.xi = self.by_name((self.theta.detach() >= DECIDED).to(self.theta.dtype))

    def attach(self, network: nn.Module, structure: Structure) -> None:
        """Hook the masks into a network."""
        for name, layer in structure.layers.items():
            for reader, positions in layer.readers:
                module = network.get_submodule(reader)
                hook = _unit_hook(self, name, positions, isinstance(module, nn.Linear))
                self.handles.append(module.register_forward_pre_hook(hook))
        for name in structure.blocks:
            hook = _block_hook(self, name)
            self.handles.append(network.get_submodule(name).register_forward_hook(hook))

    def detach(self) -> None:
        """Take the hooks out."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()


def _unit_hook(masks: BernoulliMasks, name: str, positions: int, linear: bool):
    def multiply(module: nn.Module, args: tuple) -> tuple:
        xi, x = masks.xi[name], args[0]
        if positions > 1:
            xi = xi.repeat_interleave(positions)
        shaped = xi if linear else xi.reshape(-1, *[1] * (module.weight.dim() - 2))
        return x * shaped.to(x.dtype), *args[1:]

    return multiply


def _block_hook(masks: BernoulliMasks, name: str):
    def multiply(module: nn.Module, args: tuple, output: Tensor) -> Tensor:
        return output * masks.xi[name].to(output.dtype)

    return multiply


# -- optimisers ----------------------------------------------------------------------------------


def index_network(network: nn.Module) -> nn.Module:
    """A copy whose parameters hold the index of each of their entries: whatever surgery it goes
    through, it then says which entries are left. float64, which holds integers to 2^53."""
    indices = copy.deepcopy(network).double()
    with torch.no_grad():
        for p in indices.parameters():
            p.copy_(torch.arange(p.numel(), dtype=p.dtype, device=p.device).reshape(p.shape))
    return indices


def follow(
    optimizer: torch.optim.Optimizer, moved: Mapping[Tensor, tuple[Tensor, Tensor] | None]
) -> None:
    """Let an optimiser go on with what is left of its parameters, and of its state, in place.

    moved: for each old parameter the new one and the flat indices (shaped as the new one) of its
    entries in the old one, or None where it is gone. Raises ValueError for a state that is
    neither a number nor of the shape of its parameter.
    """
    for group in optimizer.param_groups:
        group["params"] = [moved[p][0] for p in group["params"] if moved[p] is not None]
    for old in list(optimizer.state):
        state = optimizer.state.pop(old)
        if moved[old] is None:
            continue
        new, index = moved[old]
        for key, value in state.items():
            if not isinstance(value, Tensor) or value.dim() == 0:
                continue  # a count of steps
            if value.shape != old.shape:
                raise ValueError(
                    f"{type(optimizer).__name__} keeps {key} {tuple(value.shape)} for a weight "
                    f"{tuple(old.shape)}, which cannot be narrowed: take Adam, AdamW, SGD or "
                    "RMSprop"
                )
            state[key] = value.flatten()[index.to(value.device)]
        optimizer.state[new] = state

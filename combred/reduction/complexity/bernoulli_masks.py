"""A random mask on every hidden unit and every residual block of a network.

Takes a `Structure` and theta; gives hooks that multiply by xi ~ Bernoulli(theta), and narrows
optimisers when the network has shrunk. Used by `sparse_training`.

The mask of a unit multiplies its activation where the next layers read it; the mask of a block
multiplies the output of its nonlinear path. They are xi_1, xi_2 and xi_B of Guenter & Sideris,
equation (1).
"""

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from combred.reduction.complexity.structure import Structure

DECIDED = 0.5  # when theta is rounded, units and blocks with at least this theta stay


class BernoulliMasks:
    """The masks xi ~ Bernoulli(theta) of a structure, and the hooks that multiply by them.

    theta (n,), in [0, 1]: one entry per unit and block, in the order of `structure.sizes`. floor
    (n,): lower bounds of theta: 0, or 1 for the last unit of a layer, which has to stay. Raises
    ValueError for a theta of another length.
    """

    def __init__(self, structure: Structure, theta: Tensor):
        self.floor = torch.zeros_like(theta)
        self.handles: list = []
        self.resize(structure, theta)

    def resize(self, structure: Structure, theta: Tensor) -> None:
        """Make the masks those of a smaller structure, with its theta (n,)."""
        self.sizes = structure.sizes
        if theta.shape != (sum(self.sizes.values()),):
            raise ValueError(f"theta {tuple(theta.shape)} for {sum(self.sizes.values())} masks")
        self.theta = nn.Parameter(theta.detach().clone())
        self.round()

    def by_name(self, values: Tensor) -> dict[str, Tensor]:
        """Views of a tensor (n,) by the name of the layer or block."""
        return dict(zip(self.sizes, values.split(list(self.sizes.values())), strict=True))

    def sample(self, generator: torch.Generator) -> Tensor:
        """Draw xi (n,), with which the network then runs.

        Its gradient after a backward pass is the straight-through estimate of dC/dtheta.
        """
        xi = torch.bernoulli(self.theta.detach(), generator=generator).requires_grad_()
        self.xi = self.by_name(xi)
        return xi

    def round(self) -> None:
        """Let the network run with xi = theta rounded to 0 or 1."""
        self.xi = self.by_name((self.theta.detach() >= DECIDED).to(self.theta.dtype))

    def attach(self, network: nn.Module, structure: Structure) -> None:
        """Add the hooks to a network."""
        for name, layer in structure.layers.items():
            for reader, positions in layer.readers:
                module = network.get_submodule(reader)
                hook = _unit_hook(self, name, positions, isinstance(module, nn.Linear))
                self.handles.append(module.register_forward_pre_hook(hook))
        for name in structure.blocks:
            hook = _block_hook(self, name)
            self.handles.append(network.get_submodule(name).register_forward_hook(hook))

    def detach(self) -> None:
        """Remove the hooks."""
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
    """A copy of a network in which each parameter entry is its own flat index.

    After the same surgery as the network, it says which entries are left. float64, which holds
    integers up to 2^53.
    """
    indices = copy.deepcopy(network).double()
    with torch.no_grad():
        for p in indices.parameters():
            p.copy_(torch.arange(p.numel(), dtype=p.dtype, device=p.device).reshape(p.shape))
    return indices


def follow(
    optimizer: torch.optim.Optimizer, moved: Mapping[Tensor, tuple[Tensor, Tensor] | None]
) -> None:
    """Narrow an optimiser, in place, to the parameters that are left and to their state.

    moved: for each old parameter the new one and the flat indices, in its shape, of its entries in
    the old one; None where the parameter is gone. Raises ValueError for a state that is neither a
    number nor of the shape of its parameter.
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

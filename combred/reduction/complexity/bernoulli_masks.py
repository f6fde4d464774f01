"""A random mask xi ~ Bernoulli(theta) on every hidden unit and every residual block of a network.

The mask of a unit multiplies its activation where the next layers read it; the mask of a block
multiplies the output of its nonlinear path: xi_1, xi_2 and xi_B of Guenter & Sideris, equation (1).
Also narrows optimisers when the network has shrunk.
"""

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from combred.reduction.complexity.structure import Removal, Structure, shrink
from combred.reduction.network.tensors import tensor_of

DECIDED = 0.5  # when theta is rounded, units and blocks with at least this theta stay


class BernoulliMasks:
    """The masks xi ~ Bernoulli(theta) of a structure, and the hooks that multiply by them.

    theta (n,), in [0, 1]: one entry per unit and block, in the order of `structure.sizes`. floor
    (n,): lower bounds of theta: 0, or 1 for the last unit of a layer, which has to stay.
    """

    def __init__(self, structure: Structure, theta: Tensor):
        self.handles: list = []
        self._resize(structure, theta)

    def _resize(self, structure: Structure, theta: Tensor) -> None:
        self.sizes = structure.sizes
        self.theta, self.floor = nn.Parameter(theta.detach().clone()), torch.zeros_like(theta)
        self.round()

    def narrow(self, left: Structure, removal: Removal, optimizer: torch.optim.Optimizer) -> None:
        """Make the masks, and the optimiser of theta, those of the structure that a removal has
        left."""
        stays, old = torch.zeros_like(self.theta, dtype=torch.bool), self.theta
        for name in left.sizes:
            self.by_name(stays)[name][removal.units.get(name, slice(None))] = True
        stay = stays.nonzero()[:, 0]
        self._resize(left, old[stay])
        follow(optimizer, {old: (self.theta, stay)})

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

                def mask_units(module, args, named, name=name, positions=positions):
                    x = args[0] if args else named["input"]
                    xi = self.xi[name].repeat_interleave(positions)
                    axes = 0 if isinstance(module, nn.Linear) else tensor_of(module).dim() - 2
                    return (x * xi.to(x.dtype).reshape(-1, *[1] * axes),), {}

                module = network.get_submodule(reader)
                self.handles.append(module.register_forward_pre_hook(mask_units, with_kwargs=True))
        for name in structure.blocks:

            def mask_block(module: nn.Module, args: tuple, output: Tensor, name=name) -> Tensor:
                return output * self.xi[name].to(output.dtype)

            self.handles.append(network.get_submodule(name).register_forward_hook(mask_block))

    def detach(self) -> None:
        """Remove the hooks."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()


def narrow_network(
    network: nn.Module, structure: Structure, removal: Removal, optimizer: torch.optim.Optimizer
) -> Structure:
    """Apply a removal to a network and to the optimiser of its weights, in place; the structure
    that is left."""
    old = dict(network.named_parameters(remove_duplicate=False))
    # After the same surgery, the network of flat indices says which entries are left (float64 holds
    # indices up to 2^53).
    indices = copy.deepcopy(network).double()
    for p in indices.parameters():
        p.copy_(torch.arange(p.numel(), dtype=p.dtype, device=p.device).reshape(p.shape))
    shrink(indices, structure, removal)
    left = shrink(network, structure, removal)
    moved: dict[Tensor, tuple[Tensor, Tensor] | None] = dict.fromkeys(old.values())
    entries = dict(indices.named_parameters(remove_duplicate=False))
    for name, p in network.named_parameters(remove_duplicate=False):
        moved[old[name]] = p, entries[name].detach().long()
    follow(optimizer, moved)
    return left


def follow(
    optimizer: torch.optim.Optimizer, moved: Mapping[Tensor, tuple[Tensor, Tensor] | None]
) -> None:
    """Narrow an optimiser, in place, to the parameters that are left and to their state.

    moved: for each old parameter the new one and the flat indices, in its shape, of its entries in
    the old one; None where the parameter is gone.
    """
    for group in optimizer.param_groups:
        left = (moved[p] for p in group["params"])
        group["params"] = [entries[0] for entries in left if entries is not None]
    for old in list(optimizer.state):
        state, entries = optimizer.state.pop(old), moved[old]
        if entries is None:
            continue
        new, index = entries
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

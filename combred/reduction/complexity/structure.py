"""The hidden units and residual blocks that training may remove, and their removal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.merge import Merge, apply_merge_in_place


class Zero(nn.Module):
    """Stands for a removed path: gives a scalar zero, or with `full` zeros like its input."""

    def __init__(self, full: bool = False):
        super().__init__()
        self.full = full

    def forward(self, x: Tensor) -> Tensor:
        """Zero."""
        return torch.zeros_like(x) if self.full else x.new_zeros(())


@dataclass(frozen=True)
class Block:
    """The nonlinear path of a residual block.

    name: its last module, whose output is added to the shortcut. modules: all that are used for
    this path alone. in_place: written as `path += shortcut`, so that a removed path has to give
    zeros of full shape.
    """

    name: str
    modules: tuple[str, ...]
    in_place: bool = False


@dataclass(frozen=True)
class Structure:
    """The layers that may lose units, the blocks that may be removed, and why others may not.

    A layer is named by its producer; the units of a sum of two layers (z of equation 1) by both
    producers, as "shortcut+path".
    """

    layers: dict[str, HiddenLayer]
    blocks: dict[str, Block]
    untouched: dict[str, str] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, int]:
        """Numbers of masks by name: the units of each layer, then one for each block."""
        return {n: layer.units for n, layer in self.layers.items()} | dict.fromkeys(self.blocks, 1)

    def only(self, prunes: str) -> "Structure":
        """The part whose "units" or "blocks" alone may be removed; the whole for "both"."""
        layers = {} if prunes == "blocks" else self.layers
        return Structure(layers, {} if prunes == "units" else self.blocks, self.untouched)

    def blocks_around(self, modules: Sequence[str]) -> list[str]:
        """The blocks that hold all of these modules, the innermost first."""
        blocks = [b for b in self.blocks.values() if set(modules) <= set(b.modules)]
        return [block.name for block in sorted(blocks, key=lambda block: len(block.modules))]

    def without(self, removed: Sequence[str]) -> "Structure":
        """The structure that is left without the paths of some blocks and all layers in them."""
        removed_modules = {module for name in removed for module in self.blocks[name].modules}
        layers, blocks = {}, {}
        for name, layer in self.layers.items():
            carriers = tuple(c for c in layer.carriers if c not in removed_modules)
            readers = tuple(r for r in layer.readers if r[0] not in removed_modules)
            if carriers:
                layers[name] = replace(layer, carriers=carriers, readers=readers)
        for name, block in self.blocks.items():
            if name not in removed_modules:
                modules = tuple(m for m in block.modules if m not in removed_modules)
                blocks[name] = replace(block, modules=modules)
        return Structure(layers, blocks, self.untouched)


@dataclass(frozen=True)
class Removal:
    """What is removed from a structure at once: of each layer all `units` but these, indices (k,)
    by name, where a layer without an entry stays whole; and `blocks`, by name."""

    units: Mapping[str, Tensor]
    blocks: Sequence[str]


def shrink(network: nn.Module, structure: Structure, removal: Removal) -> Structure:
    """Apply a removal to `network`, in place; the structure that is left.

    The network keeps its type and its forward. On a removed path nothing is computed: its modules
    pass on their input, and the last one gives zero.
    """
    for name in removal.blocks:
        remove_path(network, structure.blocks[name])
    left = structure.without(removal.blocks)
    layers = dict(left.layers)
    for name, layer in left.layers.items():
        indices = removal.units.get(name)
        if indices is not None and len(indices) < layer.units:
            apply_merge_in_place(network, layer, Merge.prune(indices, layer.units))
            layers[name] = replace(layer, units=len(indices))
    return replace(left, layers=layers)


def remove_path(network: nn.Module, block: Block) -> None:
    """Remove the path of a block from `network`, in place."""
    for name in block.modules:
        left = Zero(block.in_place) if name == block.name else nn.Identity()
        replace_module(network, name, left.train(network.training))


def replace_module(network: nn.Module, name: str, module: nn.Module) -> None:
    """Put a module in the place of another, in place."""
    parent, _, last = name.rpartition(".")
    setattr(network.get_submodule(parent), last, module)

"""What complexity-aware training may remove: hidden units and residual blocks, found by tracing.

Takes a network that torch.fx traces; gives its `Structure`, and the surgery that makes it smaller.
`gates` switches on and off what is in it, `expected_cost` says what that costs.
"""

import copy
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, fx, nn
from torch.fx.passes.shape_prop import ShapeProp

from combred.reduction import layers as known
from combred.reduction.layers import HiddenLayer, find_layers
from combred.reduction.merge import Merge, perform

PRODUCERS = (nn.Linear, *known.CONVOLUTIONS)
SUMS = (operator.add, torch.add, "add")
SUMS_IN_PLACE = (operator.iadd, "add_")
IN_PLACE = (operator.iadd, operator.isub, operator.imul, operator.itruediv)
ELEMENTWISE = (*known.HOMOGENEOUS, *known.BOUNDED, *known.LINEAR, *known.OTHER)
ELEMENTWISE_FUNCTIONS = {
    *known.HOMOGENEOUS_FUNCTIONS,
    *known.BOUNDED_FUNCTIONS,
    *known.LINEAR_FUNCTIONS,
    *known.OTHER_FUNCTIONS,
    *("relu", "tanh", "sigmoid"),
}


class Zero(nn.Module):
    """What is left of a removed path: a scalar zero, or with `full` zeros like its input x."""

    def __init__(self, full: bool = False):
        super().__init__()
        self.full = full

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x) if self.full else x.new_zeros(())


@dataclass(frozen=True)
class Block:
    """The nonlinear path of a residual block: its last module `name`, whose output is added to the
    shortcut, and all `modules` that are used for it alone."""

    name: str
    modules: tuple[str, ...]
    in_place: bool = False  # `path += shortcut`: a removed path must still give zeros of full shape


@dataclass(frozen=True)
class Structure:
    """Layers and blocks of a network that may lose units, or go, and why other things may not.

    A layer is named by its producer; the units of a sum of two layers (z of equation 1) by both, as
    "shortcut+path".
    """

    layers: dict[str, HiddenLayer]
    blocks: dict[str, Block]
    untouched: dict[str, str] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, int]:
        """Gates by name: one per unit of a layer, then one per block."""
        return {n: layer.units for n, layer in self.layers.items()} | dict.fromkeys(self.blocks, 1)

    def blocks_around(self, modules: Sequence[str]) -> list[str]:
        """The blocks that hold all of these modules, the innermost first."""
        found = [b for b in self.blocks.values() if set(modules) <= set(b.modules)]
        return [block.name for block in sorted(found, key=lambda block: len(block.modules))]

    def without(self, removed: Sequence[str]) -> "Structure":
        """The structure when the paths of some blocks, with all that is in them, are gone."""
        gone = {module for name in removed for module in self.blocks[name].modules}
        layers, blocks = {}, {}
        for name, layer in self.layers.items():
            carriers = tuple(c for c in layer.carriers if c not in gone)
            readers = tuple(r for r in layer.readers if r[0] not in gone)
            if carriers:
                layers[name] = replace(layer, carriers=carriers, readers=readers)
        for name, block in self.blocks.items():
            if name not in gone:
                modules = tuple(m for m in block.modules if m not in gone)
                blocks[name] = replace(block, modules=modules)
        return Structure(layers, blocks, self.untouched)


# -- surgery -------------------------------------------------------------------------------------


def shrink(
    network: nn.Module, structure: Structure, kept: Mapping[str, Tensor], removed: Sequence[str]
) -> Structure:
    """Take the paths of the blocks `removed`, and all units but `kept`, out of `network`, in place.

    kept: indices of units by layer; a layer without an entry stays whole. Returns the structure
    that is left. The network keeps its type and its forward; on a removed path nothing is computed:
    its modules pass on what they get, and the last gives zero.
    """
    for name in removed:
        _remove_path(network, structure.blocks[name])
    left = structure.without(removed)
    layers = dict(left.layers)
    for name, layer in left.layers.items():
        if name in kept and len(kept[name]) < layer.units:
            perform(network, layer, Merge.prune(kept[name], layer.units))
            layers[name] = replace(layer, units=len(kept[name]))
    return replace(left, layers=layers)


def _remove_path(network: nn.Module, block: Block) -> None:
    for name in block.modules:
        left = Zero(block.in_place) if name == block.name else nn.Identity()
        _exchange(network, name, left.train(network.training))


def _exchange(network: nn.Module, name: str, module: nn.Module) -> None:
    parent, _, last = name.rpartition(".")
    setattr(network.get_submodule(parent), last, module)


# -- finding it ----------------------------------------------------------------------------------


def find_structure(
    network: nn.Module, example_input: Tensor, blocks: Sequence[str] | None = None
) -> Structure:
    """The hidden layers and residual blocks of a network that runs on `example_input` (n, ...).

    A residual block is a sum of two values: one, the path, is the output of a module and has a
    hidden layer on its way; the other, the shortcut, has none since the sum before. blocks: names
    of the last modules of paths, or of containers that they end, in place of those that are found;
    () for none.

    Channels that an identity shortcut passes on are not touched, as in the paper's experiments
    (xi_2 = 1, section 5). Raises ValueError for a network that cannot be traced and for a name
    that is no path that can be removed, saying why.
    """
    trial = copy.deepcopy(network).eval()
    survey = find_layers(trial, example_input)
    graph = _Graph(trace(trial, example_input))
    layers = {layer.name: layer for layer in survey.layers if not layer.selects}
    streams = {layer.name: layer for layer in graph.streams()}
    joined = {name for layer in streams.values() for name in layer.carriers}
    untouched = {name: why for name, why in survey.untouched.items() if name not in joined}
    if blocks is None:
        paths = graph.paths(list(layers.values()))
    else:
        paths = [graph.named_path(name) for name in blocks]
    found = {}
    for path in paths:
        block, reason = graph.block(path)
        reason = reason or _fails_without(trial, block, example_input)
        if reason and blocks is not None:
            raise ValueError(f"the path that ends in {block.name} cannot be removed: {reason}")
        if reason:
            untouched[block.name] = f"as a residual path: {reason}"
        else:
            found[block.name] = block
    return Structure(layers | streams, found, untouched)


class _Tracer(fx.Tracer):
    def is_leaf_module(self, module: nn.Module, name: str) -> bool:
        return isinstance(module, known.ChannelSelection) or super().is_leaf_module(module, name)


def trace(network: nn.Module, example_input: Tensor) -> fx.GraphModule:
    """The graph of a network in eval mode, with the shapes that an input gives."""
    traced = fx.GraphModule(network, _Tracer().trace(network))
    with torch.no_grad():
        ShapeProp(traced).propagate(example_input)
    return traced


class _Graph:
    """The sums of a traced network, with shapes."""

    def __init__(self, traced: fx.GraphModule):
        self.nodes = list(traced.graph.nodes)
        self.modules = dict(traced.named_modules())
        self.calls = [node.target for node in self.nodes if node.op == "call_module"]
        owned = [id(p) for m in set(self.modules.values()) for p in m.parameters(recurse=False)]
        self.shared = {key for key in owned if owned.count(key) > 1}
        attributes = [node.target for node in self.nodes if node.op == "get_attr"]
        self.read_directly = {name.rpartition(".")[0] for name in attributes}

    def sums(self) -> Iterator[tuple[fx.Node, fx.Node, fx.Node]]:
        """(sum, one, other) of every addition of two values, in both orders."""
        for node in self.nodes:
            if node.target in SUMS + SUMS_IN_PLACE and len(node.args) == 2:
                if all(isinstance(value, fx.Node) for value in node.args):
                    yield node, *node.args
                    yield node, *reversed(node.args)

    def used_for(self, end: fx.Node, through_sums: bool = True) -> set[fx.Node]:
        """`end` and all that is used for it alone."""
        region = {end}
        for node in reversed(self.nodes[: self.nodes.index(end)]):
            stops = node.op == "placeholder"
            stops |= node.target in SUMS + SUMS_IN_PLACE and not through_sums
            if node.users and not stops and all(user in region for user in node.users):
                region.add(node)
        return region

    # -- blocks

    def paths(self, layers: list[HiddenLayer]) -> list[fx.Node]:
        """The last nodes of the nonlinear paths of residual blocks."""

        def nonlinear(region: set[fx.Node]) -> bool:
            names = {node.target for node in region if node.op == "call_module"}
            return any({n.name, *(r for r, _ in n.readers)} <= names for n in layers)

        found = []
        for _, path, shortcut in self.sums():
            if path.op != "call_module" or len(path.users) > 1:
                continue
            alone = len(shortcut.users) == 1 and shortcut.op != "placeholder"
            other = self.used_for(shortcut, through_sums=False) if alone else set()
            if nonlinear(self.used_for(path)) and not nonlinear(other):
                found.append(path)
        return found

    def named_path(self, name: str) -> fx.Node:
        """The last node of a module or container `name`; ValueError unless it is added."""
        inside = [n for n in self.nodes if n.op == "call_module"]
        inside = [n for n in inside if f"{n.target}.".startswith(f"{name}.")]
        if not inside:
            raise ValueError(f"no module {name!r} is called; modules are {', '.join(self.calls)}")
        added = any(path is inside[-1] for _, path, _ in self.sums())
        if not added or len(inside[-1].users) > 1:
            raise ValueError(
                f"the output of {inside[-1].target} is not added to another value, or not that "
                "alone; blocks= wants the module whose output is added to the shortcut"
            )
        return inside[-1]

    def block(self, path: fx.Node) -> tuple[Block, str]:
        """The block of a path, and why it cannot be removed, "" if it can."""
        region = self.used_for(path)
        modules = tuple(n.target for n in self.nodes if n in region and n.op == "call_module")
        (total,) = path.users
        in_place = total.target in SUMS_IN_PLACE and total.args[0] is path
        reason = ""
        if any(self.calls.count(name) > 1 for name in modules):
            reason = "one of its modules is used more than once"
        elif any(_works_in_place(node) for node in region):
            reason = "it holds an operation in place, which would change the shortcut's input"
        elif in_place:
            sources = {s for n in region for s in n.all_input_nodes if s not in region}
            if {_shape(source) for source in sources} != {_shape(path)}:
                reason = "`path += shortcut` where the path changes shape; write shortcut + path"
        return Block(path.target, modules, in_place), reason

    # -- units of sums

    def streams(self) -> Iterator[HiddenLayer]:
        """The units z of a sum of two linear or convolutional layers, W_2 and W_3 of equation 1:
        each has a row in both. Sums with an identity are none."""
        for node, one, other in self.sums():
            if one is not node.args[0] or node.target in SUMS_IN_PLACE:
                continue
            carriers, shape = [self.carriers_of(one), self.carriers_of(other)], _shape(node)
            if not all(carriers) or _shape(one) != _shape(other):
                continue
            linear = isinstance(self.modules[carriers[0][0]], nn.Linear)
            readers: list[tuple[str, int]] = []
            norms = self.read(node, readers, linear, len(node.users))
            if norms is None or not readers or (norms and linear and len(shape) != 2):
                continue
            yield HiddenLayer(
                "+".join(names[0] for names in carriers),
                shape[-1] if linear else shape[1],
                (*carriers[0], *carriers[1], *norms),
                tuple(readers),
                homogeneous=False,
                takes_offset=False,
                last_axis=linear and len(shape) != 2,
            )

    def carriers_of(self, node: fx.Node) -> list[str]:
        """Producer and batch norms that make a summand; [] where it is made otherwise."""
        names: list[str] = []
        while node.op == "call_module" and len(node.users) == 1 and self.is_plain(node.target):
            module = self.modules[node.target]
            names.insert(0, node.target)
            if isinstance(module, PRODUCERS):
                return names
            if not isinstance(module, known.NORMS):
                return []
            node = node.args[0]
        return []

    def read(self, node: fx.Node, readers: list, linear: bool, branches: int) -> list[str] | None:
        """Follow a sum to its readers; the batch norms on the way, None where others read it."""
        norms: list[str] = []
        for user in node.users:
            module = self.modules.get(user.target) if user.op == "call_module" else None
            if isinstance(module, PRODUCERS):
                if isinstance(module, nn.Linear) != linear or not self.is_plain(user.target):
                    return None
                readers.append((user.target, 1))
                continue
            if isinstance(module, known.NORMS) and branches == 1 and self.is_plain(user.target):
                norms.append(user.target)
            elif not (isinstance(module, ELEMENTWISE) or user.target in ELEMENTWISE_FUNCTIONS):
                return None
            further = self.read(user, readers, linear, max(branches, len(user.users)))
            if further is None:
                return None
            norms += further
        return norms

    def is_plain(self, name: str) -> bool:
        """Called once, not grouped, its weights its own and no function of others."""
        module = self.modules[name]
        own = [p for p in module.parameters(recurse=False) if id(p) not in self.shared]
        whole = len(own) == len(list(module.parameters(recurse=False)))
        weight = isinstance(getattr(module, "weight", None), nn.Parameter | None)
        once = self.calls.count(name) == 1 and name not in self.read_directly
        return once and whole and weight and getattr(module, "groups", 1) == 1


def _shape(node: fx.Node) -> tuple[int, ...]:
    return tuple(getattr(node.meta.get("tensor_meta"), "shape", ()))


def _works_in_place(node: fx.Node) -> bool:
    method = node.op == "call_method" and node.target.endswith("_")
    return method or node.target in IN_PLACE or bool(node.kwargs.get("inplace", False))


@torch.no_grad()
def _fails_without(network: nn.Module, block: Block, example_input: Tensor) -> str:
    """Take a path out of a network; where it then does not run, put it back and say why."""
    before = {name: network.get_submodule(name) for name in block.modules}
    shape = network(example_input).shape
    _remove_path(network, block)
    problem = "its output has another shape"
    try:
        if network(example_input).shape == shape:
            return ""
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        problem = str(error)
    for name, module in before.items():
        _exchange(network, name, module)
    return f"without it the network does not run ({problem})"

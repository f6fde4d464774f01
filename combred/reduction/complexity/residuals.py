"""The residual blocks and streams of a network, found as sums in its trace."""

import copy
import operator
from collections.abc import Iterator

import torch
from torch import Tensor, fx, nn

from combred.reduction.complexity.structure import Block, Structure, remove_path, replace_module
from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.layers import find_layers, make_layer
from combred.reduction.network.operations import NORMS, PRODUCERS
from combred.reduction.network.paths import NotReducible, Path, PathGraph
from combred.reduction.network.tracing import called
from combred.reduction.network.widths import width_readers

SUMS = (operator.add, torch.add, "add")
SUMS_IN_PLACE = (operator.iadd, "add_")
IN_PLACE = (operator.iadd, operator.isub, operator.imul, operator.itruediv)


def find_structure(network: nn.Module, example_input: Tensor) -> Structure:
    """The hidden layers and residual blocks of a network that runs on `example_input` (n, ...).

    A residual block is a sum of two values. One, the path, is the output of a module and contains
    a hidden layer; the other, the shortcut, contains none since the sum before it. Channels that an
    identity shortcut passes on are not masked, as in the paper's experiments (xi_2 = 1, section 5).
    """
    trial = copy.deepcopy(network).eval()
    survey = find_layers(trial, example_input)
    graph = _Sums(trial, example_input)
    layers = {layer.name: layer for layer in survey.layers if not layer.residual}
    streams = {layer.name: layer for layer in graph.streams()}
    wide = width_readers(trial, list(streams.values()), example_input)
    streams = {name: layer for name, layer in streams.items() if name not in wide}
    joined = {name for layer in streams.values() for name in layer.carriers}
    untouched = {name: why for name, why in survey.untouched.items() if name not in joined} | wide
    blocks = {}
    for path in graph.paths(list(layers.values())):
        block, reason = graph.block(path)
        reason = reason or _fails_without(trial, block, example_input)
        if reason:
            untouched[block.name] = f"as a residual path: {reason}"
        else:
            blocks[block.name] = block
    return Structure(layers | streams, blocks, untouched)


class _Sums(PathGraph):
    """The sums of a traced network, as residual blocks and as units of streams."""

    def sums(self) -> Iterator[tuple[fx.Node, fx.Node, fx.Node]]:
        """(sum, one, other) of every addition of two values, in both orders."""
        for node in self.nodes:
            if node.target in SUMS + SUMS_IN_PLACE and len(node.args) == 2:
                if all(isinstance(value, fx.Node) for value in node.args):
                    yield node, *node.args
                    yield node, *reversed(node.args)

    def used_for(self, end: fx.Node, through_sums: bool = True) -> set[fx.Node]:
        """`end` and all nodes that are used for it alone."""
        region = {end}
        for node in reversed(self.nodes[: self.nodes.index(end)]):
            stops = node.op == "placeholder"
            stops |= node.target in SUMS + SUMS_IN_PLACE and not through_sums
            if node.users and not stops and all(user in region for user in node.users):
                region.add(node)
        return region

    def paths(self, layers: list[HiddenLayer]) -> list[fx.Node]:
        """The last nodes of the nonlinear paths of residual blocks."""

        def nonlinear(region: set[fx.Node]) -> bool:
            names = {node.target for node in region if node.op == "call_module"}
            return any({n.name, *(r for r, _ in n.readers)} <= names for n in layers)

        branches = []
        for _, path, shortcut in self.sums():
            if path.op != "call_module" or len(path.users) > 1:
                continue
            alone = len(shortcut.users) == 1 and shortcut.op != "placeholder"
            elsewhere = self.used_for(shortcut, through_sums=False) if alone else set()
            if nonlinear(self.used_for(path)) and not nonlinear(elsewhere):
                branches.append(path)
        return branches

    def block(self, path: fx.Node) -> tuple[Block, str]:
        """The block of a path, and why it cannot be removed, "" if it can."""
        region = self.used_for(path)
        modules = tuple(called(n) for n in self.nodes if n in region and n.op == "call_module")
        (total,) = path.users
        in_place = total.target in SUMS_IN_PLACE and total.args[0] is path
        reason = ""
        if any(self.calls.count(name) > 1 for name in modules):
            reason = "one of its modules is used more than once"
        elif any(self.works_in_place(node, region) for node in region):
            reason = "it holds an operation in place, which would change the shortcut's input"
        return Block(called(path), modules, in_place), reason

    def works_in_place(self, node: fx.Node, region: set[fx.Node]) -> bool:
        """Whether a node may change a value from outside of a region."""
        if node.op == "call_module":
            in_place = getattr(self.modules[node.target], "inplace", False)
            return in_place and not region.issuperset(node.all_input_nodes)
        name = str(getattr(node.target, "__name__", node.target))
        return name.endswith("_") or node.target in IN_PLACE or bool(node.kwargs.get("inplace"))

    def streams(self) -> Iterator[HiddenLayer]:
        """The units z of each sum of two linear or convolutional layers, W_2 and W_3 of equation 1.

        A unit has a row in both layers. Sums with an identity have no such units.
        """
        for node, left, right in self.sums():
            if left is not node.args[0] or node.target in SUMS_IN_PLACE:
                continue
            carriers = [self.carriers_of(left), self.carriers_of(right)]
            if not all(carriers) or self.shape(left) != self.shape(right):
                continue
            shape, first = self.shape(node), self.modules[carriers[0][0]]
            path = Path(shape, isinstance(first, nn.Linear) and len(shape) != 2, sum(carriers, []))
            try:
                self.follow(node, path)
            except NotReducible:
                continue
            if path.readers and not path.depthwise:
                name = "+".join(names[0] for names in carriers)
                yield make_layer(name, path, homogeneous=False, takes_offset=False)

    def carriers_of(self, node: fx.Node) -> list[str]:
        """The producer and the batch norms that make a summand; [] where others make it."""
        names: list[str] = []
        while node.op == "call_module" and len(node.users) == 1:
            name = called(node)
            module = self.modules[name]
            if self.problem(name) or getattr(module, "groups", 1) > 1:
                return []
            names.insert(0, name)
            if isinstance(module, PRODUCERS):
                return names
            if not isinstance(module, NORMS):
                return []
            (node,) = node.all_input_nodes
        return []


@torch.no_grad()
def _fails_without(network: nn.Module, block: Block, example_input: Tensor) -> str:
    """Remove a path from a network; where it then does not run, put it back and say why."""
    before = {name: network.get_submodule(name) for name in block.modules}
    shape = network(example_input).shape
    remove_path(network, block)
    problem = "its output has another shape"
    try:
        if network(example_input).shape == shape:
            return ""
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        problem = str(error)
    for name, module in before.items():
        replace_module(network, name, module)
    return f"without it the network does not run ({problem})"

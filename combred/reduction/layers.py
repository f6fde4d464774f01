"""What feeds what: the hidden layers of a network, found by tracing it with torch.fx.

Takes any traceable `nn.Module` and one example input; gives, for each layer whose units may be
merged, its carriers (the modules that hold one row per unit) and its readers, and for every other
layer the reason why it is left alone. Nothing here changes the network.
"""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor, fx, nn

from combred.reduction.operations import (
    BOUNDED,
    BOUNDED_FUNCTIONS,
    CONVOLUTIONS,
    HOMOGENEOUS,
    HOMOGENEOUS_FUNCTIONS,
    JOINS,
    LINEAR,
    LINEAR_FUNCTIONS,
    NORMS,
    OTHER,
    OTHER_FUNCTIONS,
    PARAMETRIC,
    POOL_FUNCTIONS,
    POOLS,
    PRODUCERS,
    ChannelSelection,
)
from combred.reduction.tracing import Traced


@dataclass(frozen=True)
class HiddenLayer:
    """One set of units that may be merged.

    name: its producer, the linear or convolutional layer that makes the units (for `selects`: the
    batch norm that reads a residual stream). units: how many it had when it was found. carriers:
    the modules with one row per unit, producer first, then batch norms and depthwise layers in the
    order of the data. readers: (name, positions): the linear and convolutional layers that read it;
    `positions` entries per unit of a linear reader's input.
    """

    name: str
    units: int
    carriers: tuple[str, ...]
    readers: tuple[tuple[str, int], ...]
    norm: str = ""  # the batch norm right behind the producer, "" if none
    depthwise: str = ""  # the depthwise convolution on the way, "" if none
    homogeneous: bool = True  # sigma(c x) = c sigma(x) from the producer's output to the readers
    bounded: bool = False  # ReLU6 on the way: homogeneous below 6 alone
    # the first on the way: "" (none), "relu" (or ReLU6), "leaky", "other" (or not one for all)
    activation: str = ""
    takes_offset: bool = True  # no reader or pooling pads with zeros
    selects: bool = False  # units of a residual stream, to be chosen by a `ChannelSelection`
    last_axis: bool = False  # units lie on the last axis (linear layers), not on axis 1


@dataclass(frozen=True)
class Survey:
    """The hidden layers of a network, in the order of the data, and why others are left alone."""

    layers: list[HiddenLayer]
    untouched: dict[str, str]  # layer name -> reason

    def __getitem__(self, name: str | int) -> HiddenLayer:
        """A layer by name, or by number: 1 is the first. ValueError says why it is none."""
        by_name = {layer.name: layer for layer in self.layers}
        if isinstance(name, int):
            hidden = [layer for layer in self.layers if not layer.selects]
            if 1 <= name <= len(hidden):
                return hidden[name - 1]
            raise ValueError(
                f"layer {name} cannot be reduced: this network has hidden layers 1 to "
                f"{len(hidden)} ({', '.join(layer.name for layer in hidden)}); the output layer is "
                "never reduced"
            )
        if name in by_name:
            return by_name[name]
        if name in self.untouched:
            raise ValueError(f"layer {name} cannot be reduced: {self.untouched[name]}")
        raise ValueError(f"there is no layer {name!r}; hidden layers are {', '.join(by_name)}")


class _Untouchable(Exception):
    """Why a layer is left alone."""


@dataclass
class _Path:
    """What was met between a producer and its readers."""

    shape: tuple[int, ...]
    last_axis: bool
    carriers: list[str] = field(default_factory=list)
    readers: list[tuple[str, int]] = field(default_factory=list)
    norm: str = ""
    depthwise: str = ""
    homogeneous: bool = True
    bounded: bool = False
    activation: str = ""
    takes_offset: bool = True
    branches: int = 1
    folds: bool = True  # a batch norm here could be folded into the weights before it
    splits: bool = False  # into branches, before an activation

    @property
    def units(self) -> int:
        return self.shape[-1] if self.last_axis else self.shape[1]


def find_layers(network: nn.Module, example_input: Tensor) -> Survey:
    """The hidden layers of `network`, by tracing it and running it once on an input (n, ...).

    Raises ValueError where torch.fx cannot trace it, or where it does not run on the example.
    """
    graph = _Graph(network, example_input)
    layers, untouched = [], {}
    for node in graph.nodes:
        if node.op != "call_module":
            continue
        module = graph.modules[node.target]
        produces = isinstance(module, PRODUCERS)
        selects = isinstance(module, NORMS) and graph.reads_residual_stream(node)
        if (produces and not graph.is_depthwise(node)) or selects:
            try:
                layers.append(graph.hidden_layer(node, selects))
            except _Untouchable as reason:
                if produces:
                    untouched[node.target] = str(reason)
        elif isinstance(module, PARAMETRIC):
            untouched[node.target] = f"{type(module).__name__} is not supported"
    carried = {name for layer in layers for name in layer.carriers}
    for node in graph.nodes:
        if graph.is_depthwise(node) and node.target not in carried:
            untouched[node.target] = "depthwise convolution of units that are left alone"
    called = {node.target for node in graph.nodes if node.op == "call_module"}
    for name, module in network.named_modules():
        if isinstance(module, PRODUCERS) and name not in called:
            untouched[name] = "the forward does not call it as a module"
    return Survey(layers, untouched)


class _Graph(Traced):
    """A traced network, and the walk from each producer to its readers."""

    def shape(self, node: fx.Node) -> tuple[int, ...]:
        shape = super().shape(node)
        if shape is None:
            raise _Untouchable(f"{node.name} gives no single tensor")
        return shape

    def reads_residual_stream(self, node: fx.Node) -> bool:
        """A batch norm on a sum, or on a value that others read too: a pre-activation block's."""
        source = node.args[0] if node.args else None
        if not isinstance(source, fx.Node):
            return False
        if source.op == "call_module" and isinstance(self.modules[source.target], ChannelSelection):
            return True
        joined = source.op == "call_function" and source.target in JOINS
        return joined or sum(not _reads_shape(user) for user in source.users) > 1

    def require_plain(self, name: str) -> nn.Module:
        """The module, if its weights may be exchanged."""
        if problem := self.problem(name):
            raise _Untouchable(problem)
        return self.modules[name]

    def hidden_layer(self, node: fx.Node, selects: bool) -> HiddenLayer:
        module = self.require_plain(node.target)
        if getattr(module, "groups", 1) > 1:
            raise _Untouchable("grouped convolution")
        shape = self.shape(node)
        linear = isinstance(module, nn.Linear)
        path = _Path(shape, linear and len(shape) != 2, [node.target])
        if isinstance(module, CONVOLUTIONS) and len(shape) != module.weight.dim():
            raise _Untouchable(f"its output {shape} has no batch axis; give an example (n, ...)")
        if selects:
            if not module.affine:
                raise _Untouchable(f"{node.target} has no gamma and beta")
            path.norm, path.folds = node.target, False
        self.follow(node, path)
        if not path.readers:
            raise _Untouchable("nothing reads it")
        if selects and not path.activation:
            raise _Untouchable("no activation behind the batch norm")
        return HiddenLayer(
            node.target,
            path.units,
            tuple(path.carriers),
            tuple(path.readers),
            path.norm,
            path.depthwise,
            path.homogeneous,
            path.bounded,
            "other" if path.splits and path.activation else path.activation,
            path.takes_offset,
            selects,
            path.last_axis,
        )

    def follow(self, node: fx.Node, path: _Path) -> None:
        """Walk from a value to all that read it; `path` collects what is met."""
        users = [user for user in node.users if not _reads_shape(user)]
        path.branches = max(path.branches, len(users))
        path.splits = path.splits or len(users) > 1 and not path.activation
        for user in users:
            if user.op == "output":
                raise _Untouchable("its units are the network's output")
            if user.op == "call_module":
                self.pass_module(node, user, path)
            else:
                self.pass_function(node, user, path)

    def pass_module(self, node: fx.Node, user: fx.Node, path: _Path) -> None:
        module, name = self.modules[user.target], user.target
        if isinstance(module, PRODUCERS) and not self.is_depthwise(user):
            self.read(node, user, path)
            return
        if isinstance(module, NORMS) or self.is_depthwise(user):
            self.require_plain(name)
            if isinstance(module, NORMS) and path.last_axis:
                raise _Untouchable(f"{name} normalises another axis")
            if len(self.shape(node)) != len(path.shape):
                raise _Untouchable(f"{name} follows a flatten")
            if path.branches > 1:
                raise _Untouchable(f"{name} is on one of several branches")
            if self.is_depthwise(user):
                if path.depthwise:
                    raise _Untouchable("two depthwise convolutions in a row")
                path.depthwise = name
            elif not path.folds:
                path.homogeneous = False  # affine, and not part of the weights before it
            elif not path.depthwise:
                path.norm = name
            path.folds = self.is_depthwise(user)
            path.carriers.append(name)
        elif isinstance(module, POOLS):
            self.pool(user, path, getattr(module, "padding", 0), module)
        elif isinstance(module, nn.Flatten):
            self.flatten(node, user, path)
        elif not self.activate(path, module, (HOMOGENEOUS, BOUNDED, LINEAR, OTHER), isinstance):
            if isinstance(module, nn.PReLU) and module.num_parameters == 1:
                path.activation, path.folds = path.activation or "leaky", False
            else:
                raise _Untouchable(f"{type(module).__name__} ({name}) is not supported")
        self.follow(user, path)

    def pass_function(self, node: fx.Node, user: fx.Node, path: _Path) -> None:
        name = user.target if user.op == "call_method" else getattr(user.target, "__name__", "")
        kinds = (HOMOGENEOUS_FUNCTIONS, BOUNDED_FUNCTIONS, LINEAR_FUNCTIONS, OTHER_FUNCTIONS)
        if name in ("add", "iadd", "add_", "sub"):
            raise _Untouchable("its units are added to others: a residual sum")
        if name in ("cat", "concat", "stack"):
            raise _Untouchable("its units are concatenated with others")
        if name in ("mul", "imul", "mul_", "truediv", "matmul"):
            raise _Untouchable("its units are multiplied with others")
        if user.op == "call_method":
            found = {"relu": torch.relu, "relu_": torch.relu, "tanh": torch.tanh}
            found |= {"sigmoid": torch.sigmoid}
            if name in found:
                self.activate(path, found[name], kinds, _is_in)
            elif name in ("flatten", "view", "reshape", "squeeze"):
                self.flatten(node, user, path)
            elif name == "mean":
                self.pool(user, path, 0, None)
            elif name != "contiguous":
                raise _Untouchable(f"the operation {name} is not supported")
        elif user.target in (torch.flatten, torch.reshape, torch.squeeze):
            self.flatten(node, user, path)
        elif user.target in POOL_FUNCTIONS:
            self.pool(user, path, user.kwargs.get("padding", _argument(user, 3, 0)), None)
        elif not self.activate(path, user.target, kinds, _is_in):
            raise _Untouchable(f"the operation {name} is not supported")
        self.follow(user, path)

    def activate(self, path: _Path, what, kinds, matches) -> bool:
        """Note an elementwise operation on the path; False where it is none of those known."""
        homogeneous, bounded, linear, other = (matches(what, kind) for kind in kinds)
        other = other and not bounded  # a ReLU6 is a Hardtanh
        if other:
            path.homogeneous, path.activation = False, "other"
        elif homogeneous or bounded:
            leaky = "leaky" in getattr(what, "__name__", type(what).__name__).lower()
            path.activation = path.activation or ("leaky" if leaky else "relu")
            path.bounded = path.bounded or bounded
        path.folds = path.folds and not (homogeneous or bounded or other)
        return homogeneous or bounded or linear or other

    def pool(self, user: fx.Node, path: _Path, padding, module) -> None:
        """Pooling keeps units apart and is positively homogeneous; average pooling over padding
        makes a constant less than constant."""
        units, shape = path.units, self.shape(user)
        axis = len(shape) - 1 if path.last_axis else 1
        if len(shape) <= axis or shape[axis] != units or path.last_axis:
            raise _Untouchable(f"{user.name} mixes units")
        name = type(module).__name__ if module is not None else user.name
        if "mean" in name and not _keeps_units(user, len(self.shape(user.args[0]))):
            raise _Untouchable(f"{user.name} mixes units")
        padded = "avg" in name.lower() and any(_as_tuple(padding))
        path.takes_offset = path.takes_offset and not padded
        path.folds = path.folds and not padded and "max" not in name.lower()

    def flatten(self, node: fx.Node, user: fx.Node, path: _Path) -> None:
        """(n, units, ...) -> (n, units * positions), unit by unit."""
        before, after = self.shape(node), self.shape(user)
        if path.last_axis or after != (before[0], math.prod(before[1:])) and after != before:
            raise _Untouchable(f"{user.name} reshapes {before} to {after}")

    def read(self, node: fx.Node, user: fx.Node, path: _Path) -> None:
        """A linear or convolutional layer reads the value of `node`."""
        module, name, shape = self.require_plain(user.target), user.target, self.shape(node)
        if isinstance(module, nn.Linear):
            if not path.last_axis and len(shape) != 2:
                raise _Untouchable(f"{name} reads positions, not units")
            path.readers.append((name, shape[-1] // path.units))
            return
        if module.groups > 1:
            raise _Untouchable(f"{name}, which reads it, is a grouped convolution")
        if path.last_axis or shape[1] != path.units:
            raise _Untouchable(f"{name} reads positions, not units")
        path.readers.append((name, 1))
        if module.padding_mode == "zeros" and (
            module.padding == "same" or module.padding != "valid" and any(module.padding)
        ):
            path.takes_offset = False


def _reads_shape(node: fx.Node) -> bool:
    if node.op == "call_method":
        return node.target in ("size", "dim")
    reads = node.op == "call_function" and node.target is getattr
    return reads and node.args[1] in ("shape", "ndim", "dtype", "device")


def _is_in(what, kind) -> bool:
    return what in kind


def _argument(node: fx.Node, index: int, default):
    return node.args[index] if len(node.args) > index else default


def _keeps_units(mean: fx.Node, axes: int) -> bool:
    """A mean over none of the first two of some axes."""
    over = mean.kwargs.get("dim", _argument(mean, 1, None))
    return bool(over) and all(axis % axes > 1 for axis in _as_tuple(over))


def _as_tuple(padding) -> tuple:
    return tuple(padding) if isinstance(padding, (tuple, list)) else (padding,)

"""The way from the layer that computes units to the layers that read them.

`PathGraph.follow` walks along the data from a producer to all readers and notes in a `Path` what is
met: batch norms, depthwise convolutions, activations, pooling, flattening. `layers` makes hidden
layers of the paths.
"""

import math
from dataclasses import dataclass, field

from torch import fx, nn

from combred.reduction.network.operations import (
    CONVOLUTIONS,
    FLATTENING,
    MIXING,
    NORMS,
    POOL_FUNCTIONS,
    POOLS,
    PRODUCERS,
    effect,
)
from combred.reduction.network.tracing import Traced, called


class NotReducible(Exception):
    """Why a layer is left alone: an operation mixes its units with others."""


@dataclass
class Path:
    """The operations between a producer and its readers, as far as the walk has come.

    shape: of the producer's output, units on axis 1 or, with `last_axis`, on the last. The other
    fields up to takes_offset are those of `HiddenLayer`, which is made of them.
    """

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
    branches: int = 1  # the largest number of modules and functions that read one value
    folds: bool = True  # a batch norm met next can be folded into the weights before it
    splits: bool = False  # the data branch before the first activation

    @property
    def units(self) -> int:
        """Number of units."""
        return self.shape[-1] if self.last_axis else self.shape[1]


class PathGraph(Traced):
    """A traced network, and the walk along the data from a producer to its readers."""

    def shape(self, node: fx.Node) -> tuple[int, ...]:
        """Shape of a value; raises NotReducible where it is no single tensor."""
        shape = super().shape(node)
        if shape is None:
            raise NotReducible(f"{node.name} gives no single tensor")
        return shape

    def require_plain(self, name: str) -> nn.Module:
        """The module of a name; raises NotReducible where its weights cannot be replaced."""
        if problem := self.problem(name):
            raise NotReducible(problem)
        return self.modules[name]

    def follow(self, node: fx.Node, path: Path) -> None:
        """Walk from a value on to every layer that reads it, and note in `path` what is met."""
        users = [user for user in node.users if not reads_shape(user)]
        path.branches = max(path.branches, len(users))
        path.splits = path.splits or len(users) > 1 and not path.activation
        for user in users:
            if user.op == "output":
                raise NotReducible("its units are the network's output")
            self.pass_on(node, user, path)

    def pass_on(self, node: fx.Node, user: fx.Node, path: Path) -> None:
        """Go on through the operation `user` that reads the value of `node`, or end at a reader."""
        operation: object = user.target
        name = str(getattr(operation, "__name__", operation))
        if user.op == "call_module":
            operation = self.modules[called(user)]
            name = type(operation).__name__
        if name in MIXING and len(user.all_input_nodes) > 1:
            raise NotReducible(MIXING[name])
        if isinstance(operation, NORMS) or self.is_depthwise(user):
            self.carry(node, user, path)
        elif isinstance(operation, PRODUCERS):
            return self.read(node, user, path)
        elif user.op == "call_module" and (problem := self.altered(called(user))):
            raise NotReducible(problem)
        elif isinstance(operation, POOLS) or operation in POOL_FUNCTIONS:
            self.pool(user, path, name.lower())
        elif isinstance(operation, nn.Flatten) or operation in FLATTENING:
            self.flatten(node, user, path)
        elif isinstance(operation, nn.PReLU) and operation.num_parameters == 1:
            path.activation, path.folds = path.activation or "leaky", False
        elif operation != "contiguous" and not self.activate(path, operation):
            where = f" ({user.target})" if user.op == "call_module" else ""
            raise NotReducible(f"{name}{where} is not supported")
        self.follow(user, path)

    def carry(self, node: fx.Node, user: fx.Node, path: Path) -> None:
        """Note a batch norm or a depthwise convolution: it holds one row per unit."""
        name = called(user)
        module = self.require_plain(name)
        if isinstance(module, NORMS) and path.last_axis:
            raise NotReducible(f"{name} normalises another axis")
        if len(self.shape(node)) != len(path.shape):
            raise NotReducible(f"{name} follows a flatten")
        if path.branches > 1:
            raise NotReducible(f"{name} is on one of several branches")
        if self.is_depthwise(user):
            if path.depthwise:
                raise NotReducible("two depthwise convolutions in a row")
            path.depthwise = name
        elif not path.folds:
            path.homogeneous = False  # affine, and not part of the weights before it
        elif not path.depthwise:
            path.norm = name
        path.folds = self.is_depthwise(user)
        path.carriers.append(name)

    def activate(self, path: Path, operation) -> bool:
        """Note an elementwise module or function on the path; False where it is not a known one."""
        kind = effect(operation)
        if kind == "other":
            path.homogeneous, path.activation = False, "other"
        elif kind in ("homogeneous", "bounded"):
            leaky = "leaky" in getattr(operation, "__name__", type(operation).__name__).lower()
            path.activation = path.activation or ("leaky" if leaky else "relu")
            path.bounded = path.bounded or kind == "bounded"
        path.folds = path.folds and kind in ("linear", "")
        return bool(kind)

    def pool(self, user: fx.Node, path: Path, name: str) -> None:
        """Note a pooling: it keeps units apart and is positively homogeneous. An average over zero
        padding, or by another divisor, does not keep a constant constant."""
        shape, dims = self.shape(user), [2]
        if name == "mean":  # over none of the first two axes, rows and units
            axes = len(self.shape(user.all_input_nodes[0]))
            dims = [axis % axes for axis in _as_tuple(_argument(user, 1, "dim", 0) or 0)]
        elif f"{len(shape) - 2}d" not in name:  # without a batch axis, the rows are its channels
            dims = [1]
        if path.last_axis or shape[1:2] != (path.units,) or min(dims) < 2:
            raise NotReducible(f"{name} mixes units")
        module = self.modules[called(user)] if user.op == "call_module" else None
        padding = getattr(module, "padding", _argument(user, 3, "padding", 0))
        divisor = getattr(module, "divisor_override", _argument(user, 6, "divisor_override", None))
        shifts = "avg" in name and (any(_as_tuple(padding)) or divisor is not None)
        path.takes_offset = path.takes_offset and not shifts
        path.folds = path.folds and not shifts and "max" not in name

    def flatten(self, node: fx.Node, user: fx.Node, path: Path) -> None:
        """Go on through a flatten, (n, units, ...) -> (n, units * positions), unit by unit."""
        before, shape = self.shape(node), self.shape(user)
        if path.last_axis or shape != (before[0], math.prod(before[1:])) and shape != before:
            raise NotReducible(f"{user.name} reshapes {before} to {shape}")

    def read(self, node: fx.Node, user: fx.Node, path: Path) -> None:
        """Note a linear or convolutional layer that reads the value of `node`."""
        name, shape = called(user), self.shape(node)
        module = self.require_plain(name)
        if isinstance(module, nn.Linear):
            if not path.last_axis and len(shape) != 2:
                raise NotReducible(f"{name} reads positions, not units")
            path.readers.append((name, shape[-1] // path.units))
            return
        if not isinstance(module, CONVOLUTIONS) or module.groups > 1:
            raise NotReducible(f"{name}, which reads it, is a grouped convolution")
        if path.last_axis or shape[1] != path.units:
            raise NotReducible(f"{name} reads positions, not units")
        path.readers.append((name, 1))
        if module.padding_mode == "zeros" and (
            module.padding == "same" or module.padding != "valid" and any(module.padding)
        ):
            path.takes_offset = False


def reads_shape(node: fx.Node) -> bool:
    """Whether a node asks for a tensor's shape, type or device, not for its values."""
    if node.op == "call_method":
        return node.target in ("size", "dim")
    reads = node.op == "call_function" and node.target is getattr
    return reads and node.args[1] in ("shape", "ndim", "dtype", "device")


def _argument(node: fx.Node, index: int, name: str, default: int | None) -> object:
    """An argument of a call, by position or by name, or its default."""
    return node.args[index] if len(node.args) > index else node.kwargs.get(name, default)


def _as_tuple(value: object) -> tuple:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)

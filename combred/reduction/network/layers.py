"""Which layers of a network may be reduced: its hidden layers, found by tracing it with torch.fx.

`find_layers` takes any traceable `nn.Module` and an example input; it gives a `Survey`: each layer
whose units may be merged, with its carriers and readers (`paths` walks from one to the other), and
for every other layer the reason why it is left alone.
"""

from dataclasses import dataclass, fields

from torch import Tensor, fx, nn

from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.operations import (
    CONVOLUTIONS,
    JOINS,
    NORMS,
    PARAMETRIC,
    PRODUCERS,
    ChannelSelection,
)
from combred.reduction.network.paths import NotReducible, Path, PathGraph, reads_shape
from combred.reduction.network.tracing import batch_of, called, own_copy
from combred.reduction.network.widths import width_readers


@dataclass(frozen=True)
class Survey:
    """The hidden layers of a network, in the order of the data, and why others are left alone."""

    layers: list[HiddenLayer]
    untouched: dict[str, str]  # layer name -> reason

    def __getitem__(self, name: str | int) -> HiddenLayer:
        """A layer by name, or by number (1 is the first; residual layers have none)."""
        numbered = [layer for layer in self.layers if not layer.residual]
        hidden = [layer.name for layer in numbered]
        by_name: dict[str | int, HiddenLayer] = {layer.name: layer for layer in self.layers}
        by_name |= dict(enumerate(numbered, start=1))
        if name in by_name:
            return by_name[name]
        if reason := self.untouched.get(str(name)):
            raise ValueError(f"layer {name} cannot be reduced: {reason}")
        raise ValueError(
            f"there is no layer {name!r}; hidden layers, from 1 on, are {', '.join(hidden)}; the "
            "output layer is never reduced"
        )


def find_layers(network: nn.Module, example_input: Tensor) -> Survey:
    """The hidden layers of `network`, by tracing it and running it on an input (n, ...)."""
    network, example_input = own_copy(network), batch_of(network, example_input)
    graph = PathGraph(network, example_input)
    layers, untouched = [], {}
    for node in graph.nodes:
        if node.op != "call_module":
            continue
        module = graph.modules[node.target]
        produces = isinstance(module, PRODUCERS)
        residual = isinstance(module, NORMS) and _reads_residual_stream(graph, node)
        if (produces and not graph.is_depthwise(node)) or residual:
            try:
                layers.append(_hidden_layer(graph, node, residual))
            except NotReducible as reason:
                if produces:
                    untouched[node.target] = str(reason)
        elif isinstance(module, PARAMETRIC):
            untouched[node.target] = f"{type(module).__name__} is not supported"
        elif "quantized" in type(module).__module__:
            untouched[node.target] = "its weights are quantised: reduce the network before"
    untouched |= width_readers(network, layers, example_input)
    layers = [layer for layer in layers if layer.name not in untouched]
    carried = {name for layer in layers for name in layer.carriers}
    for node in graph.nodes:
        if graph.is_depthwise(node) and node.target not in carried:
            untouched[node.target] = "depthwise convolution of units that are left alone"
    if isinstance(network, PRODUCERS):
        untouched[type(network).__name__] = "its units are the network's output"
    for name, module in network.named_modules():
        if name and isinstance(module, PRODUCERS) and name not in graph.calls:
            untouched[name] = "the forward does not call it as a module"
    return Survey(layers, untouched)


def _hidden_layer(graph: PathGraph, node: fx.Node, residual: bool) -> HiddenLayer:
    """The hidden layer that starts at a producer, or at the batch norm of a residual stream.

    Raises NotReducible, with the reason, where its units cannot be merged.
    """
    name = called(node)
    module = graph.require_plain(name)
    if getattr(module, "groups", 1) > 1:
        raise NotReducible("grouped convolution")
    shape = graph.shape(node)
    linear = isinstance(module, nn.Linear)
    path = Path(shape, linear and len(shape) != 2, [name])
    if isinstance(module, CONVOLUTIONS) and len(shape) != module.weight.dim():
        raise NotReducible(f"its output {shape} has no batch axis; give an example (n, ...)")
    if residual:
        if not module.affine:
            raise NotReducible(f"{name} has no gamma and beta")
        path.norm, path.folds = name, False
    if not path.units:
        raise NotReducible("it has no units")
    graph.follow(node, path)
    if not path.readers:
        raise NotReducible("nothing reads it")
    if residual and not path.activation:
        raise NotReducible("no activation behind the batch norm")
    return make_layer(name, path, residual=residual)


def make_layer(name: str, path: Path, **fields_of_layer) -> HiddenLayer:
    """The hidden layer of a path; `other` fields take the place of those of the path."""
    values = {f.name: getattr(path, f.name) for f in fields(HiddenLayer) if hasattr(path, f.name)}
    values |= {"name": name, "carriers": tuple(path.carriers), "readers": tuple(path.readers)}
    if path.splits and path.activation:
        values["activation"] = "other"
    return HiddenLayer(**values | fields_of_layer)


def _reads_residual_stream(graph: PathGraph, node: fx.Node) -> bool:
    """Whether a batch norm reads a sum, or a value that others read too, as the first one of a
    pre-activation block does."""
    source = node.args[0] if node.args else None
    if not isinstance(source, fx.Node):
        return False
    if source.op == "call_module" and isinstance(graph.modules[source.target], ChannelSelection):
        return True
    joined = source.op == "call_function" and source.target in JOINS
    return joined or sum(not reads_shape(user) for user in source.users) > 1

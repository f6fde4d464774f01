"""Which layers of a network may be reduced: its hidden layers, found by tracing it with torch.fx.

Takes any traceable `nn.Module` and one example input; gives a `Survey`: each layer whose units may
be merged, with its carriers and readers (`paths` walks from one to the other), and for every other
layer the reason why it is left alone. Nothing here changes the network.
"""

from torch import Tensor, fx, nn

from combred.reduction.network.layers import HiddenLayer, Survey
from combred.reduction.network.operations import (
    CONVOLUTIONS,
    JOINS,
    NORMS,
    PARAMETRIC,
    PRODUCERS,
    ChannelSelection,
)
from combred.reduction.network.paths import NotReducible, Path, PathGraph, reads_shape


def find_layers(network: nn.Module, example_input: Tensor) -> Survey:
    """The hidden layers of `network`, by tracing it and running it once on an input (n, ...).

    Raises ValueError where torch.fx cannot trace it, or where it does not run on the example.
    """
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
    carried = {name for layer in layers for name in layer.carriers}
    for node in graph.nodes:
        if graph.is_depthwise(node) and node.target not in carried:
            untouched[node.target] = "depthwise convolution of units that are left alone"
    called = {node.target for node in graph.nodes if node.op == "call_module"}
    for name, module in network.named_modules():
        if isinstance(module, PRODUCERS) and name not in called:
            untouched[name] = "the forward does not call it as a module"
    return Survey(layers, untouched)


def _hidden_layer(graph: PathGraph, node: fx.Node, residual: bool) -> HiddenLayer:
    """The hidden layer that starts at a producer, or at the batch norm of a residual stream.

    Raises NotReducible, with the reason, where its units cannot be merged.
    """
    module = graph.require_plain(node.target)
    if getattr(module, "groups", 1) > 1:
        raise NotReducible("grouped convolution")
    shape = graph.shape(node)
    linear = isinstance(module, nn.Linear)
    path = Path(shape, linear and len(shape) != 2, [node.target])
    if isinstance(module, CONVOLUTIONS) and len(shape) != module.weight.dim():
        raise NotReducible(f"its output {shape} has no batch axis; give an example (n, ...)")
    if residual:
        if not module.affine:
            raise NotReducible(f"{node.target} has no gamma and beta")
        path.norm, path.folds = node.target, False
    graph.follow(node, path)
    if not path.readers:
        raise NotReducible("nothing reads it")
    if residual and not path.activation:
        raise NotReducible("no activation behind the batch norm")
    same = ("norm", "depthwise", "homogeneous", "bounded", "takes_offset", "last_axis")
    return HiddenLayer(
        node.target,
        path.units,
        tuple(path.carriers),
        tuple(path.readers),
        activation="other" if path.splits and path.activation else path.activation,
        residual=residual,
        **{name: getattr(path, name) for name in same},
    )


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

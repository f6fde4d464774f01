"""A network as torch.fx traces it, and `evaluation`, the mode in which networks are run."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, fx, nn
from torch.fx.passes.shape_prop import ShapeProp

from combred.reduction.network.operations import CONVOLUTIONS, NORMS, ChannelSelection


@contextmanager
def evaluation(network: nn.Module) -> Iterator[None]:
    """Evaluation mode inside a with statement; afterwards every module has the mode it had."""
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def batch_of(network: nn.Module, x: Tensor) -> Tensor:
    """Inputs x (n, ...), a single one twice where a batch norm takes its statistics from the batch,
    which one row does not allow."""
    by_batch = any(isinstance(m, NORMS) and m.running_mean is None for m in network.modules())
    return torch.cat([x, x]) if by_batch and len(x) == 1 else x


def called(node: fx.Node) -> str:
    """The name of the module, method or attribute that a node takes."""
    if not isinstance(node.target, str):
        raise TypeError(f"{node.name} calls the function {node.target}, no module")
    return node.target


class _Tracer(fx.Tracer):
    """Keeps a `ChannelSelection` as one call."""

    def is_leaf_module(self, module: nn.Module, name: str) -> bool:
        return isinstance(module, ChannelSelection) or super().is_leaf_module(module, name)


class Traced:
    """The torch.fx graph of a network in evaluation mode.

    nodes: in the order of the data, with shapes. modules: by name. calls: the names of the modules
    that are called, in order, once for each call. shared: ids of the parameters that several
    modules hold. read_directly: names of modules whose parameters are read outside of them.
    """

    def __init__(self, network: nn.Module, example_input: Tensor):
        """Trace a network and run it once on inputs (n, ...).

        Raises ValueError where torch.fx cannot trace it, or where it does not run on the input.
        """
        example_input = batch_of(network, example_input)
        with evaluation(network), torch.no_grad():
            try:
                network(example_input)
            except Exception as error:
                raise ValueError(
                    f"{type(network).__name__} does not run on an example_input of shape "
                    f"{tuple(example_input.shape)}: {error}"
                ) from error
            try:
                traced = fx.GraphModule(network, _Tracer().trace(network))
            except Exception as error:
                raise ValueError(
                    f"{type(network).__name__} cannot be traced by torch.fx ({error}). Its forward "
                    "must not branch on values of tensors; reduce the traceable part of it instead."
                ) from error
            ShapeProp(traced).propagate(example_input)
        self.nodes = list(traced.graph.nodes)
        self.modules = dict(traced.named_modules())
        self.calls = [node.target for node in self.nodes if node.op == "call_module"]
        owned = [id(p) for m in set(self.modules.values()) for p in m.parameters(recurse=False)]
        self.shared = {key for key in owned if owned.count(key) > 1}
        attributes = [node.target for node in self.nodes if node.op == "get_attr"]
        self.read_directly = {name.rpartition(".")[0] for name in attributes}

    def shape(self, node: fx.Node) -> tuple[int, ...] | None:
        """Shape of the value of a node, None where it is no single tensor."""
        shape = getattr(node.meta.get("tensor_meta"), "shape", None)
        return None if shape is None else tuple(shape)

    def is_depthwise(self, node: fx.Node) -> bool:
        """Whether a node calls a convolution with one filter per channel."""
        module = self.modules.get(node.target) if node.op == "call_module" else None
        return (
            isinstance(module, CONVOLUTIONS)
            and module.groups == module.in_channels == module.out_channels
            and module.groups > 1
        )

    def problem(self, name: str) -> str:
        """Why the weights of a module cannot be replaced by others, "" if they can."""
        module = self.modules[name]
        if isinstance(module, NORMS) and module.running_mean is None:
            return f"{name} keeps no running statistics"
        if self.calls.count(name) > 1:
            return f"{name} is used more than once"
        if name in self.read_directly:
            return f"the weights of {name} are read outside of it"
        if any(id(p) in self.shared for p in module.parameters(recurse=False)):
            return f"{name} shares its weights with another layer"
        weight = getattr(module, "weight", None)  # pruned or weight-normed by a hook: no parameter
        if hasattr(module, "parametrizations") or not isinstance(weight, nn.Parameter | None):
            return f"the weights of {name} are parametrised"
        if module._forward_hooks or module._forward_pre_hooks:
            return f"{name} has hooks, which may change what it computes: remove them"
        return ""

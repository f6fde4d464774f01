"""A network as torch.fx traces it, and the modes and copies in which networks are run."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, fx, nn
from torch.fx.passes.shape_prop import ShapeProp
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from combred.reduction.network.operations import CONVOLUTIONS, NORMS, ChannelSelection, effect


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


def own_copy(network: nn.Module) -> nn.Module:
    """A copy that may be run and traced: a forward may keep activations and change buffers.

    Of a network from torch.compile it is a copy of the module that was compiled. Tensors that a
    forward or a hook has computed and kept are copied without their gradients. Raises ValueError
    where the network is no module with real parameters, or cannot be copied.
    """
    network = getattr(network, "_orig_mod", network)
    name = type(network).__name__
    if not isinstance(network, nn.Module):
        raise ValueError(
            f"{network!r} cannot be reduced: give an nn.Module, or a model with `network` and "
            "`network_inputs`"
        )
    frozen = any(not hasattr(module, "training") for module in network.modules())
    if isinstance(network, torch.jit.ScriptModule) or frozen:
        raise ValueError(f"{name} cannot be reduced: give the nn.Module that it was made of")
    if any(is_lazy(p) for p in network.parameters()):
        raise ValueError(f"{name} has lazy modules without weights: run it once, network(x[:1])")
    if any(p.is_complex() for p in network.parameters()):
        raise ValueError(f"{name} has complex weights, and only layers of real ones are reduced")
    try:
        return copied(network)
    except Exception as error:
        raise ValueError(
            f"{name} cannot be copied: {error}. Take what cannot be copied out of its attributes"
        ) from error


def copied(network: nn.Module) -> nn.Module:
    """A copy of a network, also of one that holds tensors which a forward or a hook has computed:
    these are copied without their gradients."""
    attributes = [t for m in network.modules() for t in vars(m).values() if isinstance(t, Tensor)]
    computed = {id(t): t.detach().clone() for t in attributes if not t.is_leaf}
    return copy.deepcopy(network, computed)


def noise_like(x: Tensor) -> Tensor:
    """Gaussian inputs of the shape of x, the same each time; x itself if it holds no floats."""
    if not x.is_floating_point():
        return x
    return torch.randn(x.shape, generator=torch.Generator().manual_seed(0)).to(x)


def rounding(network: nn.Module, x: Tensor) -> float:
    """Relative difference of two outputs that are equal up to rounding."""
    types = [t.dtype for t in (*network.parameters(), x) if t.is_floating_point()]
    return max(torch.finfo(dtype).eps for dtype in types or [torch.float32]) ** 0.5


class _NoDropout(TorchFunctionMode):
    """Dropout passes its input on, also where a forward calls it outside of training."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if effect(func) == "linear":
            return next(iter([*args, *kwargs.values()]))
        return func(*args, **kwargs)


@contextmanager
def _repeatable(network: nn.Module, x: Tensor) -> Iterator[None]:
    """Evaluation mode, without gradients and dropout, with the same random numbers each time."""
    devices = [x.device] if x.is_cuda else []
    with evaluation(network), torch.no_grad(), torch.random.fork_rng(devices), _NoDropout():
        torch.manual_seed(0)
        yield


def outputs(network: nn.Module, x: Tensor) -> list[Tensor]:
    """The tensors that a network returns, each flat (n,), float64, zero where it is not finite;
    with the same random numbers each time."""
    with _repeatable(network, x):
        values = tree_leaves(network(x.clone()))
    flat = [v.double().flatten() for v in values if isinstance(v, Tensor)]
    return [v.nan_to_num(0.0, 0.0, 0.0) for v in flat]


def called(node: fx.Node) -> str:
    """The name of the module, method or attribute that a node takes."""
    if not isinstance(node.target, str):
        raise TypeError(f"{node.name} calls the function {node.target}, no module")
    return node.target


class _Call(nn.Module):
    """Calls a network with x alone, so that torch.fx traces neither the defaults of its other
    arguments, which may decide what it computes, nor past its hooks."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> object:
        """What the network returns for x."""
        return self.network(x)


class _Tracer(fx.Tracer):
    """Keeps a `ChannelSelection` as one call, and looks into a network that is one layer."""

    def is_leaf_module(self, module: nn.Module, name: str) -> bool:
        leaf = isinstance(module, ChannelSelection) or super().is_leaf_module(module, name)
        return leaf and name != "network"


class Traced:
    """The torch.fx graph of a network in evaluation mode.

    nodes: in the order of the data, with shapes. modules: by name, of a copy of the network. calls:
    the names of the modules that are called, in order, once for each call. shared: ids of the
    parameters that several modules hold. read_directly: names of modules whose parameters are read
    outside of them.
    """

    def __init__(self, network: nn.Module, example_input: Tensor):
        """Trace a copy of a network and run it on inputs (n, ...).

        Raises ValueError where torch.fx cannot trace it, or traces something else than it computes,
        and where it does not run on the input.
        """
        network, example_input = own_copy(network), batch_of(network, example_input)
        if not len(example_input):
            raise ValueError("example_input holds no input: give one or more, as x[:1]")
        try:
            outputs(network, example_input)
        except Exception as error:
            raise ValueError(
                f"{type(network).__name__} does not run on an example_input of shape "
                f"{tuple(example_input.shape)}: {error}"
            ) from error
        call = _Call(network)
        try:
            with _repeatable(call, example_input):
                traced = fx.GraphModule(call, _Tracer().trace(call))
                ShapeProp(traced).propagate(example_input)
        except Exception as error:
            raise ValueError(
                f"{type(network).__name__} cannot be traced by torch.fx ({error}). Its forward "
                "must not branch on values of tensors; reduce the traceable part of it instead."
            ) from error
        if _differ(network, traced, example_input):
            raise ValueError(
                f"torch.fx traces {type(network).__name__} as a network with another output. Its "
                "forward must not ask whether a value is a tensor, as isinstance(h, Tensor) does, "
                "nor depend on earlier calls; reduce the traceable part of it instead."
            )
        self.nodes = list(traced.graph.nodes)
        for node in self.nodes:
            node.name = node.name.removeprefix("network_")
            if node.op in ("call_module", "get_attr"):
                node.target = called(node).removeprefix("network.")
        self.modules = dict(network.named_modules())
        self.calls = [node.target for node in self.nodes if node.op == "call_module"]
        tensors = [m.named_parameters("", False, False) for m in self.modules.values()]
        owned = [id(p) for of_module in tensors for _, p in of_module]
        self.shared = {key for key in owned if owned.count(key) > 1}
        attributes = [called(node) for node in self.nodes if node.op == "get_attr"]
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

    def altered(self, name: str) -> str:
        """Why a module may compute something else than its class does, "" if it does not."""
        module = self.modules[name]
        if module._forward_hooks or module._forward_pre_hooks:
            return f"{name} has hooks, which may change what it computes: remove them"
        if "forward" in vars(module):
            return f"{name} has a forward that is not its class's: give it a class of its own"
        return ""

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
        return self.altered(name)


def _differ(network: nn.Module, traced: nn.Module, example_input: Tensor) -> bool:
    """Whether a traced network has another output than the network itself, for inputs (n, ...) or
    for random ones of this shape."""
    for x in (example_input, noise_like(example_input)):
        try:
            expected = outputs(network, x)
        except Exception:  # an input of noise may lie outside of the network's domain
            continue
        outputs_of_trace, tolerance = outputs(traced, x), rounding(network, x)
        equal = (
            a.shape == b.shape and (a - b).norm() <= tolerance * a.norm()
            for a, b in zip(expected, outputs_of_trace, strict=False)
        )
        if len(expected) != len(outputs_of_trace) or not all(equal):
            return True
    return False

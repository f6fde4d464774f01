"""The torch module of a user: copied, tried with states of its training, and exported in memory.

Takes any `nn.Module`; gives a copy for evaluation whose weights are plain numbers, or a ValueError
that says why the module cannot be the network of a surrogate. `model.own` makes the surrogate.
"""

import io
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.nn.utils import parametrize
from torch.nn.utils.prune import BasePruningMethod
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm

from combred.config.fields import one_line, require, shown
from combred.files.torch_archive import reaching_out, read_parts, require_own_parts
from combred.reduction.network.tracing import copied
from combred.surrogates.model.own_form import OwnNetwork, OwnSurrogate

# Hooks of torch that compute a weight before each call.
WEIGHT_HOOKS = BasePruningMethod, SpectralNorm, WeightNorm
# The largest number of states with which the exported module is compared.
COMPARED = 4096
# The most characters of a message of torch inside one of ours.
LONGEST_REASON = 160
WRAP = "wrap it in a module whose forward takes one tensor of inputs and returns one of predictions"


def evaluation_copy(network: nn.Module) -> nn.Module:
    """A copy on the CPU, for evaluation, of a network, or of the one inside torch.compile or
    DataParallel. Weights that a parametrization, a pruning mask or a norm computes are fixed."""
    network = getattr(network, "_orig_mod", network)
    network = network.module if isinstance(network, nn.DataParallel) else network
    require(not any(map(is_lazy, network.parameters())), "the network has lazy modules without "
            "weights: run it once, network(x[:1])")  # fmt: skip
    half = {p.dtype for p in network.parameters() if p.dtype in (torch.half, torch.bfloat16)}
    require(not half, f"the network's weights are {half}: give network.float()")
    try:
        made = copied(network).cpu().eval()
        for module in made.modules():
            _fix_weights(module)
        for weight in made.parameters():
            if not weight.is_leaf:  # of a copied ScriptModule
                weight.detach_()
    except Exception as error:  # whatever a stranger's module holds
        raise ValueError(
            f"the network cannot be copied ({_short(error)}): give the plain module that it was "
            "made of, with its weights loaded"
        ) from error
    return made


def _short(error: Exception) -> str:
    """The beginning of the message of an error of torch, which may have pages."""
    return shown(one_line(error), LONGEST_REASON)


def _fix_weights(module: nn.Module) -> None:
    """Replaces the weights of a layer that are computed before or in each call by their values."""
    if parametrize.is_parametrized(module):
        # torch's remove_parametrizations would change the class, which the original has, too.
        names = list(module.parametrizations)  # type: ignore[arg-type]
        values = {name: getattr(module, name).detach().clone() for name in names}
        module.__class__ = parametrize.type_before_parametrizations(module)
        del module.parametrizations
        for name, value in values.items():
            module.register_parameter(name, nn.Parameter(value))
    for key, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, WEIGHT_HOOKS):
            hook.remove(module)
            del module._forward_pre_hooks[key]


def widths_of(network: nn.Module, x: Tensor) -> tuple[list[int], bool]:
    """Inputs and outputs of a network, which is run once with x (n, n_inputs), float64; whether it
    takes float64."""
    answer: Any = None
    wrong = ""
    for inputs in (x, x.float()):
        with torch.no_grad():
            try:
                answer = network(inputs)
                break
            except Exception as error:  # of another type, or of another number of inputs
                wrong = _short(error)
    require(answer is not None, f"the network does not take inputs {tuple(x.shape)}: {wrong}; "
            f"inputs are [T, p, Y] of all species; of another form, {WRAP}")  # fmt: skip
    is_tensor = isinstance(answer, Tensor) and answer.is_floating_point()
    kind = tuple(answer.shape) if is_tensor else type(answer).__name__
    are_rows = is_tensor and answer.dim() == 2 and len(answer) == len(x)
    require(are_rows, f"the network returns {kind}, and has to return predictions (n, n_outputs), "
            f"one row a state: {WRAP}")  # fmt: skip
    return [x.shape[1], answer.shape[1]], inputs is x


def require_function(network: nn.Module, x: Tensor) -> None:
    """Raises ValueError for a network whose answer to a row is not a function of this row."""
    before = x.clone()
    with torch.no_grad():
        first, again = network(x), network(x.clone())
        try:
            single = torch.cat([network(row[None].clone()) for row in before])
        except Exception:  # of a layer that takes no single row
            single = torch.zeros(0, 1)
    require(bool(first.isfinite().all()), "the network's answers to the first states are not all "
            "finite: are they inputs as of its training?")  # fmt: skip
    require(torch.equal(x, before), "the network changes its inputs: give one without in-place "
            "operations on them")  # fmt: skip
    for answer, why in ((again, "call"), (single, "other rows of a call")):
        same = first.shape == answer.shape
        same = same and torch.allclose(first, answer, 1e-3, 1e-4 * float(first.abs().max()))
        require(same, f"the network's answer to a state depends on the {why}: take out random "
                "numbers, counters, and means over a batch")  # fmt: skip


def make_exportable(surrogate: OwnSurrogate, rows: Tensor) -> None:
    """Exports a surrogate to memory, and runs it there with states [T, p, Y] (n, 2 + n_species).

    A module that TorchScript cannot compile is replaced by its trace (torch.jit.trace). Raises
    ValueError where neither gives what the module gives.
    """
    rows, own = rows[:COMPARED], cast(OwnNetwork, surrogate.network)
    network: nn.Module = own.module
    x = surrogate.code.encode(rows, surrogate.transform.variables(rows))
    with torch.no_grad():
        expected = network(x)
        reasons = []
        for way in ("script", "trace"):
            try:
                if way == "trace":
                    own.module = torch.jit.trace(network, x[:2], check_trace=False)
                reason = _difference(surrogate, rows, x, expected)
            except Exception as error:  # whatever Python a stranger's module has
                reason = _short(error)
            if not reason:
                return
            reasons.append(f"torch.jit.{way}: {reason}")
    raise ValueError(
        f"the network cannot be exported to TorchScript ({'; '.join(reasons)}): keep layers in an "
        "nn.ModuleList, write what depends on inputs with torch.where, and use torch's operations"
    )


def _difference(surrogate: OwnSurrogate, rows: Tensor, x: Tensor, expected: Tensor) -> str:
    """How an exported surrogate differs from its network, in words; "" where it does not."""
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(surrogate), file)
    parts = read_parts(file)
    require_own_parts(parts)
    if operation := reaching_out(parts):
        return f"the name {operation} is also that of an operation on files: rename it"
    file.seek(0)
    exported = torch.jit.load(file)
    same = torch.allclose(exported.network(x), expected, 1e-3, 1e-4, equal_nan=True)
    for n in (0, 1, 2):  # its first call compiles it
        exported(rows[:n], surrogate.transform.dt_range[:1].expand(n))
    return "" if same else "it gives other numbers, since its Python depends on its inputs"

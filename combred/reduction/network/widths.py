"""Networks that read the widths of their own layers, as a factor 1 / width in the forward does.

Units are taken out of such a network at the price of another output, whatever the next layers read.
In training mode, a network may read units with layers that are unknown in evaluation mode.
`width_readers` finds these layers by a comparison: a network in which some units are read with
weights of zero has the same output as one without these units, unless it reads their number.
"""

import copy
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.merge import Merge, apply_merge_in_place
from combred.reduction.network.operations import NORMS
from combred.reduction.network.tensors import tensor_of
from combred.reduction.network.tracing import noise_like, outputs, own_copy, rounding

ROWS = 8  # of the example that are compared


def width_readers(
    network: nn.Module, layers: Sequence[HiddenLayer], example_input: Tensor
) -> dict[str, str]:
    """The layers from which no unit can be taken out, and why, by name.

    All layers are narrowed at once, to 30 to 70 % of their units; a share of its own for each, so
    that a ratio of two widths changes too. Where the output differs, each layer is tried alone.
    """
    readers: dict[str, str] = {}
    shares = {layer: 0.3 + 0.4 * i / max(len(layers) - 1, 1) for i, layer in enumerate(layers)}
    wide = {layer: max(1, int(s * layer.units)) for layer, s in shares.items() if layer.units > 1}
    while wide and (problem := problem_of_widths(network, wide, example_input)):
        alone = {
            layer.name: problem_of_widths(network, {layer: keep}, example_input)
            for layer, keep in wide.items()
        }
        blamed = {name: why for name, why in alone.items() if why} or dict.fromkeys(alone, problem)
        readers |= blamed
        wide = {layer: keep for layer, keep in wide.items() if layer.name not in blamed}
    return readers


@torch.no_grad()
def problem_of_widths(
    network: nn.Module, widths: Mapping[HiddenLayer, int], example_input: Tensor
) -> str:
    """Why these layers cannot keep so many units, "" if they can.

    Weights are drawn at random, since dead units or an output layer of zeros would hide a
    difference, and the input is example_input (n, ...), or a random one where the output is zero.
    Where both give zeros or no numbers, the network runs with its own weights.
    """
    example_input = example_input[:ROWS]
    noise, tolerance = noise_like(example_input), rounding(network, example_input)
    for draws, x in ((True, example_input), (True, noise), (False, example_input)):
        copied = copy.deepcopy(network)
        if draws:
            _draw(copied)
        for layer, keep in widths.items():
            for name, positions in layer.readers:
                tensor_of(copied.get_submodule(name))[:, keep * positions :] = 0.0
        try:
            expected = _output(copied, x)
        except Exception:  # an input of noise may lie outside of the network's domain
            continue
        size = float(expected.norm())
        if size == 0.0:
            continue
        for layer, keep in widths.items():
            apply_merge_in_place(copied, layer, Merge.prune(torch.arange(keep), layer.units))
        names = ", ".join(layer.name for layer in widths)
        try:
            output = _output(copied, x)
        except Exception as error:
            return (
                f"with fewer units in {names} the network no longer runs ({error}): its forward "
                "has the old width written into it. Let the forward read the width off its "
                "input, as x.flatten(1) or x.view(x.shape[0], -1) do"
            )
        if output.shape != expected.shape or not (output - expected).norm() <= tolerance * size:
            return (
                f"the forward reads the number of units in {names}, as a factor 1 / width does: "
                "with fewer units the output would change. Compute such a number once, in "
                "__init__, and keep it"
            )
        if not _trains(copied, x) and _trains(own_copy(network), x):
            return (
                f"in training mode the forward reads the units of {names} otherwise than in "
                "evaluation mode, as an auxiliary output does, and would no longer run: give a "
                "copy of the network without this part"
            )
        return ""
    return ""


def _trains(network: nn.Module, x: Tensor) -> bool:
    """Whether a network, which is changed, runs in training mode on inputs (n, ...)."""
    devices = [x.device] if x.is_cuda else []
    try:
        with torch.random.fork_rng(devices):
            network.train()(torch.cat([x, x]))  # two rows or more, for batch norms
    except Exception:
        return False
    return True


def _output(network: nn.Module, x: Tensor) -> Tensor:
    """All tensors that a network returns, as one (n,)."""
    return torch.cat(outputs(network, x))


def _draw(network: nn.Module) -> None:
    """Give a network random parameters (He et al. 2015), and batch norms neutral statistics."""
    generator = torch.Generator().manual_seed(0)
    for p in network.parameters():
        if p.is_floating_point() and p.numel():
            std = (2.0 / p[0].numel()) ** 0.5 if p.dim() > 1 else 0.5
            p.copy_(std * torch.randn(p.shape, generator=generator))
    for module in network.modules():
        if isinstance(module, NORMS):
            module.reset_running_stats()

"""The result of a method, `Merge`, and the surgery that carries it out on a network.

`apply_merge` works for linear, convolutional, batch-normalised and depthwise layers.
"""

import copy
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.operations import ChannelSelection
from combred.reduction.network.tensors import bias_of, tensor_of


@dataclass(frozen=True)
class Merge:
    """Which of the m units of a hidden layer stay, and how the next layers read the others.

    The activations a (m,) that the next layers read are approximated by

        a = mixing^T a[kept] + offset

    kept (k,): indices of the units that stay, ascending. mixing (k, m), offset (m,): float64.
    carriers: new tensors for the kept units, by parameter name, as {"layers.0.weight": (k, ...)},
    from methods that move the units they keep (to centroids, in depthwise blocks); all other
    parameters of the kept units stay. Raises ValueError where shapes disagree, and for k = 0.
    """

    kept: Tensor
    mixing: Tensor
    offset: Tensor
    carriers: dict[str, Tensor] = field(default_factory=dict)

    def __post_init__(self):
        k, m = self.mixing.shape
        if self.kept.shape != (k,) or self.offset.shape != (m,) or k == 0:
            raise ValueError(
                f"a merge of m units into k > 0 has kept (k,), mixing (k, m), offset (m,); got "
                f"{tuple(self.kept.shape)}, {tuple(self.mixing.shape)}, {tuple(self.offset.shape)}"
            )

    @property
    def changes(self) -> bool:
        """False where every unit stays."""
        return self.mixing.shape[0] < self.mixing.shape[1]

    @property
    def prunes(self) -> bool:
        """Whether the kept units are read as they were, and the others as zero."""
        diagonal = self.mixing[torch.arange(len(self.kept)), self.kept]
        return bool((diagonal == 1).all()) and int(self.mixing.count_nonzero()) == len(self.kept)

    @staticmethod
    def prune(indices: Tensor, m: int) -> "Merge":
        """The merge that keeps the units `kept` (k,) of m; the others are read as zero."""
        indices = indices.sort().values
        mixing = torch.zeros(len(indices), m, dtype=torch.float64, device=indices.device)
        mixing[torch.arange(len(indices), device=indices.device), indices] = 1.0
        return Merge(indices, mixing, mixing.new_zeros(m))


def apply_merge(network: nn.Module, layer: HiddenLayer, merge: Merge) -> nn.Module:
    """A reduced copy of `network`: `layer` has the kept units, and its readers read them alone.

        W_next' = W_next mixing^T,  b_next' = b_next + W_next offset   (in float64)

    For a convolution that reads the layer, W_next is its filter, with units as input channels; for
    a linear layer behind a flatten, a unit is all its positions. Dtypes, devices and requires_grad
    stay. Raises ValueError for an offset where a reader pads with zeros: padding has no offset.
    """
    reduced = copy.deepcopy(network)
    apply_merge_in_place(reduced, layer, merge)
    return reduced


@torch.no_grad()
def apply_merge_in_place(network: nn.Module, layer: HiddenLayer, merge: Merge) -> None:
    """`apply_merge` on the network itself."""
    shifts = bool((merge.offset != 0).any())
    if shifts and not layer.takes_offset:
        raise ValueError(
            f"layer {layer.name} is read by a layer that pads with zeros, where a constant offset "
            "is not constant; its merge must have offset 0"
        )
    for name in layer.carriers:
        _keep_rows(network.get_submodule(name), merge.kept, f"{name}.", merge.carriers)
    if layer.residual:
        _select_channels(network, layer.name, merge.kept)
    for name, positions in layer.readers:
        _mix_inputs(network.get_submodule(name), merge, positions, shifts)


def _keep_rows(module: nn.Module, indices: Tensor, name: str, new: dict[str, Tensor]) -> None:
    """Leave a producer, batch norm or depthwise layer the rows `kept` of each of its tensors, or
    the `new` tensors that a merge gives for them. Tensors that its type does not have stay."""
    for key in ("weight", "bias", "running_mean", "running_var"):
        if isinstance(tensor := getattr(module, key, None), Tensor):
            _set(module, key, new.get(name + key, tensor.detach()[indices.to(tensor.device)]))
    sizes = ["out_features", "out_channels", "num_features"]
    if getattr(module, "groups", 1) > 1:
        sizes += ["in_channels", "groups"]
    for attribute in sizes:
        if hasattr(module, attribute):
            setattr(module, attribute, len(indices))


def _mix_inputs(module: nn.Module, merge: Merge, positions: int, shifts: bool) -> None:
    """Let a linear or convolutional layer read the kept units alone."""
    linear, weight, bias = isinstance(module, nn.Linear), tensor_of(module), bias_of(module)
    U = weight.detach().double()
    n, m = U.shape[0], merge.mixing.shape[1]
    # (n, m, positions): positions are those of a flattened map, or of a filter.
    U = U.reshape(n, m, positions) if linear else U.flatten(2)
    if merge.prunes:
        mixed = U[:, merge.kept.to(U.device)]
    else:
        mixed = torch.einsum("nmp,km->nkp", U, merge.mixing.to(U.device))
    if shifts:
        shift = torch.einsum("nmp,m->n", U, merge.offset.to(U.device))
        if bias is None:
            bias = torch.zeros_like(shift, dtype=weight.dtype)
            module.bias = nn.Parameter(bias, requires_grad=weight.requires_grad)
        _set(module, "bias", bias.detach().double() + shift)
    mixed = mixed.reshape((n, -1) if linear else (n, -1, *weight.shape[2:]))
    _set(module, "weight", mixed)
    setattr(module, "in_features" if linear else "in_channels", mixed.shape[1])


def _set(module: nn.Module, key: str, value: Tensor) -> None:
    """Replace a parameter or buffer, keeping dtype, device and requires_grad."""
    old = tensor_of(module, key)
    value = value.to(old.device, old.dtype).clone(memory_format=torch.contiguous_format)
    if isinstance(old, nn.Parameter):
        setattr(module, key, nn.Parameter(value, requires_grad=old.requires_grad))
    else:
        setattr(module, key, value)


def _select_channels(network: nn.Module, name: str, indices: Tensor) -> None:
    """Put a `ChannelSelection` before the batch norm `name`, or narrow the one that is there."""
    parent, _, last = name.rpartition(".")
    holder = network.get_submodule(parent)
    first = holder[0] if isinstance(holder, nn.Sequential) and last == "1" else None
    if isinstance(first, ChannelSelection):
        first.channels = first.channels[indices.to(first.channels.device)]
        return
    norm = network.get_submodule(name)
    selection = ChannelSelection(indices.to(tensor_of(norm).device))
    setattr(holder, last, nn.Sequential(selection, norm).train(norm.training))

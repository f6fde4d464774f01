"""A reduction as a choice: which units stay, and how the others are expressed through them.

Every method answers `Merge(kept, mixing, offset)` for one hidden layer; `apply_merge` is the one
piece of surgery.
"""

import copy
from dataclasses import dataclass

import torch
from torch import Tensor

from combred.network import Network


@dataclass(frozen=True)
class Merge:
    """What becomes of the m units of a hidden layer.

    kept (k,): indices of the units that stay, ascending. mixing (k, m), offset (m,): the
    activations a (m,) of all units are taken as a = mixing^T a[kept] + offset.
    """

    kept: Tensor
    mixing: Tensor
    offset: Tensor

    def __post_init__(self):
        k, m = self.mixing.shape
        if self.kept.shape != (k,) or self.offset.shape != (m,) or k == 0:
            raise ValueError(
                f"a merge of m units into k > 0 wants kept (k,), mixing (k, m), offset (m,); got "
                f"{tuple(self.kept.shape)}, {tuple(self.mixing.shape)}, {tuple(self.offset.shape)}"
            )

    @property
    def changes(self) -> bool:
        """False where every unit stays."""
        return self.mixing.shape[0] < self.mixing.shape[1]


def apply_merge(network: Network, layer: int, merge: Merge) -> Network:
    """A copy of `network` in which hidden layer `layer` (1 is the first) keeps the units of
    `merge`, and the next layer reads the others through them:

    W_next' = W_next mixing^T,  b_next' = b_next + W_next offset.   (in float64)
    """
    check_layer(network, layer)
    old, following = network.layers[layer - 1], network.layers[layer]
    widths = network.widths
    widths[layer] = len(merge.kept)
    reduced = Network(widths).to(old.weight.device, old.weight.dtype)
    with torch.no_grad():
        for new, source in zip(reduced.layers, network.layers, strict=True):
            if source is old:
                new.weight.copy_(old.weight[merge.kept])
                new.bias.copy_(old.bias[merge.kept])
            elif source is following:
                U = following.weight.double()
                new.weight.copy_(U @ merge.mixing.T)
                new.bias.copy_(following.bias.double() + U @ merge.offset)
            else:
                new.load_state_dict(copy.deepcopy(source.state_dict()))
    return reduced


def check_layer(network: Network, layer: int) -> None:
    """ValueError unless `layer` is a hidden layer of `network`."""
    hidden = len(network.layers) - 1
    if not 1 <= layer <= hidden:
        raise ValueError(
            f"layer {layer} cannot be reduced: this network has hidden layers 1 to {hidden}; "
            "the output layer is never reduced"
        )

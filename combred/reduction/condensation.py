"""Condensation: neurons of a layer that point the same way are merged into one.

Chen & Xu, Efficient and flexible method for reducing moderate-size deep neural networks with
condensation (2024), sections 2.2.1 to 2.2.3.
"""

import torch
from torch import Tensor, nn

from combred import kernels
from combred.reduction.merge import Merge


def directions(layer: nn.Linear) -> Tensor:
    """Rows v_k = [W_k | b_k] (m, m_in + 1) of a layer, float64."""
    return torch.cat([layer.weight, layer.bias[:, None]], dim=1).detach().double()


def cosine_similarity(layer: nn.Linear) -> Tensor:
    """C (m, m) between the neurons of a layer (their equation 4); 0 for a row of zero norm."""
    unit = nn.functional.normalize(directions(layer), dim=1)
    return unit @ unit.T


def condense(layer: nn.Linear, threshold: float) -> tuple[Merge, Tensor]:
    """The merge of a layer's groups, and labels (m,): each unit's group, -1 for a dead unit.

    Greedy groups of units at least `threshold` alike (`kernels.group`). The main unit of a group
    stays; unit k is read as |v_k| / |v_main| times it, so that the next layer's column becomes
    u_main' = sum_k (|v_k| / |v_main|) u_k: exact for ReLU where the cosine is 1 (their equations
    5 to 12). A unit without input weights is dead: its constant output relu(b_k) is an offset.
    """
    v = directions(layer)
    m = len(v)
    dead = ~layer.weight.detach().any(dim=1)
    alive = (~dead).nonzero()[:, 0]
    labels = torch.full((m,), -1, dtype=torch.int64, device=v.device)
    if len(alive) == 0:
        alive = torch.zeros(
            1, dtype=torch.int64, device=v.device
        )  # a layer keeps at least one unit
    group_of, mains = kernels.group(v[alive], threshold)
    kept = alive[mains].sort().values
    norm = v.norm(dim=1)
    main_of = alive[mains][group_of]
    ratio = torch.where(norm[main_of] > 0, norm[alive] / norm[main_of].clamp(min=1e-300), 1.0)
    mixing = torch.zeros(len(kept), m, dtype=torch.float64, device=v.device)
    mixing[torch.searchsorted(kept, main_of), alive] = ratio
    labels[alive] = group_of
    offset = torch.where(dead, layer.bias.detach().double().clamp(min=0.0), 0.0)
    offset[kept] = 0.0
    return Merge(kept, mixing, offset), labels

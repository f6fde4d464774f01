"""Folding: planted clusters are found, and each becomes the mean of its units' folded rows."""

import numpy as np
import pytest
import torch
from reducible import gaussian
from scipy.cluster.vq import kmeans2
from torch import nn

from combred.reduction import apply_merge, describe_units, find_layers, folding
from combred.reduction.methods.folding import k_means

CLUSTERS = [0, 1, 2, 0, 0, 3, 1, 4, 2, 0, 4, 1]  # of 12 units


@torch.no_grad()
def plant(producer: nn.Module, norm: nn.Module | None, apart: float, seed: int = 0) -> None:
    """Make each folded row one of five, up to noise of size `apart`; batch norms differ."""
    m = len(CLUSTERS)
    shape = producer.weight[0].numel() + 1
    rows = gaussian(5, shape, seed=seed)[CLUSTERS] + apart * gaussian(m, shape, seed=seed + 1)
    if producer.bias is None and norm is None:
        rows[:, -1] = 0.0
    weights, bias = rows[:, :-1], rows[:, -1]
    if norm is not None:
        scale = torch.ones(m, dtype=torch.float64)
        norm.running_mean.copy_(gaussian(m, seed=seed + 2))
        if norm.affine:
            norm.running_var.copy_(0.5 + gaussian(m, seed=seed + 3).square())
            norm.weight.copy_(gaussian(m, seed=seed + 4))
        std = (norm.running_var + norm.eps).sqrt()
        scale = norm.weight / std if norm.affine else 1.0 / std
        own = gaussian(m, seed=seed + 5) if producer.bias is not None else 0.0
        if norm.affine:
            norm.bias.copy_(bias - (own - norm.running_mean) * scale)
        else:
            norm.running_mean.copy_(own - bias / scale)
        weights, bias = weights / scale[:, None], own
    producer.weight.copy_(weights.reshape(producer.weight.shape))
    if producer.bias is not None:
        producer.bias.copy_(bias)


def make(kind: str) -> tuple[nn.Sequential, torch.Tensor]:
    """A network whose first layer has 12 units, and inputs for it."""
    bias = "no bias" not in kind
    if "linear" in kind:
        layers = [nn.Linear(4, 12, bias=bias)]
        layers += [nn.BatchNorm1d(12, affine="plain" not in kind)] if "norm" in kind else []
        layers += [nn.ReLU(), nn.Linear(12, 3)]
        x = gaussian(50, 4, seed=9)
    else:
        layers = [nn.Conv2d(2, 12, 3, padding=1, bias=bias)]
        layers += [nn.BatchNorm2d(12)] if "norm" in kind else []
        layers += [nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 3, 3, padding=1)]
        x = gaussian(6, 2, 8, 8, seed=9)
    return nn.Sequential(*layers).double().eval(), x


KINDS = [
    "linear", "linear, no bias", "linear, norm", "linear, plain norm",
    "linear, plain norm, no bias", "convolution", "convolution, norm", "convolution, norm, no bias",
]  # fmt: skip


def planted(kind: str, apart: float = 0.0, seed: int = 0):
    """A network, inputs, and the units of its first layer."""
    network, x = make(kind)
    plant(network[0], network[1] if "norm" in kind else None, apart, seed)
    return network, x, describe_units(network, find_layers(network, x[:1])[1])


@torch.no_grad()
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_clusters_are_found_and_become_their_means(kind, seed):
    network, x, units = planted(kind, apart=1e-3, seed=10 * seed)
    merge = folding(units, keep=5)
    of = np.array(CLUSTERS)
    assert sorted(of[merge.kept.numpy()]) == [0, 1, 2, 3, 4]
    folded = apply_merge(network, units.layer, merge)
    rows = describe_units(folded, find_layers(folded, x[:1])[1]).rows
    for row, kept, mixing in zip(rows, merge.kept.tolist(), merge.mixing, strict=True):
        members = np.flatnonzero(of == of[kept])
        assert mixing.nonzero()[:, 0].tolist() == members.tolist()
        assert (mixing[members] == 1.0).all()
        mean = sum(units.rows[k] for k in members.tolist()) / len(members)
        # Written through a batch norm and read back: rounding of float64.
        assert torch.allclose(row, mean, rtol=0, atol=1e-12)
        distance = (units.rows[members] - mean).norm(dim=1)
        assert kept == members[int(distance.argmin())]
    assert not merge.offset.any()
    assert (folded(x) - network(x)).norm() < 1e-2 * network(x).norm()  # apart by 1e-3


@torch.no_grad()
def test_a_kept_channel_with_gamma_zero_gets_another():
    network, x = make("convolution, norm")
    network[1].weight.zero_()
    network[1].bias.copy_(torch.tensor(CLUSTERS) + 0.5)
    units = describe_units(network, find_layers(network, x[:1])[1])
    merge = folding(units, keep=5)
    folded = apply_merge(network, units.layer, merge)
    assert len(merge.kept) == 5
    assert torch.allclose(folded(x), network(x), rtol=0, atol=1e-12)  # float64


def test_k_means_is_as_good_as_that_of_scipy():
    points, mine, theirs = gaussian(80, 5), [], []
    for seed in range(20):
        labels = k_means(points, 8, seed, 100)
        centres = torch.stack([points[labels == c].mean(dim=0) for c in range(8)])
        mine.append(float((points - centres[labels]).square().sum()))
        found = kmeans2(points.numpy(), 8, iter=100, minit="++", rng=seed)
        theirs.append(np.square(points.numpy() - found[0][found[1]]).sum())
    # Means of 20 starts, which scatter by 3 % each.
    assert np.mean(mine) == pytest.approx(np.mean(theirs), rel=0.03)

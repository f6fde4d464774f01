"""Neuron merging and magnitude pruning against the algorithms and criteria of Kim et al. (2020)."""

import itertools

import numpy as np
import pytest
import scipy.optimize
import torch
from reducible import draw
from torch import nn

from combred.reduction import (
    apply_merge,
    describe_units,
    find_layers,
    magnitude,
    neuron_merging,
    reduce,
)
from combred.reduction.methods.magnitude import CRITERIA, geometric_median, important_units

KINDS = ["linear", "linear, no bias", "convolution", "convolution, norm", "convolution, norm, bias"]


@torch.no_grad()
def make(kind: str, m: int = 12, seed: int = 0) -> tuple[nn.Sequential, torch.Tensor]:
    """A seeded network whose first layer has m units, with gammas of both signs, and inputs."""
    bias = "no bias" not in kind and ("norm" not in kind or "bias" in kind)
    if "linear" in kind:
        layers = [nn.Linear(5, m, bias=bias), nn.ReLU(), nn.Linear(m, 3)]
        x = torch.randn(40, 5, generator=torch.Generator().manual_seed(seed)).double()
    else:
        layers = [nn.Conv2d(2, m, 3, bias=bias)]
        layers += [nn.BatchNorm2d(m)] if "norm" in kind else []
        layers += [nn.ReLU(), nn.Conv2d(m, 3, 3, padding=1)]
        x = torch.randn(4, 2, 8, 8, generator=torch.Generator().manual_seed(seed)).double()
    network = nn.Sequential(*layers).double().eval()
    generator = torch.Generator().manual_seed(seed + 100)
    for tensor in network.state_dict().values():
        if tensor.dim() > 0:
            tensor.normal_(0.3, 1.0, generator=generator)
    if "norm" in kind:
        network[1].running_var.abs_().add_(0.1)
    return network, x


def units_of(network, x):
    return describe_units(network, find_layers(network, x[:1])[1])


def filters(network) -> np.ndarray:
    """The rows that are compared: [W | b] without a batch norm, W with one."""
    rows = network[0].weight.detach().flatten(1).numpy()
    if network[0].bias is not None and not isinstance(network[1], nn.BatchNorm2d):
        rows = np.hstack([rows, network[0].bias.detach().numpy()[:, None]])
    return rows


def cosine_sim(a, b) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def scale_and_bias(network, one: int, two: int) -> tuple[float, float]:
    """S and B of equation (8), for a convolution whose bias shifts the running mean."""
    norm = network[1]
    gamma, beta = norm.weight.tolist(), norm.bias.tolist()
    sigma = [(var + norm.eps) ** 0.5 for var in norm.running_var.tolist()]
    b = network[0].bias.tolist() if network[0].bias is not None else [0.0] * len(gamma)
    mu = [mean - shift for mean, shift in zip(norm.running_mean.tolist(), b, strict=True)]
    F = filters(network)
    s = np.linalg.norm(F[two]) / np.linalg.norm(F[one])
    S = s * gamma[two] / gamma[one] * sigma[one] / sigma[two]
    inner = s * (-sigma[one] * beta[one] / gamma[one] + mu[one]) - mu[two]
    return S, gamma[two] / sigma[two] * inner + beta[two]


def most_sim(network, n: int, kept: list[int]):
    """Algorithm 2: the position in `kept` of the most similar neuron, its cosine, the scale."""
    rows = filters(network)
    similar = [cosine_sim(rows[n], rows[m]) for m in kept]
    p = int(np.argmax(similar))
    return p, similar[p], np.linalg.norm(rows[n]) / np.linalg.norm(rows[kept[p]])


def most_sim_with_bn(network, n: int, kept: list[int], lam: float):
    """Algorithm 3, among the kept units that n may be a positive multiple of; None without any."""
    rows = filters(network)
    cos, bias, scale = {}, {}, {}
    for p, m in enumerate(kept):
        S, B = scale_and_bias(network, m, n)
        if S > 0:
            cos[p], bias[p], scale[p] = 1.0 - cosine_sim(rows[n], rows[m]), abs(B) / S, S
    if not cos:
        return None
    low, high = min(bias.values()), max(bias.values())
    spread = high - low if high > low else 1.0
    distance = {p: cos[p] * lam + (bias[p] - low) / spread * (1.0 - lam) for p in cos}
    p = min(distance, key=distance.get)
    return p, 1.0 - cos[p], scale[p]


def decompose(network, kept: list[int], t: float, lam: float) -> np.ndarray:
    """Algorithm 1: Z (k, m)."""
    m = network[0].weight.shape[0]
    Z = np.zeros((len(kept), m))
    for n in range(m):
        if n in kept:
            Z[kept.index(n), n] = 1.0
            continue
        if isinstance(network[1], nn.BatchNorm2d):
            found = most_sim_with_bn(network, n, kept, lam)
        else:
            found = most_sim(network, n, kept)
        if found is not None and found[1] >= t:
            Z[found[0], n] = found[2]
    return Z


@pytest.mark.parametrize("kind", KINDS)
def test_the_mixing_is_that_of_the_algorithms(kind):
    for i, j in itertools.product(range(3), repeat=2):  # all pairs of lambda, t and keep
        lam, t, keep = (0.7, 0.85, 1.0)[i], (-1.0, 0.1, 0.45)[j], (1, 4, 11)[(i + j) % 3]
        network, x = make(kind, seed=3 * i + j)
        merge = neuron_merging(units_of(network, x), keep=keep, t=t, weight=lam)
        Z = decompose(network, merge.kept.tolist(), t, lam)
        assert np.allclose(merge.mixing, Z, rtol=1e-12, atol=0)  # the same sums, in float64
        assert not merge.offset.any() and not merge.carriers


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kind", KINDS)
def test_the_units_of_the_largest_criterion_stay(kind, criterion):
    network, x = make(kind)
    rows = filters(network)
    if criterion == "l1":
        score = [sum(abs(v) for v in row) for row in rows]
    elif criterion == "l2":
        score = [sum(v * v for v in row) ** 0.5 for row in rows]
    else:
        median = slow_median(rows)
        score = [np.linalg.norm(row - median) for row in rows]
    expected = sorted(np.argsort(score)[-5:].tolist())
    units = units_of(network, x)
    assert important_units(units, 5, criterion).tolist() == expected
    assert neuron_merging(units, keep=5, criterion=criterion).kept.tolist() == expected
    assert magnitude(units, keep=5, criterion=criterion).kept.tolist() == expected


def slow_median(rows: np.ndarray) -> np.ndarray:
    """The point of the least sum of distances, by a general optimiser."""
    found = scipy.optimize.minimize(
        lambda point: np.linalg.norm(rows - point, axis=1).sum(), rows.mean(0), tol=1e-12
    )
    return found.x


def test_the_geometric_median_is_found_from_a_start_on_a_row():
    line = torch.tensor([-4.0, 0.0, 1.0, 1.5, 1.5], dtype=torch.float64)  # mean 0, median 1
    rows = torch.stack([line, torch.zeros(5)], dim=1)
    assert torch.allclose(geometric_median(rows), torch.tensor([1.0, 0.0]).double(), atol=1e-6)
    same = torch.ones(4, 3, dtype=torch.float64)
    assert torch.equal(geometric_median(same), same[0])


@torch.no_grad()
def test_no_unit_is_read_through_a_constant_unit():
    network, x = make("convolution, norm")
    network[0].weight[0] *= 10.0  # the unit stays, although its batch norm makes it constant
    network[1].weight[0], network[1].bias[0] = 0.0, 0.0
    merge = neuron_merging(units_of(network, x), keep=4)
    assert 0 in merge.kept and merge.mixing[0].sum() == 1.0
    assert torch.isfinite(apply_merge(network, units_of(network, x).layer, merge)(x)).all()


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_no_unit_is_read_through_a_unit_without_weights(kind):
    network, x = make(kind)
    network[0].weight[3] = 0.0
    if network[0].bias is not None:
        network[0].bias[3] = 0.0
    for others in (network[0].weight[:3], network[0].weight[4:]):  # far from the origin, similar
        others.copy_(5.0 + 0.1 * others)
    merge = neuron_merging(units_of(network, x), keep=4, criterion="l2-gm")
    assert 3 in merge.kept
    assert merge.mixing[merge.kept.tolist().index(3)].sum() == 1.0


def test_unknown_criteria_and_values_out_of_range_are_refused():
    network, x = make("linear")
    units = units_of(network, x)
    with pytest.raises(ValueError, match="'l3' is none of l1, l2, l2-gm"):
        neuron_merging(units, keep=3, criterion="l3")
    with pytest.raises(ValueError, match=r"t=1.5 must lie in \[-1, 1\]"):
        neuron_merging(units, keep=3, t=1.5)
    with pytest.raises(ValueError, match=r"weight=-1 in \[0, 1\]"):
        neuron_merging(units, keep=3, weight=-1)


@torch.no_grad()
@pytest.mark.parametrize("normed", [False, True])
def test_pruned_and_merged_networks_keep_the_same_units_of_every_layer(normed):
    """Those of the largest norm in the given network, whose cosines and ratios are used too."""
    torch.manual_seed(0)
    norms = [[nn.BatchNorm1d(20)] if normed else [] for _ in range(2)]
    layers = [nn.Linear(6, 20), *norms[0], nn.ReLU(), nn.Linear(20, 20), *norms[1], nn.ReLU()]
    network = draw(nn.Sequential(*layers, nn.Linear(20, 3))).double()
    x = torch.zeros(1, 6).double()
    given = find_layers(network, x)[2]
    second = int(given.name)
    merge = neuron_merging(describe_units(network, given), keep=10)
    found = {
        (method, kind): reduce(network, x, method=method, ratio=0.5, compensation=kind).network
        for method, kind in (("neuron_merging", "none"), ("neuron_merging", "own"))
        + (("magnitude", "none"),)
    }
    for small in found.values():
        assert torch.equal(small[second].bias, network[second].bias[merge.kept])
    expected = network[-1].weight @ merge.mixing.T
    assert torch.allclose(found["neuron_merging", "own"][-1].weight, expected, rtol=1e-14)

"""Allocation: costs are compared with networks of these widths, chosen widths with equal shares."""

import numpy as np
import pytest
import torch
from reducible import ALL_METHODS, NETWORKS, Residual, flops, make, parameters
from torch import nn

from combred.reduction import find_layers, reduce
from combred.reduction.allocation import cost_of_widths
from combred.reduction.fit.held_out import split
from combred.reduction.network.merge import Merge, apply_merge_in_place


def linear(widths=(6, 40, 40, 5), seed: int = 0) -> nn.Sequential:
    """Weights of He's initialisation and small biases."""
    generator, layers = torch.Generator().manual_seed(seed), []
    for m, n in zip(widths[:-1], widths[1:], strict=True):
        layer = nn.Linear(m, n)
        nn.init.normal_(layer.weight, 0.0, (2.0 / m) ** 0.5, generator=generator)
        nn.init.normal_(layer.bias, 0.0, 0.1, generator=generator)
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def tied() -> nn.Sequential:
    """Two layers share their weights, which count once."""
    network = linear((5, 9, 8, 7, 6, 6, 6))
    network[10].weight = network[8].weight
    return network


@torch.no_grad()
def count(network: nn.Module, x: torch.Tensor, kind: str) -> int:
    """Parameters, or flops for one input."""
    return parameters(network) if kind == "parameters" else flops(network, x)


@pytest.mark.parametrize("kind", ["parameters", "flops"])
@pytest.mark.parametrize("name", [*NETWORKS, "pre-activation", "tied"])
def test_costs_are_those_of_networks_of_these_widths(name, kind):
    others = {"pre-activation": (Residual, (2, 6, 6)), "tied": (tied, (5,))}
    build, shape = (NETWORKS | others)[name]
    x = torch.randn(2, *shape)
    original = build().eval()
    layers = find_layers(original, x[:1]).layers
    full = [layer.units for layer in layers]
    assert len(layers) > 1
    costs = cost_of_widths(original, x, layers, kind)
    assert float(costs(full)) == count(original, x, kind)
    rng = np.random.default_rng(0)
    for _ in range(4):
        widths = [int(rng.integers(1, k + 1)) for k in full]
        network = build().eval()
        for layer, k in zip(layers, widths, strict=True):
            apply_merge_in_place(network, layer, Merge.prune(torch.arange(k), layer.units))
        # Small whole numbers, in float64.
        assert float(costs(widths)) == pytest.approx(count(network, x, kind), rel=1e-13)


def redundant(layer: int, distinct: int = 8, seed: int = 0):
    """A network in which one layer has `distinct` directions only, and two sets of inputs."""
    network = linear(seed=seed).double()
    producer = network[2 * (layer - 1)]
    with torch.no_grad():
        for k in range(distinct, 40):
            ratio = 0.3 + (k % 7) / 7
            producer.weight[k] = ratio * producer.weight[k % distinct]
            producer.bias[k] = ratio * producer.bias[k % distinct]
    x = torch.randn(900, 6, generator=torch.Generator().manual_seed(seed + 1)).double()
    return network, x[:400], x[400:]


def output_error(network, reduced, x) -> float:
    with torch.no_grad():
        return float((reduced(x) - network(x)).norm() / network(x).norm())


@pytest.mark.parametrize("share, kind", [(0.6, "parameters"), (0.2, "flops")])
@pytest.mark.parametrize("method", ALL_METHODS)
def test_a_budget_is_met(method, share, kind):
    network, x, _ = redundant(1)
    found = reduce(network, x[:1], method=method, calibration=x, **{kind: share})
    spent = count(found.network, x, kind)
    assert spent == getattr(found.trace[-1], f"{kind}_after")
    assert spent <= share * count(network, x, kind)
    if method in ("magnitude", "neuron_merging", "brain_surgeon"):  # keep as many as they may
        assert spent > 0.85 * share * count(network, x, kind)
    error = output_error(network, found.network, split(x)[1])
    assert found.output_error == pytest.approx(error, rel=1e-12)


class Attention(nn.Module):
    """Most of its flops are in an attention and a transposed convolution, whose widths stay."""

    def __init__(self):
        super().__init__()
        self.q, self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 32), nn.Linear(32, 4)
        self.up = nn.ConvTranspose1d(4, 4, 3)

    def forward(self, x):
        x = nn.functional.scaled_dot_product_attention(self.q(x), x, x)
        x = self.two(torch.relu(self.one(x)))
        return self.up(x.transpose(1, 2))


@pytest.mark.parametrize("kind, share", [("flops", 0.8), ("parameters", 0.5), ("parameters", 0.1)])
def test_a_budget_is_of_the_whole_network_with_the_biases_that_are_added(kind, share):
    torch.manual_seed(0)
    if kind == "flops":
        network, x = Attention(), torch.randn(100, 20, 4)
    else:
        sizes = [(6, 32), (32, 32), (32, 32)]
        one, two, three = (nn.Linear(a, b, bias=False) for a, b in sizes)
        network, x = nn.Sequential(one, nn.ReLU(), two, nn.ReLU(), three), torch.randn(900, 6)
    found = reduce(network, x[:1], method="brain_surgeon", calibration=x, **{kind: share})
    spent = count(found.network, x, kind) / count(network, x, kind)
    assert 0.85 * share < spent <= share
    assert kind == "flops" or found.network[4].bias is not None


@pytest.mark.parametrize("kind, amount", [("parameters", 0.5), ("flops", 0.3), ("error", 0.02)])
def test_chosen_widths_are_multiples(kind, amount):
    network, x, _ = redundant(1)
    found = reduce(
        network, x[:1], method="brain_surgeon", calibration=x, multiple=8, **{kind: amount}
    )
    widths = [cut.units_after for cut in found.trace]
    assert all(width % 8 == 0 or width < 8 for width in widths) and min(widths) < 40
    if kind != "error":
        assert count(found.network, x, kind) <= amount * count(network, x, kind)
    else:
        assert output_error(network, found.network, split(x)[1]) <= amount


@pytest.mark.parametrize(
    "share, better, layer, kind, seed",
    [
        *((0.5, 0.05, 1, "parameters", 0), (0.5, 0.05, 2, "flops", 1)),
        *((0.2, 0.6, 1, "flops", 1), (0.2, 0.6, 2, "parameters", 0)),
        *((0.1, 1.0, 1, "parameters", 1), (0.1, 1.0, 2, "flops", 0)),
    ],
)
def test_chosen_widths_are_better_than_equal_shares(share, better, layer, kind, seed):
    network, x, held_out = redundant(layer, seed=seed)
    found = reduce(network, x[:1], method="brain_surgeon", calibration=x, **{kind: share})
    costs = cost_of_widths(network, x, find_layers(network, x[:1]).layers, kind)
    meets = [w for w in range(1, 40) if costs([w, w]) <= share * costs([40, 40])]
    ratio = max(meets) / 40  # as wide as the budget allows, the same for both layers
    even = reduce(network, x[:1], method="brain_surgeon", calibration=x, ratio=ratio)
    assert found.output_error <= better * even.output_error
    other = output_error(network, even.network, held_out)
    assert output_error(network, found.network, held_out) <= 1.1 * better * other
    assert found.trace[layer - 1].units_after < found.trace[2 - layer].units_after


def test_layers_that_are_not_named_keep_their_widths():
    network, x, _ = redundant(1)
    found = reduce(
        network, x[:1], method="brain_surgeon", layers=[2], parameters=0.5, calibration=x
    )
    assert [cut.layer for cut in found.trace] == ["2"]
    assert found.network[0].out_features == 40
    assert count(found.network, x, "parameters") <= 0.5 * count(network, x, "parameters")


@pytest.mark.parametrize(
    "error, method", [(0.3, "brain_surgeon"), (1e-3, "brain_surgeon"), (0.05, "folding")]
)
def test_an_error_is_kept_with_fewer_parameters(error, method):
    network, x, _ = redundant(1)
    found = reduce(network, x[:1], method=method, error=error, calibration=x)
    assert found.output_error <= error
    held_out = output_error(network, found.network, split(x)[1])
    assert held_out == pytest.approx(found.output_error, rel=1e-12)
    assert count(found.network, x, "parameters") < count(network, x, "parameters")


def test_widths_of_a_convolutional_network_are_chosen_too():
    network, x = make("convolutional")
    for kind, share in (("parameters", 0.4), ("flops", 0.3)):
        found = reduce(network, x[:1], method="brain_surgeon", calibration=x, **{kind: share})
        assert count(found.network, x, kind) <= share * count(network, x, kind)
        assert found.network(x).shape == (40, 3)


UNCALIBRATED = {"method": "folding", "calibration": None}


@pytest.mark.parametrize(
    "asked, message",
    [
        ({"parameters": 1e-4}, r"parameters=0.0001 cannot be reached: .* 0.0\d+ of the parameters"),
        ({"flops": 1e-4}, r"flops=0.0001 cannot be reached"),
        ({"error": 1e-14}, r"error=1e-14 cannot be kept"),
        ({"parameters": 1.5}, r"parameters=1.5 is a share: it lies between 0 and 1"),
        ({"error": 0.0}, r"error=0.0 is a share"),
        ({"flops": 1}, r"flops=1 is a share"),
        ({"flops": 0.5, "multiple": 0}, r"multiple=0 is a whole number of units, at least 1"),
        ({"flops": 0.5, "multiple": 1.5}, r"multiple=1.5 is a whole number"),
        *(
            (UNCALIBRATED | {kind: 0.5}, f"{kind}= chooses widths.*give calibration=inputs")
            for kind in ("parameters", "flops", "error")
        ),
    ],
)
def test_budgets_that_cannot_be_met_are_refused(asked, message):
    network, x, _ = redundant(1)
    with pytest.raises(ValueError, match=message):
        reduce(network, x[:1], **{"method": "brain_surgeon", "calibration": x} | asked)

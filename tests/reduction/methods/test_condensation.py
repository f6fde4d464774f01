"""Condensation: exact where units point in the same direction, and as in the paper elsewhere."""

import copy

import numpy as np
import pytest
import torch
from reducible import draw, gaussian
from torch import Tensor, nn
from torch.nn import functional as F

from combred.kernels import group
from combred.reduction import Merge, apply_merge, condense, describe_units, find_layers
from combred.reduction.methods.grouping import threshold_for
from combred.surrogates.model.network import Network

WIDTHS = [6, 40, 30, 5]
IMAGE = (3, 8, 8)


def inputs(n: int = 200, shape: tuple[int, ...] = (WIDTHS[0],)) -> Tensor:
    return gaussian(n, *shape, seed=5)


def condensed(network: nn.Module, number: int = 1, shape=(WIDTHS[0],), **how) -> Merge:
    """The merge of a hidden layer, numbered from 1."""
    x = inputs(2, shape).to(next(network.parameters()).dtype)
    return condense(describe_units(network, find_layers(network, x)[number]), **how)


def merged_at(network: nn.Module, number: int, merge: Merge, shape=(WIDTHS[0],)) -> nn.Module:
    x = inputs(2, shape).to(next(network.parameters()).dtype)
    return apply_merge(network, find_layers(network, x)[number], merge)


def mains(merge: Merge) -> Tensor:
    """The unit (m,) through which each unit is read; -1 for none."""
    return torch.where(merge.mixing.any(dim=0), merge.kept[merge.mixing.argmax(dim=0)], -1)


class Read(nn.Module):
    """conv -> relu -> two readers, and a third behind a pooling."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 24, 3)
        self.one, self.two = nn.Conv2d(24, 5, 3, padding=1), nn.Conv2d(24, 5, 1)
        self.pool, self.three = nn.MaxPool2d(6), nn.Linear(24, 5)

    def forward(self, x: Tensor) -> Tensor:
        a = torch.relu(self.conv(x))
        pooled = self.three(torch.flatten(self.pool(a), 1))
        return torch.cat([(self.one(a) * self.two(a)).mean((2, 3)), pooled], dim=1)


def head(inputs: int, *before: nn.Module) -> nn.Sequential:
    return nn.Sequential(*before, nn.Flatten(), nn.Linear(inputs, 5))


PLANTED = {  # a network, the number of the layer that is condensed, the shape of its inputs
    "first layer": (lambda: Network(WIDTHS), 1, (6,)),
    "no bias": (
        lambda: nn.Sequential(nn.Linear(6, 24, bias=False), nn.LeakyReLU(), nn.Linear(24, 5)),
        1,
        (6,),
    ),
    "linear and batch norm": (
        lambda: nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 5)),
        1,
        (6,),
    ),
    "convolution and batch norm": (
        lambda: head(5 * 16, nn.Conv2d(3, 24, 3, bias=False), nn.BatchNorm2d(24), nn.ReLU(),
                     nn.Conv2d(24, 5, 3)),
        1,
        IMAGE,
    ),
    "through average pooling and flatten, second": (
        lambda: head(24 * 4, nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 24, 3, padding=1),
                     nn.AvgPool2d(3), nn.ReLU()),
        2,
        IMAGE,
    ),
    "average pooling before batch norm": (
        lambda: head(24 * 4, nn.Conv2d(3, 24, 3), nn.AvgPool2d(3), nn.BatchNorm2d(24), nn.ReLU()),
        1,
        IMAGE,
    ),
    "several readers": (Read, 1, IMAGE),
}  # fmt: skip
planted_case = pytest.mark.parametrize("case", PLANTED)


def folded_rows(network: nn.Module, layer) -> np.ndarray:
    """Rows [W | b] (m, d + 1), the batch norm behind the layer folded in, in numpy."""
    producer = network.get_submodule(layer.name)
    W = producer.weight.detach().double().numpy().reshape(layer.units, -1)
    b = np.zeros(layer.units) if producer.bias is None else producer.bias.detach().double().numpy()
    if layer.norm:
        norm = network.get_submodule(layer.norm)
        gamma, beta, mean, var = (
            t.detach().double().numpy()
            for t in (norm.weight, norm.bias, norm.running_mean, norm.running_var)
        )
        scale = gamma / np.sqrt(var + norm.eps)
        W, b = W * scale[:, None], (b - mean) * scale + beta
    return np.column_stack([W, b])


@torch.no_grad()
def set_rows(network: nn.Module, layer, rows: Tensor) -> None:
    """Set weights, and beta of a batch norm, so that `folded_rows` are `rows` (m, d + 1)."""
    producer = network.get_submodule(layer.name)
    W, b = rows[:, :-1], rows[:, -1]
    if layer.norm:
        norm = network.get_submodule(layer.norm)
        scale = norm.weight / (norm.running_var + norm.eps).sqrt()
        W = W / scale[:, None]
        own = 0.0 if producer.bias is None else producer.bias
        norm.bias.copy_(b - (own - norm.running_mean) * scale)
    elif producer.bias is not None:
        producer.bias.copy_(b)
    producer.weight.copy_(W.reshape(producer.weight.shape))


def plant(network, layer, originals: int, noise: float = 0.0, seed: int = 0) -> Tensor:
    """Make every unit from `originals` on a positive multiple of one of the first units.

    noise: random change of a row, relative to its length. Returns the original (m,) of each unit.
    """
    rng = np.random.default_rng(seed)
    m = layer.units
    of = np.concatenate([np.arange(originals), rng.integers(0, originals, m - originals)])
    ratio = np.concatenate([np.ones(originals), 10.0 ** rng.uniform(-1, 1, m - originals)])
    rows = ratio[:, None] * folded_rows(network, layer)[of]
    if network.get_submodule(layer.name).bias is not None or layer.norm:
        strayed = rng.standard_normal(rows.shape)
    else:
        strayed = np.column_stack([rng.standard_normal(rows[:, :-1].shape), np.zeros(m)])
    strayed *= np.linalg.norm(rows, axis=1, keepdims=True) / np.sqrt(rows.shape[1])
    strayed[:originals] = 0.0
    set_rows(network, layer, torch.from_numpy(rows + noise * strayed))
    return torch.from_numpy(of)


def directions(layer) -> Tensor:
    """Rows v_k = [W_k | b_k] (m, m_in + 1) of a linear layer (m_in -> m), float64."""
    return torch.cat([layer.weight, layer.bias[:, None]], dim=1).detach().double()


@pytest.fixture
def planting(case):
    """A network (float64), a layer of it whose units have 7 directions, their originals, inputs."""
    make, number, shape = PLANTED[case]
    network, x = draw(make()).double(), inputs(20, shape)
    layer = find_layers(network, x)[number]
    return network, layer, plant(network, layer, originals=7), x


@torch.no_grad()
@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@planted_case
def test_planted_multiples_are_merged_exactly(planting, dtype, tolerance):
    network, layer, of, x = planting
    network, x = network.to(dtype), x.to(dtype)
    merge = condense(describe_units(network, layer), threshold=0.9999)
    assert torch.equal(mains(merge), of)  # ties go to the lowest index: to the original
    merged = apply_merge(network, layer, merge)
    assert find_layers(merged, x)[layer.name].units == 7
    out = network(x)
    # Rounding of the dtype, summed over some tens of units, on multiples up to ten times as large.
    assert (merged(x) - out).abs().max() < tolerance * out.abs().max()
    assert out.abs().max() > 0.1
    ones = Merge(merge.kept, (merge.mixing > 0).double(), merge.offset)
    for other in (ones, Merge.prune(merge.kept, layer.units)):
        wrong = apply_merge(network, layer, other)(x)
        assert (wrong - out).abs().max() > 1e-2 * out.abs().max()


@torch.no_grad()
def test_the_sign_of_gamma_is_part_of_a_direction():
    """Equal filters with gammas of different sign are not merged; opposite filters then are."""
    network = draw(PLANTED["convolution and batch norm"][0]()).double()
    conv, norm = network[0], network[1]
    for k, (ratio, sign) in enumerate([(1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)]):
        conv.weight[k] = ratio * conv.weight[0]
        norm.running_mean[k], norm.running_var[k] = ratio * norm.running_mean[0], 1.0
        norm.weight[k], norm.bias[k] = sign, ratio * sign * 0.3
    merge = condensed(network, 1, IMAGE, threshold=0.9999)
    assert mains(merge)[:3].tolist() == [0, 1, 0]
    x = inputs(10, IMAGE)
    merged = merged_at(network, 1, merge, IMAGE)
    assert torch.allclose(merged(x), network(x), rtol=0, atol=1e-12 * network(x).abs().max())


DEAD = {  # the layers behind a convolution to 8 units; biases of dead units; how many are removed
    "relu": ((nn.ReLU(), nn.Conv2d(8, 5, 3)), (0.7, -0.7, 9.0, 0.0), 4),
    "relu6": ((nn.ReLU6(), nn.Conv2d(8, 5, 3)), (0.7, -0.7, 9.0, 0.0), 4),
    "padding": ((nn.ReLU(), nn.Conv2d(8, 5, 3, padding=1)), (0.7, -0.7, 0.9, 0.0), 2),
    "padded pooling": (
        (nn.ReLU(), nn.AvgPool2d(3, padding=1), nn.Conv2d(8, 5, 1)), (0.7, -0.7, 0.9, 0.0), 2,
    ),
    "max pooling": ((nn.ReLU(), nn.MaxPool2d(3, padding=1), nn.Conv2d(8, 5, 1)), (0.7, -2.0), 2),
    "leaky": ((nn.LeakyReLU(), nn.Conv2d(8, 5, 3)), (0.7, -0.7, 0.9, 0.0), 1),
    "none": ((nn.Conv2d(8, 5, 3),), (0.7, -0.7, 0.9, 0.0), 1),
    "two activations": ((nn.LeakyReLU(), nn.ReLU(), nn.Conv2d(8, 5, 3)), (0.7, -0.7, 0.0), 1),
}  # fmt: skip


@torch.no_grad()
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("case", DEAD)
def test_dead_units_are_removed_where_their_constant_can_be_an_offset(case, norm):
    behind, biases, removed = DEAD[case]
    parts = [nn.Conv2d(3, 8, 3), *([nn.BatchNorm2d(8)] if norm else []), *copy.deepcopy(behind)]
    network = draw(nn.Sequential(*parts)).double()
    for k, bias in enumerate(biases):
        if norm:
            network[1].weight[k], network[1].bias[k] = 0.0, bias
        else:
            network[0].weight[k], network[0].bias[k] = 0.0, bias
    merge = condensed(network, 1, IMAGE, threshold=0.9999)
    assert int((mains(merge) < 0).sum()) == removed
    merged = merged_at(network, 1, merge, IMAGE)
    x = inputs(10, IMAGE)
    assert torch.allclose(merged(x), network(x), rtol=0, atol=1e-12 * network(x).abs().max())


class Branches(nn.Module):
    """A layer that one reader reads up to 6."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(6, 8), nn.Linear(8, 3), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.relu(self.a(x))
        return self.b(h) + self.c(F.relu6(h))


@torch.no_grad()
@pytest.mark.parametrize(("bias", "removed"), [(8.0, 0), (5.0, 1)])
def test_a_dead_unit_that_branches_read_as_two_constants_stays(bias, removed):
    network, x = draw(Branches()).double(), inputs(20)
    network.a.weight[0], network.a.bias[0] = 0.0, bias
    merge = condensed(network, threshold=0.9999)
    assert len(merge.kept) == 8 - removed
    assert torch.allclose(merged_at(network, 1, merge)(x), network(x), rtol=1e-12, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("how", [{"threshold": 0.9}, {"keep": 3}])
def test_a_layer_of_dead_units_keeps_one(make_network, how):
    network = make_network(WIDTHS).double()
    network.layers[0].weight.zero_()
    merged = merged_at(network, 1, condensed(network, **how))
    assert merged.widths == [6, 1, 30, 5]
    assert torch.allclose(merged(inputs()), network(inputs()), rtol=1e-12, atol=1e-12)  # float64


@torch.no_grad()
@pytest.mark.parametrize("case", ["first layer", "convolution and batch norm"])
def test_the_columns_of_the_next_layer_are_summed_as_in_the_paper(case):
    make, number, shape = PLANTED[case]
    network = draw(make()).double()
    layer = find_layers(network, inputs(2, shape))[number]
    v = folded_rows(network, layer)
    labels, main_units = group(torch.from_numpy(v), 0.4)
    merged = merged_at(network, number, condensed(network, number, shape, threshold=0.4), shape)
    reader = layer.readers[0][0]
    U, found = (n.get_submodule(reader).weight.numpy() for n in (network, merged))
    assert found.shape[1] == len(main_units) < layer.units
    for column, main in enumerate(sorted(main_units.tolist())):
        u = np.zeros_like(U[:, 0])
        for k in (labels == labels[main]).nonzero()[:, 0].tolist():
            u += np.linalg.norm(v[k]) / np.linalg.norm(v[main]) * U[:, k]
        assert np.allclose(found[:, column], u, rtol=1e-10, atol=1e-14)  # float64 rounding


@pytest.mark.parametrize("seed", range(3))
def test_keep_is_not_exceeded_and_the_threshold_is_the_highest(make_network, seed):
    network = make_network(WIDTHS, seed)
    rows = directions(network.layers[0])
    for keep in [(1, 10, 39), (2, 20, 40), (5, 35, 100)][seed]:
        threshold = threshold_for(rows, keep)
        assert len(group(rows, threshold)[1]) <= keep
        assert threshold == 1.0 if keep >= 40 else len(group(rows, threshold + 1e-6)[1]) > keep
        merge, expected = condensed(network, keep=keep), condensed(network, threshold=threshold)
        assert torch.equal(merge.kept, expected.kept)
        assert torch.equal(merge.mixing, expected.mixing)


@torch.no_grad()
def test_dead_units_do_not_count_among_those_that_are_kept(make_network):
    network = make_network(WIDTHS).double()
    network.layers[0].weight[:5] = 0.0
    merge = condensed(network, keep=35)
    assert len(merge.kept) == 35 and merge.kept.min() == 5
    assert len(condensed(network, keep=10).kept) <= 10


@pytest.mark.parametrize("how", [{}, {"keep": 0}, {"keep": -1}])
def test_a_threshold_or_a_number_of_units_is_required(make_network, how):
    with pytest.raises(ValueError, match="threshold=, or keep= of at least 1"):
        condensed(make_network(WIDTHS), **how)

"""Condensation: exact where units point exactly the same way, and by the paper elsewhere."""

import numpy as np
import pytest
import torch

from combred.reduction import apply_merge, condense
from combred.reduction.condensation import cosine_similarity, directions

WIDTHS = [6, 40, 30, 5]


def inputs(n: int = 200) -> torch.Tensor:
    generator = torch.Generator().manual_seed(5)
    return torch.randn(n, WIDTHS[0], generator=generator, dtype=torch.float64)


def plant(network, layer: int, originals: int, seed: int = 0):
    """Every unit from `originals` on becomes a positive multiple of one of the first units."""
    rng = np.random.default_rng(seed)
    linear = network.layers[layer - 1]
    m = linear.out_features
    of = torch.tensor(rng.integers(0, originals, m - originals))
    ratio = torch.tensor(rng.uniform(0.1, 10.0, m - originals)).to(linear.weight.dtype)
    with torch.no_grad():
        linear.weight[originals:] = ratio[:, None] * linear.weight[of]
        linear.bias[originals:] = ratio * linear.bias[of]
    return network


@torch.no_grad()
@pytest.mark.parametrize("layer", [1, 2])
@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_planted_multiples_are_merged_exactly(make_network, layer, dtype, tolerance):
    network = plant(make_network(WIDTHS).to(dtype), layer, originals=7)
    merge, labels = condense(network.layers[layer - 1], 0.9999)
    merged = apply_merge(network, layer, merge)
    assert merged.widths[layer] == 7
    assert len(labels.unique()) == 7
    x = inputs().to(dtype)
    out = network(x)
    # Rounding of the dtype, summed over some tens of units.
    assert (merged(x) - out).abs().max() < tolerance * out.abs().max()


@torch.no_grad()
def test_two_layers_one_after_the_other_are_merged_exactly(make_network):
    network = plant(plant(make_network(WIDTHS).double(), 1, 9), 2, 4)
    x, merged = inputs(), network
    for layer in (1, 2):
        merge, _ = condense(merged.layers[layer - 1], 0.9999)
        merged = apply_merge(merged, layer, merge)
    assert merged.widths == [6, 9, 4, 5]
    assert torch.allclose(merged(x), network(x), rtol=0, atol=1e-12 * network(x).abs().max())


@torch.no_grad()
def test_negative_multiples_are_not_merged(make_network):
    network = make_network(WIDTHS).double()
    linear = network.layers[0]
    linear.weight[20:], linear.bias[20:] = -linear.weight[:20], -linear.bias[:20]
    merge, _ = condense(linear, 0.9999)
    assert len(merge.kept) == 40 and not merge.changes


@torch.no_grad()
def test_the_bias_is_part_of_a_direction(make_network):
    network = make_network(WIDTHS).double()
    linear = network.layers[0]
    linear.weight[1], linear.bias[1] = linear.weight[0], linear.bias[0] + 1.0
    merge, _ = condense(linear, 0.9999)
    assert 0 in merge.kept and 1 in merge.kept


@torch.no_grad()
@pytest.mark.parametrize("bias", [0.7, -0.7, 0.0])
@pytest.mark.parametrize("layer", [1, 2])
def test_the_constant_of_dead_units_goes_into_the_next_bias(make_network, layer, bias):
    network = make_network(WIDTHS).double()
    linear = network.layers[layer - 1]
    dead = [0, 5, 6]
    linear.weight[dead], linear.bias[dead] = 0.0, bias
    merge, labels = condense(linear, 0.9999)
    assert not set(dead) & set(merge.kept.tolist())
    assert (labels < 0).nonzero()[:, 0].tolist() == dead
    merged = apply_merge(network, layer, merge)
    following = network.layers[layer]
    shift = following.weight[:, dead].sum(dim=1) * max(bias, 0.0)
    # One product and one sum in float64.
    assert torch.allclose(merged.layers[layer].bias, following.bias + shift, rtol=1e-12)
    assert torch.allclose(merged(inputs()), network(inputs()), rtol=1e-12, atol=1e-12)


@torch.no_grad()
def test_a_layer_of_dead_units_keeps_one(make_network):
    network = make_network(WIDTHS).double()
    network.layers[0].weight.zero_()
    merge, _ = condense(network.layers[0], 0.9)
    merged = apply_merge(network, 1, merge)
    assert merged.widths == [6, 1, 30, 5]
    assert torch.allclose(merged(inputs()), network(inputs()), rtol=1e-12, atol=1e-12)  # float64


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8])
def test_norm_mixing_has_one_positive_entry_for_each_living_unit(make_network, threshold):
    network = make_network(WIDTHS)
    linear = network.layers[0]
    with torch.no_grad():
        linear.weight[[3, 17]] = 0.0
    merge, labels = condense(linear, threshold)
    living = labels >= 0
    assert living.sum() == 38
    assert torch.equal((merge.mixing > 0).sum(dim=0), living.long())
    assert (merge.mixing >= 0).all()
    assert (merge.offset[living] == 0).all()
    # The entry is the ratio of norms, and a kept unit stands for itself.
    norm = directions(linear).norm(dim=1)
    main = merge.kept[merge.mixing.argmax(dim=0)]
    ratio = (norm / norm[main])[living]
    assert torch.allclose(merge.mixing.amax(dim=0)[living], ratio, rtol=1e-12)  # float64
    assert torch.equal(merge.mixing[:, merge.kept], torch.eye(len(merge.kept)).double())
    assert (merge.kept.diff() > 0).all()


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8])
def test_a_unit_is_read_through_one_as_alike_as_the_threshold(make_network, threshold):
    linear = make_network(WIDTHS).layers[0]
    merge, labels = condense(linear, threshold)
    main = merge.kept[merge.mixing.argmax(dim=0)]
    cosine = cosine_similarity(linear)[torch.arange(40), main]
    assert (cosine >= threshold - 1e-12).all()  # float64 rounding
    assert torch.equal(labels, labels[main])  # a group has one main


def test_the_next_column_is_the_sum_of_the_paper(make_network):
    network = make_network(WIDTHS).double()
    linear, following = network.layers[0], network.layers[1]
    merge, labels = condense(linear, 0.5)
    merged = apply_merge(network, 1, merge)
    v = torch.cat([linear.weight, linear.bias[:, None]], dim=1).detach()
    for column, main in enumerate(merge.kept.tolist()):
        u = torch.zeros(30, dtype=torch.float64)
        for k in (labels == labels[main]).nonzero()[:, 0].tolist():
            u += v[k].norm() / v[main].norm() * following.weight[:, k].detach()
        # float64 rounding
        assert torch.allclose(
            merged.layers[1].weight[:, column].detach(), u, rtol=1e-10, atol=1e-14
        )


def test_cosines_are_numpys(make_network):
    linear = make_network(WIDTHS).layers[0]
    with torch.no_grad():
        linear.weight[4], linear.bias[4] = 0.0, 0.0
    v = np.hstack([linear.weight.detach(), linear.bias.detach()[:, None]]).astype("f8")
    norm = np.linalg.norm(v, axis=1)
    with np.errstate(invalid="ignore"):
        expected = np.nan_to_num(v @ v.T / np.outer(norm, norm))
    assert np.allclose(cosine_similarity(linear), expected, rtol=0, atol=1e-14)  # float64


def test_fewer_units_stay_at_a_lower_threshold(make_network):
    linear = make_network(WIDTHS).layers[0]
    kept = [len(condense(linear, t)[0].kept) for t in (-1.0, 0.0, 0.5, 0.9, 1.0)]
    assert kept == sorted(kept) and kept[0] == 1 and kept[-1] == 40

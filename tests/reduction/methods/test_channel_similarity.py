"""Channel similarity against its equations and a clustering in plain Python (Zhang et al.)."""

import numpy as np
import pytest
import torch
from reducible import Residual, draw, gaussian
from torch import nn

from combred.reduction import channel_similarity, describe_units, find_layers, reduce
from combred.reduction.fit.calibration import layer_moments
from combred.reduction.methods.channel_similarity import cluster, distances
from combred.reduction.network.operations import ChannelSelection


def chain(seed: int = 0) -> nn.Sequential:
    """Two convolutions with batch norms; the second's channels are a hundred times as large."""
    network = nn.Sequential(
        *(nn.Conv2d(2, 14, 3), nn.BatchNorm2d(14), nn.ReLU()),
        *(nn.Conv2d(14, 11, 3), nn.BatchNorm2d(11), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(11, 3)),
    )
    network = draw(network.double(), seed)
    with torch.no_grad():
        network[4].weight *= 100.0
        network[4].bias *= 100.0
    return network


def images(n: int = 10, channels: int = 2) -> torch.Tensor:
    return gaussian(n, channels, 8, 8, seed=7)


def units_of(network, layer=1, calibration=None):
    survey = find_layers(network, images()[:1] if calibration is None else calibration[:1])
    found = survey[layer]
    data = None if calibration is None else layer_moments(network, None, found, calibration)
    return describe_units(network, found, data, calibration)


def normalised(D: np.ndarray) -> np.ndarray:
    """Distances normalised over the pairs of different channels (section 3.4, step 2)."""
    pairs = D[~np.eye(len(D), dtype=bool)]
    return (D - pairs.min()) / (pairs.max() - pairs.min())


def average_linkage(D: np.ndarray, stop) -> set[frozenset]:
    """Average linkage: merge the two nearest clusters until stop(clusters, distance)."""
    clusters = [frozenset([i]) for i in range(len(D))]
    while len(clusters) > 1:
        apart = {
            (a, b): np.mean([D[i, j] for i in a for j in b])
            for k, a in enumerate(clusters)
            for b in clusters[:k]
        }
        a, b = min(apart, key=apart.get)
        if stop(clusters, apart[a, b]):
            break
        clusters = [c for c in clusters if c not in (a, b)] + [a | b]
    return set(clusters)


def groups_of(merge) -> set[frozenset]:
    return {frozenset(row.nonzero()[:, 0].tolist()) for row in merge.mixing}


@torch.no_grad()
def test_distances_of_activations_are_equation_1():
    network, x = chain(), images()
    D, _ = distances(units_of(network, 1, x), "activations")
    maps = network[:2](x)  # before the ReLU; positions and images are the H x W x B of the paper
    for i in range(14):
        for j in range(14):
            found = float(D[i, j])
            mse = float((maps[:, i] - maps[:, j]).square().mean())
            assert found == pytest.approx(mse, rel=1e-11, abs=1e-13)  # means of some hundred


def test_distances_of_batch_norms_are_equation_4():
    network = chain()
    found, strength = distances(units_of(network), "batch_norm")
    assert torch.equal(strength, network[1].weight.detach().abs())
    gamma, beta = network[1].weight.tolist(), network[1].bias.tolist()
    for i in range(14):
        for j in range(14):
            expected = (beta[i] - beta[j]) ** 2 + gamma[i] ** 2 + gamma[j] ** 2
            assert float(found[i, j]) == pytest.approx(0.0 if i == j else expected, rel=1e-14)


@torch.no_grad()
def test_units_along_the_last_axis_and_of_a_stream_are_read_before_the_activation():
    network = nn.Sequential(nn.Linear(4, 7), nn.ReLU(), nn.Linear(7, 2)).double()
    x = gaussian(20, 3, 4)
    D, strength = distances(units_of(network, 1, x), "moments")
    a = network[0](x).flatten(0, 1)
    assert torch.allclose(strength, a.std(0, correction=0))
    assert float(D[0, 1]) == pytest.approx(float((a[:, 0].mean() - a[:, 1].mean()) ** 2 +
                                                 strength[0] ** 2 + strength[1] ** 2))  # fmt: skip
    network, x = draw(Residual().double()), gaussian(6, 2, 8, 8)
    stream = {layer.name: layer for layer in find_layers(network, x).layers}["two.bn1"]
    D, _ = distances(describe_units(network, stream, None, x), "activations")
    maps = network.two.bn1(network.one(network.stem(x)))
    assert float(D[2, 5]) == pytest.approx(float((maps[:, 2] - maps[:, 5]).square().mean()))


def test_distances_can_be_left_as_they_are():
    units = units_of(chain())
    D = distances(units, "batch_norm")[0].numpy()
    threshold = float(np.quantile(D[~np.eye(14, dtype=bool)], 0.2))
    merge = channel_similarity(units, threshold=threshold, normalise=False)
    assert groups_of(merge) == average_linkage(D, lambda _, apart: apart > threshold)
    assert 1 < len(merge.kept) < 14
    assert len(channel_similarity(units, threshold=threshold).kept) == 1


@pytest.mark.parametrize("seed, threshold", [(0, 0.05), (1, 0.2), (2, 0.5), (3, 0.2)])
def test_clusters_are_those_of_average_linkage(seed, threshold):
    units = units_of(chain(seed))
    D = normalised(distances(units, "batch_norm")[0].numpy())
    merge = channel_similarity(units, threshold=threshold)
    assert groups_of(merge) == average_linkage(D, lambda _, apart: apart > threshold)
    keep = len(merge.kept)
    assert groups_of(channel_similarity(units, keep=keep)) == groups_of(merge)


def test_the_channel_of_the_largest_gamma_stands_for_its_cluster():
    network = chain()
    merge = channel_similarity(units_of(network), threshold=0.3)
    gamma = network[1].weight.detach().abs()
    assert 1 < len(merge.kept) < 14
    for kept, row in zip(merge.kept.tolist(), merge.mixing, strict=True):
        members = row.nonzero()[:, 0]
        assert kept == members[gamma[members].argmax()]
        assert (row[members] == 1.0).all()  # equation (6): filters of the cluster are added up
    assert not merge.offset.any() and (merge.kept.diff() > 0).all()


@torch.no_grad()
def test_layers_without_batch_norm_take_their_statistics_from_calibration():
    network = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 3)).double()
    x = gaussian(300, 4)
    merge = channel_similarity(units_of(network, 1, x), keep=5)
    a = network[0](x).numpy()
    mean, variance = a.mean(0), a.var(0)
    D = np.subtract.outer(mean, mean) ** 2 + np.add.outer(variance, variance)
    expected = average_linkage(normalised(D), lambda clusters, _: len(clusters) == 5)
    assert groups_of(merge) == expected
    for kept, row in zip(merge.kept.tolist(), merge.mixing, strict=True):
        members = row.nonzero()[:, 0].numpy()
        assert kept == members[variance[members].argmax()]
    with pytest.raises(ValueError, match="give calibration"):
        reduce(network, x[:1], method="channel_similarity", ratio=0.5)


def test_one_unit_and_equal_units_are_one_cluster():
    assert cluster(torch.zeros(1, 1).double(), 0.1, None).tolist() == [1]
    assert cluster(torch.zeros(4, 4).double(), 0.1, None).tolist() == [1, 1, 1, 1]


def test_unknown_statistics_and_missing_batch_norms_are_refused():
    units = units_of(chain())
    with pytest.raises(ValueError, match="'means' is none of auto, batch_norm, activations"):
        channel_similarity(units, keep=3, statistics="means")
    plain = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    x = torch.zeros(1, 4)
    with pytest.raises(ValueError, match="has no batch norm: give calibration"):
        channel_similarity(
            describe_units(plain, find_layers(plain, x)[1]), keep=3, statistics="batch_norm"
        )


STREAM = ["one.bn1", "two.bn1", "norm"]


@torch.no_grad()
@pytest.mark.parametrize("calibrated", [False, True])
def test_pre_activation_blocks_read_fewer_channels_of_the_stream(calibrated):
    network, x = draw(Residual().double()), images()
    calibration = {"calibration": x} if calibrated else {}
    found = reduce(network, x[:1], method="channel_similarity", ratio=0.5, **calibration)
    small = found.network
    assert type(small) is Residual and small(x).shape == (10, 4)
    assert {cut.layer for cut in found.trace} == {*STREAM, "one.conv1", "two.conv1"}
    assert small.one.conv1.in_channels == small.two.conv1.in_channels == 4
    assert (small.one.conv1.out_channels, small.two.conv1.out_channels) == (3, 5)
    assert small.classify.in_features == 4
    assert small.stem.out_channels == small.one.conv2.out_channels == 8  # the stream stays
    for name in STREAM:
        selection, norm = small.get_submodule(name)
        assert isinstance(selection, ChannelSelection) and norm.num_features == 4
        original = network.get_submodule(name)
        assert torch.equal(norm.weight, original.weight[selection.channels])
        assert torch.equal(norm.running_var, original.running_var[selection.channels])
    assert found.trace[-1].parameters_after == sum(p.numel() for p in small.parameters())
    assert found.trace[-1].flops_after < found.trace[0].flops_before
    assert not any(isinstance(module, ChannelSelection) for module in network.modules())


def test_other_methods_leave_the_stream_alone_with_a_reason():
    network, x = draw(Residual().double()), images()
    found = reduce(network, x[:1], method="magnitude", ratio=0.5)
    assert {cut.layer for cut in found.trace} == {"one.conv1", "two.conv1"}
    with pytest.raises(ValueError, match="one.bn1 cannot be reduced: it chooses channels"):
        reduce(network, x[:1], method="magnitude", layers=["one.bn1"], ratio=0.5)


@torch.no_grad()
@pytest.mark.parametrize("method", ["brain_surgeon", "interpolative"])
def test_methods_with_calibration_choose_channels_of_the_stream_where_it_is_named(method):
    network, x = draw(Residual().double()), images(20)
    given = dict(method=method, layers=STREAM, calibration=x)
    small = reduce(network, x[:1], ratio=0.5, **given)
    assert [cut.units_after for cut in small.trace] == [4, 4, 4]
    assert small.network.one.conv1.in_channels == 4
    large = reduce(network, x[:1], ratio=7 / 8, **given)
    assert large.output_error < small.output_error < 1.0

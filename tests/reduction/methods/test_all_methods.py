"""Every reduction method on every kind of network: properties that hold for all of them.

A method is tested here by being listed in `combred.reduction.METHODS`.
"""

import pytest
import torch
from reducible import ALL_METHODS, NETWORKS, flops, linear, make, parameters, same, state
from torch import nn

import combred
from combred.config.reduction import REDUCTIONS
from combred.reduction import METHODS, find_layers
from combred.reduction.fit.compensation import COMPENSATIONS
from combred.reduction.fit.held_out import split

every_method = pytest.mark.parametrize("method", ALL_METHODS)
# Every method with every network and with every compensation, each pair once.
PAIRS = [
    (method, network, COMPENSATIONS[(i + j) % len(COMPENSATIONS)])
    for i, method in enumerate(ALL_METHODS)
    for j, network in enumerate(NETWORKS)
]


def test_every_method_is_a_setting():
    assert set(REDUCTIONS) == set(METHODS)


@torch.no_grad()
@pytest.mark.parametrize("method, name, compensation", PAIRS)
def test_a_network_of_every_kind_is_reduced(method, name, compensation):
    network, x = make(name)
    for module in network.modules():  # some in training mode, some not
        module.training = isinstance(module, (nn.ReLU, nn.Linear))
    before = state(network)
    found = combred.reduce(
        network, x[:2], method=method, ratio=0.5, calibration=x, compensation=compensation
    )
    assert same(state(network), before)
    small = found.network
    assert type(small) is type(network)
    assert [m.training for m in small.modules()] == [m.training for m in network.modules()]
    assert small(x).shape == network(x).shape and torch.isfinite(small(x)).all()
    layers = find_layers(network, x[:1]).layers
    done = [layer for layer in layers if not layer.depthwise or METHODS[method].handles_depthwise]
    assert [record.layer for record in found.trace] == [layer.name for layer in done]
    assert set(found.untouched) >= {layer.name for layer in layers if layer not in done}
    for record, layer in zip(found.trace, done, strict=True):
        producer = small.get_submodule(record.layer)
        assert record.units_before == layer.units > record.units_after == len(producer.weight)
        assert record.units_after <= round(0.5 * layer.units)
        assert record.method == method and record.compensation == compensation
        assert 0 <= record.groups <= record.units_after and record.largest_group >= 1
        assert 0 <= record.dropped <= record.units_before - record.units_after
        assert 0.0 <= record.error < 10.0 and record.seconds > 0.0
        for carrier in layer.carriers[1:]:
            assert len(small.get_submodule(carrier).weight) == record.units_after
    for one, other in zip(found.trace, found.trace[1:], strict=False):
        assert one.parameters_after == other.parameters_before
        assert one.flops_after == other.flops_before
    first, last = found.trace[0], found.trace[-1]
    assert (first.parameters_before, first.flops_before) == (parameters(network), flops(network, x))
    assert (last.parameters_after, last.flops_after) == (parameters(small), flops(small, x))
    network.eval(), small.eval()
    other = split(x)[1]  # not fitted
    error = float((small(other) - network(other)).norm() / network(other).norm())
    assert found.output_error == pytest.approx(error, rel=1e-4)  # float32


@torch.no_grad()
@pytest.mark.parametrize(
    "method, name", [(method, list(NETWORKS)[i % 3]) for i, method in enumerate(ALL_METHODS)]
)
def test_a_reduced_network_can_be_reduced_and_trained_again(method, name):
    network, x = make(name)
    once = combred.reduce(network, x[:1], method=method, ratio=0.7, calibration=x)
    twice = combred.reduce(once.network, x[:1], method=method, ratio=0.6, calibration=x)
    for one, other in zip(once.trace, twice.trace, strict=True):
        assert other.units_before == one.units_after > other.units_after
    assert twice.trace[0].parameters_before == once.trace[-1].parameters_after
    with torch.enable_grad():
        twice.network.train()(x).square().mean().backward()
    assert all(p.grad is not None for p in twice.network.parameters())
    assert all(p.grad is None for p in network.parameters())


@torch.no_grad()
def with_copies() -> tuple[nn.Module, torch.Tensor]:
    """A network whose units 8 to 15 of the first layer are copies of units 0 to 7, and inputs."""
    network, x = make("linear", torch.float64)
    network[0].weight[8:], network[0].bias[8:] = network[0].weight[:8], network[0].bias[:8]
    return network, x


@every_method
def test_the_own_mixing_of_a_method_reads_copies_through_their_originals(method):
    network, x = with_copies()
    given = dict(method=method, layers=[1], ratio=0.5, calibration=x)
    error = {
        kind: combred.reduce(network, x[:1], compensation=kind, **given).trace[0].error
        for kind in COMPENSATIONS
    }
    if method == "magnitude":
        assert error["none"] == error["own"]
    if method not in ("magnitude", "neuron_merging", "channel_similarity"):  # may keep copies
        assert error["least_squares"] < 1e-5  # the ridge of 1e-6
    if method in ("condensation", "folding", "interpolative"):
        assert error["own"] < 1e-12 < 0.1 < error["none"]  # rounding of float64
    assert error["least_squares"] <= error["own"] * (1 + 1e-9) + 1e-12
    if method != "channel_similarity":  # means and variances do not tell copies apart from others
        assert error["own"] <= error["none"] * (1 + 1e-12)


@pytest.mark.parametrize(
    "method, activation", [(m, (nn.GELU, nn.Tanh)[i % 2]) for i, m in enumerate(ALL_METHODS)]
)
def test_least_squares_needs_no_homogeneous_activation(method, activation):
    torch.manual_seed(0)
    network, x = linear(activation).eval(), torch.randn(60, 5)
    given = dict(method=method, ratio=0.5, calibration=x)
    found = combred.reduce(network, x[:1], **given)
    assert found.trace[0].units_after <= 8 and found.output_error < 1.0
    if not METHODS[method].needs_homogeneous:
        combred.reduce(network, x[:1], compensation="own", **given)
        return
    with pytest.raises(ValueError, match="0: its activation is not homogeneous.*2: its activation"):
        combred.reduce(network, x[:1], compensation="own", **given)
    with pytest.raises(ValueError, match="layer 0 cannot.*give calibration=inputs.*least squares"):
        combred.reduce(network, x[:1], compensation="own", layers=[1], **given)


@every_method
def test_layers_without_any_activity_are_reduced(method):
    network, x = make("linear")
    with torch.no_grad():
        network[0].bias.fill_(-100.0)  # no unit of the first layer is ever active
    for compensation in COMPENSATIONS:
        found = combred.reduce(
            network, x[:1], method=method, ratio=0.5, calibration=x, compensation=compensation
        )
        assert torch.isfinite(found.network(x)).all()
        assert found.trace[0].units_after <= 8 and found.trace[0].error == 0.0

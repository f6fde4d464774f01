"""`combred.reduce`: every method on every kind of network, and all that it refuses."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import combred
from combred.reduction import METHODS, Merge, condense, find_layers, magnitude
from combred.reduction.compensation import COMPENSATIONS
from combred.reduction.methods import neuron_merging
from combred.surrogate.card import make_card
from combred.surrogate.export import export_torchscript, load_torchscript
from combred.surrogate.network import Network
from combred.surrogate.surrogate import Surrogate

ALL_METHODS = list(METHODS)  # a new method is tested by being listed there


def linear(activation=nn.ReLU) -> nn.Module:
    layers = [nn.Linear(5, 16), activation(), nn.Linear(16, 12), activation(), nn.Linear(12, 4)]
    return nn.Sequential(*layers)


class Convolutional(nn.Module):
    """Batch norms, a convolution that pads, pooling, flatten, and functions in forward."""

    def __init__(self):
        super().__init__()
        self.one, self.norm1 = nn.Conv2d(2, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.two, self.norm2 = nn.Conv2d(8, 6, 3, padding=1), nn.BatchNorm2d(6)
        self.three, self.four = nn.Linear(6 * 4 * 4, 10), nn.Linear(10, 3)

    def forward(self, x):
        x = F.relu(self.norm1(self.one(x)))
        x = F.max_pool2d(F.relu(self.norm2(self.two(x))), 2)
        return self.four(F.relu(self.three(torch.flatten(x, 1))))


def depthwise() -> nn.Module:
    """An expansion, a depthwise convolution and a projection, and a linear layer."""
    return nn.Sequential(
        *(nn.Conv2d(2, 12, 1, bias=False), nn.BatchNorm2d(12), nn.ReLU6()),
        *(nn.Conv2d(12, 12, 3, padding=1, groups=12, bias=False), nn.BatchNorm2d(12), nn.ReLU6()),
        *(nn.Conv2d(12, 5, 1), nn.BatchNorm2d(5), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)),
    )


NETWORKS = {"linear": (linear, (5,)), "convolutional": (Convolutional, (2, 8, 8))}
NETWORKS |= {"depthwise": (depthwise, (2, 8, 8))}


@torch.no_grad()
def make(name: str, dtype=torch.float32, seed: int = 0) -> tuple[nn.Module, torch.Tensor]:
    """A network with seeded weights and batch norms that have seen something, and 40 inputs."""
    build, shape = NETWORKS[name]
    network, generator = build(), torch.Generator().manual_seed(seed)
    for module in network.modules():
        for tensor in module.parameters(recurse=False):
            fan = tensor[0].numel() if tensor.dim() > 1 else 4
            tensor.normal_(0.0, (2.0 / fan) ** 0.5, generator=generator)
        if isinstance(module, nn.BatchNorm2d):
            module.weight.abs_().add_(0.3)
            module.running_mean.normal_(0.0, 0.3, generator=generator)
            module.running_var.uniform_(0.5, 2.0, generator=generator)
    x = torch.randn(40, *shape, generator=generator)
    return network.to(dtype).eval(), x.to(dtype)


def flops(network: nn.Module, x: torch.Tensor) -> int:
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(x[:1])
    return counter.get_total_flops()


def parameters(network: nn.Module) -> int:
    return sum(p.numel() for p in network.parameters())


def state(network: nn.Module) -> dict:
    modes = {name: module.training for name, module in network.named_modules()}
    return {key: value.clone() for key, value in network.state_dict().items()} | modes


def same(one: dict, other: dict) -> bool:
    return one.keys() == other.keys() and all(
        torch.equal(a, other[key]) if isinstance(a, torch.Tensor) else a == other[key]
        for key, a in one.items()
    )


@torch.no_grad()
@pytest.mark.parametrize("compensation", [None, *COMPENSATIONS])
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("method", ALL_METHODS)
def test_every_method_reduces_every_kind_of_network(method, name, compensation):
    network, x = make(name)
    for module in network.modules():  # half in one mode, half in the other
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
    done = [layer for layer in layers if not layer.depthwise or METHODS[method].depthwise]
    assert [cut.layer for cut in found.trace] == [layer.name for layer in done]
    assert set(found.untouched) >= {layer.name for layer in layers if layer not in done}
    for cut, layer in zip(found.trace, done, strict=True):
        producer = small.get_submodule(cut.layer)
        assert cut.units_before == layer.units > cut.units_after == len(producer.weight)
        assert cut.units_after <= round(0.5 * layer.units)
        assert cut.method == method and cut.compensation == (compensation or "least_squares")
        assert 0 <= cut.groups <= cut.units_after and cut.largest_group >= 1
        assert 0.0 <= cut.error < 10.0 and cut.seconds > 0.0
        for carrier in layer.carriers[1:]:
            assert len(small.get_submodule(carrier).weight) == cut.units_after
    for one, other in zip(found.trace, found.trace[1:], strict=False):
        assert one.parameters_after == other.parameters_before
        assert one.flops_after == other.flops_before
    first, last = found.trace[0], found.trace[-1]
    assert (first.parameters_before, first.flops_before) == (parameters(network), flops(network, x))
    assert (last.parameters_after, last.flops_after) == (parameters(small), flops(small, x))
    network.eval(), small.eval()
    error = float((small(x) - network(x)).norm() / network(x).norm())
    assert found.output_error == pytest.approx(error, rel=1e-4)  # float32


@torch.no_grad()
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("method", ALL_METHODS)
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


@pytest.mark.parametrize("layer", [1, 2])
@pytest.mark.parametrize("ratio", [0.75, 0.25])
@pytest.mark.parametrize("method", ALL_METHODS)
def test_least_squares_is_never_worse_than_the_methods_own_mixing(method, ratio, layer):
    for seed in range(3):
        network, x = make("linear", torch.float64, seed)
        given = dict(method=method, layers=[layer], ratio=ratio, calibration=x)
        errors = {
            kind: combred.reduce(network, x[:1], compensation=kind, **given).trace[0].error
            for kind in COMPENSATIONS
        }
        # The ridge is about the own mixing, so that it cannot make the fit worse than it.
        assert errors["least_squares"] <= errors["own"] * (1 + 1e-9) + 1e-12


@torch.no_grad()
def planted(dtype=torch.float64):
    """Units 8 to 15 of the first layer do what units 0 to 7 do."""
    network, x = make("linear", dtype)
    network[0].weight[8:], network[0].bias[8:] = network[0].weight[:8], network[0].bias[:8]
    return network, x


@pytest.mark.parametrize("method", ALL_METHODS)
def test_what_is_the_same_is_mended_by_the_methods_own_mixing(method):
    network, x = planted()
    given = dict(method=method, layers=[1], ratio=0.5, calibration=x)
    error = {
        kind: combred.reduce(network, x[:1], compensation=kind, **given).trace[0].error
        for kind in COMPENSATIONS
    }
    if method == "magnitude":
        assert error["none"] == error["own"]
    if method not in ("magnitude", "neuron_merging", "channel_similarity"):  # which may keep twins
        assert error["least_squares"] < 1e-5  # the ridge of 1e-6
    if method in ("condensation", "folding", "interpolative"):
        assert error["own"] < 1e-12 < 0.1 < error["none"]  # rounding of float64
    assert error["least_squares"] <= error["own"] * (1 + 1e-9) + 1e-12
    if method != "channel_similarity":  # whose distances by mean and variance see no twins
        assert error["own"] <= error["none"] * (1 + 1e-12)


@torch.no_grad()
def test_the_error_of_a_cut_is_that_of_the_next_pre_activations():
    network, x = make("linear", torch.float64)
    given = dict(method="magnitude", ratio=0.5, calibration=x)
    found = combred.reduce(network, x[:1], **given)
    first = combred.reduce(network, x[:1], layers=[1], **given).network  # the second layer whole
    one = network[:3](x)
    expected = (first[:3](x) - one).norm() / one.norm()
    assert found.trace[0].error == pytest.approx(float(expected), rel=1e-12)  # float64
    expected = (found.network(x) - network(x)).norm() / network(x).norm()
    assert found.trace[1].error == pytest.approx(float(expected), rel=1e-12)


def test_sizes_are_a_number_or_one_for_each_layer_by_order_or_name():
    network, x = make("linear")

    def widths(ratio, **more):
        cuts = combred.reduce(network, x[:1], method="magnitude", ratio=ratio, **more).trace
        return {cut.layer: cut.units_after for cut in cuts}

    assert widths(0.5) == {"0": 8, "2": 6}
    assert widths([0.25, 0.5]) == widths((0.25, 0.5)) == {"0": 4, "2": 6}
    assert widths({"2": 0.25, "0": 1.0}) == {"0": 16, "2": 3}
    assert widths(1e-6) == {"0": 1, "2": 1}
    assert widths([0.5], layers=[2]) == widths([0.5], layers=["2"]) == {"2": 6}
    for size in (0.9, [0.9, 0.8], {"0": 0.9, "2": 0.8}):
        found = combred.reduce(network, x[:1], threshold=size)
        assert len(found.trace) == 2


def test_layers_may_be_named_in_any_order():
    network, x = make("linear")
    given = dict(method="brain_surgeon", calibration=x)
    one = combred.reduce(network, x[:1], layers=["0", "2"], ratio=[0.25, 0.5], **given)
    other = combred.reduce(network, x[:1], layers=[2, 1], ratio=[0.5, 0.25], **given)
    assert [cut.layer for cut in other.trace] == ["0", "2"]  # front to back all the same
    assert same(state(one.network), state(other.network))
    assert [replace(c, seconds=0) for c in one.trace] == [
        replace(c, seconds=0) for c in other.trace
    ]


@torch.no_grad()
@pytest.mark.parametrize("method", ["folding", "brain_surgeon"])
@pytest.mark.parametrize("name", NETWORKS)
def test_batches_are_as_good_as_all_at_once(name, method):
    network, x = make(name, torch.float64)
    given = dict(method=method, ratio=0.5)
    one = combred.reduce(network, x[:1], calibration=x, **given)
    other = combred.reduce(network, x[:1], calibration=list(x.split(7)), **given)
    # Sums in another order; least squares of condition up to 1e6 by its ridge.
    assert torch.allclose(one.network(x), other.network(x), rtol=1e-7, atol=1e-8)
    assert one.output_error == pytest.approx(other.output_error, rel=1e-7)


def test_without_calibration_there_are_no_errors_and_the_mixing_is_the_methods_own():
    network, x = make("linear")
    found = combred.reduce(network, x[:1], method="folding", ratio=0.5)
    assert found.output_error is None and all(cut.error is None for cut in found.trace)
    assert found.trace[0].compensation == "own"
    explicit = combred.reduce(network, x[:1], method="folding", ratio=0.5, compensation="own")
    assert same(state(found.network), state(explicit.network))


def test_a_callable_is_a_method():
    network, x = make("linear")
    named = combred.reduce(network, x[:1], method="condensation", threshold=0.5)
    called = combred.reduce(network, x[:1], method=condense, threshold=0.5)
    assert same(state(named.network), state(called.network))
    method = partial(partial(neuron_merging, criterion="l1"), t=0.2)
    found = combred.reduce(network, x[:1], method=method, ratio=0.5)
    assert found.trace[0].method == "neuron_merging"
    with pytest.raises(ValueError, match="neuron_merging takes ratio="):  # as the method it is
        combred.reduce(network, x[:1], method=method, threshold=0.5)

    def every_second(units, *, keep):
        return Merge.prune(torch.arange(0, units.m, 2)[:keep], units.m)

    found = combred.reduce(network, x[:1], method=every_second, ratio=0.25, calibration=x)
    assert [cut.units_after for cut in found.trace] == [4, 3]
    assert torch.equal(found.network[0].weight, network[0].weight[0:8:2])
    assert found.trace[0].method == "every_second"


@pytest.mark.parametrize("method", ALL_METHODS)
@pytest.mark.parametrize("activation", [nn.GELU, nn.Tanh])
def test_least_squares_does_without_a_homogeneous_activation(method, activation):
    torch.manual_seed(0)
    network, x = linear(activation).eval(), torch.randn(60, 5)
    given = dict(method=method, ratio=0.5, calibration=x)
    found = combred.reduce(network, x[:1], **given)
    assert found.trace[0].units_after <= 8 and found.output_error < 1.0
    if not METHODS[method].multiples:
        combred.reduce(network, x[:1], compensation="own", **given)
        return
    with pytest.raises(ValueError, match="0: its activation is not homogeneous.*2: its activation"):
        combred.reduce(network, x[:1], compensation="own", **given)
    with pytest.raises(ValueError, match='layer 0 cannot.*compensation="least_squares" can'):
        combred.reduce(network, x[:1], compensation="own", layers=[1], **given)


class Hard(nn.Module):
    """Its forward has the width of its first layer written into it."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv2d(1, 8, 3), nn.Linear(8 * 4 * 4, 3)

    def forward(self, x):
        return self.two(torch.relu(self.one(x)).view(x.size(0), 8 * 4 * 4))


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("method", ["magnitude", "folding"])
def test_a_width_written_into_forward_is_told(method, calibrated):
    network, x = Hard(), torch.randn(20, 1, 6, 6)
    calibration = {"calibration": x} if calibrated else {}
    with pytest.raises(ValueError, match="fewer units in one.*has the old width written into it"):
        combred.reduce(network, x[:1], method=method, ratio=0.5, **calibration)
    if calibrated:
        with pytest.raises(ValueError, match="has the old width written into it"):
            combred.reduce(network, x[:1], method=method, parameters=0.5, **calibration)


@pytest.mark.parametrize(
    "asked, message",
    [
        (dict(method="prune", ratio=0.5), "no method 'prune': condensation, .*brain_surgeon"),
        (dict(), "say how far: one of threshold=, ratio=, parameters=, flops= or error="),
        (dict(ratio=0.5, threshold=0.5), "say how far: one of"),
        (dict(ratio=0.5, parameters=0.5), "say how far: one of"),
        (dict(method="magnitude", threshold=0.5), r"magnitude takes ratio=.*no threshold="),
        (dict(ratio=0.0), r"ratio=0.0 is the share of units kept: it lies in \(0, 1\]"),
        (dict(ratio=[0.5, 1.5]), r"it lies in \(0, 1\]"),
        (dict(ratio=1.0), "changes nothing: all 28 units stay"),
        (dict(threshold=0.99999), "threshold=0.99999 changes nothing"),
        (dict(ratio=[0.5]), r"1 sizes are given for 2 layers: \['0', '2'\]"),
        (dict(ratio={"0": 0.5}), r"sizes are given for \['0'\], layers are \['0', '2'\]"),
        (dict(ratio={"0": 0.5, "5": 0.5}), r"sizes are given for \['0', '5'\], layers are"),
        (dict(method="brain_surgeon", ratio=0.5), "brain_surgeon looks at activations: give cal"),
        (dict(method="interpolative", ratio=0.5), "interpolative looks at activations: give cal"),
        (dict(ratio=0.5, compensation="least_squares"), "fits activations: give calibration="),
        (dict(ratio=0.5, compensation="ols"), "'ols' is none of own, least_squares, none"),
        (dict(ratio=0.5, layers=["4"]), "layer 4 cannot be reduced: its units are the network's"),
        (dict(ratio=0.5, layers=[3]), "layer 3 cannot be reduced: .* hidden layers 1 to 2"),
        (dict(ratio=0.5, layers=["fc"]), "there is no layer 'fc'; hidden layers are 0, 2"),
        (dict(ratio=0.5, layers=[1, "0"]), "layer 0 is named twice"),
        (dict(ratio=0.5, layers=[]), "there is no layer that condensation can reduce"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked, message):
    network, x = make("linear")
    before = state(network)
    with pytest.raises(ValueError, match=message):
        combred.reduce(network, x[:1], **asked)
    assert same(state(network), before)


def test_calibration_that_runs_only_once_is_refused():
    network, x = make("linear")
    with pytest.raises(ValueError, match=r"iterator only once: give inputs .*list\(batches\)"):
        combred.reduce(network, x[:1], method="folding", ratio=0.5, calibration=iter(x.split(8)))


def test_an_example_input_is_wanted():
    with pytest.raises(ValueError, match="wants an example_input"):
        combred.reduce(make("linear")[0], ratio=0.5)


@pytest.mark.parametrize("method", ["neuron_merging", "folding"])
def test_a_layer_a_method_is_not_defined_for_is_named_with_the_reason(method):
    network, x = make("depthwise")
    reason = "not defined through a depthwise convolution"
    found = combred.reduce(network, x[:1], method=method, ratio=0.5)
    assert reason in found.untouched["0"]
    with pytest.raises(ValueError, match=f"layer 0 cannot be reduced: the method is {reason}"):
        combred.reduce(network, x[:1], method=method, layers=["0"], ratio=0.5)


@pytest.mark.parametrize("method", ALL_METHODS)
def test_layers_without_any_activity_are_cut_too(method):
    network, x = make("linear")
    with torch.no_grad():
        network[0].bias.fill_(-100.0)  # no unit of the first layer is ever active
    for compensation in COMPENSATIONS:
        found = combred.reduce(
            network, x[:1], method=method, ratio=0.5, calibration=x, compensation=compensation
        )
        assert torch.isfinite(found.network(x)).all()
        assert found.trace[0].units_after <= 8 and found.trace[0].error == 0.0


@torch.no_grad()
def test_inputs_far_from_the_origin_do_no_harm():
    network, x = make("linear", torch.float64)
    x = x + 1e6  # deviations of the activations are a millionth of their means
    found = combred.reduce(network, x[:1], method="brain_surgeon", ratio=0.5, calibration=x)
    spread = (network(x) - network(x).mean(0)).norm()
    assert (found.network(x) - network(x)).norm() < 0.2 * spread


@torch.no_grad()
@pytest.mark.parametrize("calibrated", [True, False])
def test_a_surrogate_goes_in_and_comes_out(surrogate, mechanism, path, tmp_path, calibrated):
    surrogate.fit_trust([path.state])
    before = state(surrogate)
    calibration = {"calibration": path.state} if calibrated else {}
    found = combred.reduce(surrogate, method="brain_surgeon", ratio=0.5, **calibration)
    small = found.network
    assert same(state(surrogate), before)
    assert type(small) is Surrogate and type(small.network) is Network
    n = 2 + mechanism.n_species
    assert small.network.widths == [surrogate.transform.n_inputs, 12, 8, n]
    assert found.trace[-1].parameters_after == parameters(small.network)
    assert found.trace[0].compensation == "least_squares" and found.output_error < 1.0
    assert torch.equal(small.in_training_range(path.state), surrogate.in_training_range(path.state))
    card = make_card(small, mechanism, {}, {"states": 60})
    numbers = export_torchscript(tmp_path / "small.pt", small, card, path.state.numpy())
    assert numbers["largest_difference"] < 1e-6
    loaded, _ = load_torchscript(tmp_path / "small.pt")
    assert torch.allclose(loaded(path.state), small(path.state), rtol=1e-12)
    again = combred.reduce(small, method="folding", parameters=0.6, **calibration).network
    assert again.network.n_weights < small.network.n_weights


@torch.no_grad()
def test_a_surrogate_is_calibrated_on_the_features_of_its_states(surrogate, path):
    transform = surrogate.transform
    inputs = transform.inputs(path.state)
    given = dict(method="brain_surgeon", ratio=0.5)
    one = combred.reduce(surrogate, calibration=path.state, **given)
    other = combred.reduce(surrogate.network, inputs[:1], calibration=inputs, **given)
    parts = combred.reduce(surrogate, calibration=iter(path.state.split(16)), **given)
    assert same(state(one.network.network), state(other.network))
    if not transform.evaluations:  # of which parts are rounded otherwise
        assert same(state(one.network.network), state(parts.network.network))
    with pytest.raises(ValueError, match=r"give states\.double\(\)"):
        combred.reduce(surrogate, calibration=inputs, **given)
    with pytest.raises(ValueError, match="states are float64 of shape"):
        combred.reduce(surrogate, calibration=path.state[:, 1:], **given)


@torch.no_grad()
def test_pruning_keeps_weights_as_they_are():
    network, x = make("convolutional")
    method = partial(magnitude, criterion="l1")
    small = combred.reduce(network, x[:1], method=method, layers=["two"], ratio=0.5).network
    score = network.two.weight.abs().sum(dim=(1, 2, 3))
    kept = score.argsort(descending=True)[:3].sort().values
    assert torch.equal(small.two.weight, network.two.weight[kept])
    assert torch.equal(small.norm2.running_var, network.norm2.running_var[kept])
    columns = network.three.weight.reshape(10, 6, 16)[:, kept].flatten(1)
    assert torch.equal(small.three.weight, columns)
    assert small.three.in_features == 48


@pytest.mark.parametrize(
    "spoil, message",
    [
        (
            lambda x: dict(calibration=x.index_fill(0, torch.tensor([3]), torch.nan)),
            "1 of .* not finite",
        ),
        (lambda x: dict(calibration=x.double()), r"calibration is torch\.float64"),
        (lambda x: dict(calibration=x[:, :-1]), "differ in more than the number of inputs"),
        (lambda x: dict(calibration=[(x, x)]), r"\[x for x, _ in loader\]"),
        (lambda x: dict(calibration=x[:0]), "calibration is empty"),
        (lambda x: dict(layers="0"), "give a list"),
        (lambda x: dict(layers=1), "give a list"),
        (lambda x: dict(ratio="half"), "a size is a number"),
    ],
)
def test_arguments_that_do_not_fit_are_told_with_the_mend(spoil, message):
    generator = torch.Generator().manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    x = torch.randn(20, 4, generator=generator)
    with pytest.raises(ValueError, match=message):
        combred.reduce(network, x[:1], **{"method": "magnitude", "ratio": 0.5} | spoil(x))


def test_an_example_without_batch_axis_a_diverged_network_and_two_outputs_are_refused():
    network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    x = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match=r"x\[:1\]"):
        combred.reduce(network, x[0], method="magnitude", ratio=0.5)

    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = network

        def forward(self, x):
            return self.body(x), x

    assert combred.reduce(Two(), x[:1], method="magnitude", ratio=0.5).trace
    with pytest.raises(ValueError, match="more than one tensor"):
        combred.reduce(Two(), x[:1], method="magnitude", ratio=0.5, calibration=x)
    with torch.no_grad():
        network[0].weight[0, 0] = torch.nan
    with pytest.raises(ValueError, match=r"not finite: 0\.weight"):
        combred.reduce(network, x[:1], method="magnitude", ratio=0.5)


def test_sizes_may_be_an_array_as_well():
    network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    x = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    for sizes in (np.array([0.5]), torch.tensor([0.5])):
        cut = combred.reduce(network, x[:1], method="magnitude", ratio=sizes).trace[0]
        assert (cut.units_before, cut.units_after) == (8, 4)

"""`combred.reduce`: its arguments and its record, a surrogate's network, and all that it refuses.

Properties of the methods are tested in methods/test_all_methods.py.
"""

from dataclasses import replace
from functools import partial

import pytest
import torch
from reducible import make, parameters, same, state
from torch import nn

import combred
from combred.reduction import Merge, Unchanged, condense, neuron_merging
from combred.reduction.fit.held_out import split
from combred.surrogates.model.calibration import random_steps
from combred.surrogates.model.network import Network


@torch.no_grad()
def test_the_error_of_a_layer_is_that_of_the_next_pre_activations():
    network, x = make("linear", torch.float64)
    given = dict(method="magnitude", ratio=0.5, calibration=x)
    found = combred.reduce(network, x[:1], **given)
    first = combred.reduce(network, x[:1], layers=[1], **given).network  # the second layer whole
    x = split(x)[1]  # not fitted
    one = network[:3](x)
    expected = (first[:3](x) - one).norm() / one.norm()
    assert found.trace[0].error == pytest.approx(float(expected), rel=1e-12)  # float64
    expected = (found.network(x) - network(x)).norm() / network(x).norm()
    assert found.trace[1].error == pytest.approx(float(expected), rel=1e-12)


def test_a_size_is_one_number_or_one_per_layer_by_name():
    network, x = make("linear")

    def widths(ratio, **more):
        records = combred.reduce(network, x[:1], method="magnitude", ratio=ratio, **more).trace
        return {record.layer: record.units_after for record in records}

    assert widths(0.5) == {"0": 8, "2": 6}
    assert widths({"2": 0.25, "0": 1.0}) == {"0": 16, "2": 3}
    assert widths(1e-6) == {"0": 1, "2": 1}
    assert widths(0.22) == {"0": 3, "2": 2}  # of 3.52 and 2.64 units: at most this share
    assert widths({"2": 0.5}, layers=[2]) == widths(0.5, layers=["2"]) == {"2": 6}
    for size in (0.9, {"0": 0.9, "2": 0.8}):
        found = combred.reduce(network, x[:1], threshold=size)
        assert len(found.trace) == 2


def test_layers_may_be_named_in_any_order():
    network, x = make("linear")
    given = dict(method="brain_surgeon", calibration=x, ratio={"2": 0.5, "0": 0.25})
    one = combred.reduce(network, x[:1], layers=["0", "2"], **given)
    other = combred.reduce(network, x[:1], layers=[2, 1], **given)
    assert [record.layer for record in other.trace] == ["0", "2"]  # front to back
    assert same(state(one.network), state(other.network))
    assert [replace(c, seconds=0) for c in one.trace] == [
        replace(c, seconds=0) for c in other.trace
    ]


@torch.no_grad()
@pytest.mark.parametrize(
    "name, method",
    [("linear", "folding"), ("convolutional", "brain_surgeon"), ("depthwise", "folding")],
)
def test_calibration_in_batches_gives_the_same_network(name, method):
    network, x = make(name, torch.float64)
    given = dict(method=method, ratio=0.5)
    one = combred.reduce(network, x[:1], calibration=x, **given)
    other = combred.reduce(network, x[:1], calibration=list(x.split(7)), **given)
    # Sums in another order; the ridge lets least squares have a condition of up to 1e6.
    assert torch.allclose(one.network(x), other.network(x), rtol=1e-7, atol=1e-8)
    assert one.output_error == pytest.approx(other.output_error, rel=1e-7)


def test_without_calibration_there_are_no_errors_and_the_mixing_is_that_of_the_method():
    network, x = make("linear")
    found = combred.reduce(network, x[:1], method="folding", ratio=0.5)
    assert found.output_error is None and all(record.error is None for record in found.trace)
    assert found.trace[0].compensation == "own"
    explicit = combred.reduce(network, x[:1], method="folding", ratio=0.5, compensation="own")
    assert same(state(found.network), state(explicit.network))


def test_a_function_is_a_method():
    network, x = make("linear")
    named = combred.reduce(network, x[:1], method="condensation", threshold=0.5)
    called = combred.reduce(network, x[:1], method=condense, threshold=0.5)
    assert same(state(named.network), state(called.network))
    method = partial(partial(neuron_merging, criterion="l1"), t=0.2)
    found = combred.reduce(network, x[:1], method=method, ratio=0.5)
    assert found.trace[0].method == "neuron_merging"
    # A partial of a listed method takes what that method takes.
    with pytest.raises(ValueError, match="neuron_merging takes ratio="):
        combred.reduce(network, x[:1], method=method, threshold=0.5)

    def every_second(units, *, keep):
        return Merge.prune(torch.arange(0, units.m, 2)[:keep], units.m)

    found = combred.reduce(network, x[:1], method=every_second, ratio=0.25, calibration=x)
    assert [record.units_after for record in found.trace] == [4, 3]
    assert torch.equal(found.network[0].weight, network[0].weight[0:8:2])
    assert found.trace[0].method == "every_second"


INPUTS, THIRD = make("linear")[1], torch.tensor([3])


@pytest.mark.parametrize(
    "asked, message",
    [
        (dict(method="prune", ratio=0.5), "no method 'prune': condensation, .*brain_surgeon"),
        (dict(), "by one of threshold=, ratio=, parameters=, flops=, error="),
        (dict(ratio=0.5, threshold=0.5), "say how far to reduce"),
        (dict(ratio=0.5, parameters=0.5), "say how far to reduce"),
        (dict(method="magnitude", threshold=0.5), r"magnitude takes ratio=.*no threshold="),
        (dict(ratio=0.0), r"ratio=0.0 is the share of units kept: it lies in \(0, 1\]"),
        (dict(ratio={"0": 0.5, "2": 1.5}), r"it lies in \(0, 1\]"),
        (dict(ratio=[0.5, 0.5]), r"a size is a number, or a dict of numbers by layer"),
        (dict(ratio={"0": 0.5}), r"sizes are given for \['0'\], layers are \['0', '2'\]"),
        (dict(ratio={"0": 0.5, "5": 0.5}), r"sizes are given for \['0', '5'\], layers are"),
        (dict(method="brain_surgeon", ratio=0.5), "brain_surgeon needs activations: give cal"),
        (dict(method="interpolative", ratio=0.5), "interpolative needs activations: give cal"),
        (dict(ratio=0.5, compensation="least_squares"), "fits activations: give calibration="),
        (dict(ratio=0.5, compensation="ols"), "'ols' is none of own, least_squares, none"),
        (dict(ratio=0.5, layers=["4"]), "layer 4 cannot be reduced: its units are the network's"),
        (dict(ratio=0.5, layers=[1, "0"]), "layer 0 is named twice"),
        (dict(ratio=0.5, layers=[]), "there is no layer that condensation can reduce"),
        (dict(ratio=0.5, layers="0"), "give a list"),
        (dict(ratio=0.5, layers=1), "give a list"),
        (dict(ratio="half"), "a size is a number"),
        (dict(ratio=0.5, calibration=INPUTS.index_fill(0, THIRD, torch.nan)), "1 of .* not finite"),
        (dict(ratio=0.5, calibration=INPUTS.double()), r"calibration is torch\.float64"),
        (dict(ratio=0.5, calibration=INPUTS[:, :-1]), "differ in more than the number of inputs"),
        (dict(ratio=0.5, calibration=[(INPUTS, INPUTS)]), r"\[x for x, _ in loader\]"),
        (dict(ratio=0.5, calibration=INPUTS[:0]), "calibration is empty"),
        (dict(ratio=0.5, calibration=iter([INPUTS])), r"iterator only once: .*list\(batches\)"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_a_remedy(asked, message):
    network, x = make("linear")
    before = state(network)
    with pytest.raises(ValueError, match=message):
        combred.reduce(network, x[:1], **asked)
    assert same(state(network), before)


@pytest.mark.parametrize("asked", [dict(ratio=1.0), dict(threshold=0.99999)])
@pytest.mark.parametrize("calibration", [None, INPUTS])
def test_a_reduction_that_keeps_every_unit_warns_and_gives_the_network(asked, calibration):
    network, x = make("linear")
    with pytest.warns(Unchanged, match="changes nothing: all 28 units stay"):
        found = combred.reduce(network, x[:1], calibration=calibration, **asked)
    assert same(state(found.network), state(network)) and found.network is not network
    assert all(layer.units_after == layer.units_before for layer in found.trace)


def test_an_example_input_is_required():
    with pytest.raises(ValueError, match="needs an example_input"):
        combred.reduce(make("linear")[0], ratio=0.5)


@pytest.mark.parametrize("method", ["neuron_merging", "folding"])
def test_a_layer_that_a_method_cannot_reduce_is_named_with_the_reason(method):
    network, x = make("depthwise")
    reason = "not defined through a depthwise convolution"
    found = combred.reduce(network, x[:1], method=method, ratio=0.5)
    assert reason in found.untouched["0"]
    with pytest.raises(ValueError, match=f"layer 0 cannot be reduced: the method is {reason}"):
        combred.reduce(network, x[:1], method=method, layers=["0"], ratio=0.5)


@torch.no_grad()
def test_the_network_of_a_surrogate_is_reduced(surrogate, mechanism, path):
    surrogate.fit_trust([path.state])
    before = state(surrogate)
    # Each mechanism with and without calibration states, each kind of surrogate as well.
    calibrated = (mechanism.name == "h2o2.yaml") == surrogate.kinetics
    calibration = {"calibration": path.state} if calibrated else {}
    found = combred.reduce(surrogate, method="brain_surgeon", ratio=0.5, **calibration)
    small = found.network
    assert same(state(surrogate), before)
    assert type(small) is type(surrogate) and type(small.network) is Network
    n_inputs, n_outputs = surrogate.transform.n_inputs, surrogate.transform.n_outputs
    assert small.network.widths == [n_inputs, 12, 8, n_outputs]
    assert found.trace[-1].parameters_after == parameters(small.network)
    assert found.trace[0].compensation == "least_squares" and found.output_error < 1.0
    assert torch.equal(small.in_training_range(path.state), surrogate.in_training_range(path.state))
    again = combred.reduce(small, method="folding", parameters=0.6, **calibration).network
    assert again.network.n_weights < small.network.n_weights


@torch.no_grad()
def test_a_surrogate_is_calibrated_on_the_features_of_its_states(surrogate, path):
    transform = surrogate.transform
    steps = random_steps(transform, len(path.state), seed=0)
    inputs = transform.inputs(path.state, steps)
    given = dict(method="brain_surgeon", ratio=0.5)
    one = combred.reduce(surrogate, calibration=path.state, **given)
    other = combred.reduce(surrogate.network, inputs[:1], calibration=inputs, **given)
    parts = combred.reduce(surrogate, calibration=iter(path.state.split(16)), **given)
    assert same(state(one.network.network), state(other.network))
    if not surrogate.kinetics:  # of which parts are rounded otherwise
        assert same(state(one.network.network), state(parts.network.network))
    with pytest.raises(ValueError, match=r"give states\.double\(\)"):
        combred.reduce(surrogate, calibration=inputs, **given)
    with pytest.raises(ValueError, match="states are float64 of shape"):
        combred.reduce(surrogate, calibration=path.state[:, 1:], **given)


def test_examples_without_batch_axis_diverged_networks_and_two_outputs_are_refused():
    network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    x = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    for example in (x[0], x[:0]):
        with pytest.raises(ValueError, match=r"x\[:1\]"):
            combred.reduce(network, example, method="magnitude", ratio=0.5)

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


def with_statistic(name: str, value: float) -> nn.Module:
    network = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    network.get_buffer(f"1.{name}")[3] = value
    return network


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize(
    "make_network, method, message",
    [
        (lambda: with_statistic("running_mean", torch.nan), "magnitude", "finite: 1.running_mean"),
        (lambda: with_statistic("running_var", torch.inf), "magnitude", "finite: 1.running_var"),
        (lambda: with_statistic("running_var", -1.0), "magnitude", "negative: 1.running_var"),
        (lambda: nn.Sequential(nn.Linear(4, 0), nn.ReLU(), nn.Linear(0, 3)), "magnitude",
         r"empty: 0.weight, 0.bias, 2.weight\. Leave out"),
        (lambda: nn.Linear(4, 3, device="meta"), "magnitude", "on the device meta: weight"),
        (lambda: None, "magnitude", "None cannot be reduced: give an nn.Module"),
        (lambda: torch.relu, "magnitude", "relu.* cannot be reduced: give an nn.Module"),
        (lambda: make("linear")[0], lambda units, keep: None, "<lambda> returns None: let it"),
    ],
)  # fmt: skip
def test_networks_without_values_and_methods_without_a_merge_are_refused(
    make_network, method, message
):
    network = make_network()
    x = torch.randn(20, 5 if method != "magnitude" else 4)
    with pytest.raises(ValueError, match=message):
        combred.reduce(network, x[:1], method=method, ratio=0.5)

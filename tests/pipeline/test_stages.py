"""The stage table: the network and the record of each stage, and the errors."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from combred.config.reduction import ReductionSettings
from combred.pipeline.stages import Stage, reduce_stage, stage_table
from combred.reduction import Unreachable, neuron_merging, reduce

WIDTHS = [6, 40, 30, 5]
FULL = 6 * 40 + 40 + 40 * 30 + 30 + 30 * 5 + 5
SETTINGS = ReductionSettings()


@pytest.fixture
def network(make_network):
    return make_network(WIDTHS)


@pytest.fixture
def calibration():
    return torch.randn(300, WIDTHS[0], generator=torch.Generator().manual_seed(5))


def staged(network, stage, settings, calibration):
    """The network and the record of a stage."""
    return reduce_stage(network, stage, settings, calibration, FULL)


def condensed(network, layer: int, originals: int):
    """`network`, every unit of a hidden layer from `originals` on made twice one of the first."""
    linear = network.layers[layer - 1]
    with torch.no_grad():
        of = torch.arange(originals, linear.out_features) % originals
        linear.weight[originals:], linear.bias[originals:] = (
            2 * linear.weight[of],
            2 * linear.bias[of],
        )
    return network


def test_the_settings_of_neuron_merging_reach_the_method(network, calibration):
    text, how = "neuron_merging:criterion=l1,t=0.3,weight=0.7", dict(multiple=16)
    settings = ReductionSettings(method=text, parameters=[0.3], compensation="own")
    (stage,) = stage_table(settings)
    found, record = staged(network, stage, settings, calibration)
    how |= dict(parameters=0.3, calibration=calibration, compensation="own")
    method = partial(neuron_merging, criterion="l1", t=0.3, weight=0.7)
    expected = reduce(network, calibration[:1], method=method, **how).network
    default = reduce(network, calibration[:1], method="neuron_merging", **how).network
    assert record["method"] == text and record["trace"][0]["method"] == "neuron_merging"
    assert torch.equal(found(calibration), expected(calibration))
    assert not torch.equal(found(calibration), default(calibration))


@pytest.mark.parametrize("compensation", ["own", "least_squares"])
@pytest.mark.parametrize("layer", [1, 2])
def test_the_record_of_a_condensed_layer(network, calibration, compensation, layer):
    condensed(network, layer, 10)
    with torch.no_grad():
        network.layers[layer - 1].weight[1] = 0.0  # one dead unit
    settings = replace(SETTINGS, compensation=compensation)
    reduced, record = staged(network, Stage(2, layer, 0.9999), settings, calibration)
    after = [10 if i == layer else m for i, m in enumerate(WIDTHS)]
    assert reduced.widths == record["widths_after"] == after
    assert record["widths_before"] == WIDTHS
    assert record["weights_before"] == 6 * 40 + 40 * 30 + 30 * 5
    assert record["weights_after"] == sum(m * n for m, n in zip(after, after[1:], strict=False))
    # Nine living originals; the copies of the dead unit form a group of their own.
    (cut,) = record["trace"]
    assert cut["units_after"] == 10 and cut["dropped"] == 1
    assert cut["largest_group"] == WIDTHS[layer] // 10
    assert (record["stage"], record["layer"], record["threshold"]) == (2, layer, 0.9999)
    assert record["compensation"] == cut["compensation"] == compensation


def test_a_threshold_that_merges_nothing_is_refused(network, calibration):
    with pytest.raises(ValueError, match=r"all 40 units stay.*Lower reduction.thresholds"):
        staged(network, Stage(1, 1, 0.9999), SETTINGS, calibration)


def test_a_stage_by_parameters_chooses_all_widths(network, calibration):
    settings = ReductionSettings(method="brain_surgeon", parameters=[0.5, 0.2])
    first, second = stage_table(settings)
    full = sum(p.numel() for p in network.parameters())
    half, record = reduce_stage(network, first, settings, calibration, full)
    assert sum(p.numel() for p in half.parameters()) <= 0.5 * full
    assert record["method"] == "brain_surgeon" and record["parameters"] == 0.5
    assert record["widths_after"] == half.widths != network.widths
    assert [cut["layer"] for cut in record["trace"]] == ["layers.0", "layers.1"]
    fifth, _ = reduce_stage(half, second, settings, calibration, full)
    assert 0.15 * full < sum(p.numel() for p in fifth.parameters()) <= 0.2 * full
    with pytest.raises(ValueError, match="lower reduction.parameters"):
        reduce_stage(fifth, first, settings, calibration, full)
    with pytest.raises(Unreachable, match="one unit in every layer"):
        reduce_stage(half, replace(second, parameters=1e-3), settings, calibration, full)


def test_criteria_make_a_table_of_one_stage():
    settings = ReductionSettings(method="folding", criteria="ignition:1%", parameters=[0.5, 0.2])
    (stage,) = stage_table(settings)
    assert (stage.index, stage.method, stage.criteria) == (1, "folding", "ignition:1%")
    assert stage.what == "as few parameters left by folding as pass ignition:1%"

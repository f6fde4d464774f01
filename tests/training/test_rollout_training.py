"""Trainings with trajectory segments: they lower the rollout loss, and resume bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from combred.config import ChemistrySettings, SegmentSettings
from combred.dataset.segment_sampling import FlameStates, SegmentSampler, sample_segments
from combred.dataset.segments import open_segments
from combred.surrogate.surrogate import Surrogate
from combred.training.batches import RowBatches
from combred.training.rollout_loss import FLOOR, RolloutLoss, Rollouts
from combred.training.schedules import learning_rate

SEGMENTS = SegmentSettings(steps=4, ignitions=4)
FEW = {"each": 20, "T0_min": 1500.0, "burnt_time": 5e-5}


@pytest.fixture(scope="module")
def segments(drm19, sampling_settings, tmp_path_factory, in_process):
    """Segments of four steps, from four ignitions by CVODE."""
    path = tmp_path_factory.mktemp("segments") / "segments.h5"
    how = SEGMENTS, sampling_settings, ChemistrySettings(), 0
    sampler = SegmentSampler(drm19, *how, **FEW)
    no_flames = FlameStates(np.empty((0, 2 + drm19.n_species)), np.empty(0, int))
    with in_process():
        sample_segments(path, sampler, no_flames, 1)
    return open_segments(path, drm19)


@pytest.fixture(scope="module")
def settings(training):
    """Thirty steps, all of them with a batch of segments of four steps."""
    return training.changed(steps=30, rollout_share=1.0, rollout_weight=0.2)


@pytest.fixture
def fit(training, segments, drm19, settings, tmp_path):
    """Train on rows and segments; returns network and numbers. `name`: of the metrics."""

    def run(settings=settings, name="m", stop=None, given=segments):
        network = training.network()
        surrogate = Surrogate(drm19, training.transform, network)
        rollouts = Rollouts(surrogate, given, 0, training.device.device, batch=8)
        metrics = tmp_path / f"{name}.jsonl"
        return training.fit(metrics, settings, network, stop=stop, rollouts=rollouts)

    return run


def test_training_on_segments_lowers_the_rollout_loss_more_than_training_without(
    fit, training, segments, drm19, settings, tmp_path
):
    settings = replace(settings, steps=100, rollout_weight=1.0, checkpoint_seconds=1e9)
    network, _ = fit(settings)
    alone, _ = training.fit(tmp_path / "alone.jsonl", replace(settings, rollout_share=0.0))
    states, dt = torch.from_numpy(segments.states), torch.from_numpy(segments.dt)
    losses = []
    for trained in (training.network(), alone, network):
        surrogate = Surrogate(drm19, training.transform, trained)
        with torch.no_grad():
            losses.append(RolloutLoss(surrogate, 4, FLOOR)(states, dt).item())
    untrained, rows_alone, both = losses
    assert both < rows_alone < untrained
    assert rows_alone - both > 0.1 * rows_alone
    first, *_, last = training.lines(tmp_path / "m.jsonl")
    assert last["rollout"] < first["rollout"] and last["train"] < first["train"]
    assert "rollout" not in training.lines(tmp_path / "alone.jsonl")[0]


def test_the_first_step_descends_on_rows_and_segments_together(
    fit, training, segments, drm19, settings
):
    one = {"steps": 1, "batch": 64, "batch_final": 64, "batch_phases": 1}
    settings = replace(settings, optimizer="adam", rollout_weight=3.0, **one)
    network, before = fit(settings)[0], training.network()
    cpu, keep = torch.device("cpu"), ~training.held_out
    rows = RowBatches(training.table, training.transform, keep, 10**6, cpu, 0)
    x, z = next(rows.batches([64], first=0))
    surrogate = Surrogate(drm19, training.transform, before)
    of_segments = Rollouts(surrogate, segments, 0, cpu, batch=8)(0)
    ((before(x) - z).abs().mean() + 3.0 * of_segments).backward()
    for new, old in zip(network.parameters(), before.parameters(), strict=True):
        # Kingma & Ba 2015: the first step has the sign of the gradient, whatever its norm. The two
        # losses are summed in float32: signs of small gradients are not compared.
        clear = old.grad.abs() > 1e-3 * old.grad.abs().max()
        expected = old - learning_rate(settings, 0) * old.grad.sign()
        assert torch.allclose(new[clear], expected[clear], atol=1e-5)
        assert clear.float().mean() > 0.3


def test_segments_are_used_in_the_last_share_of_the_steps(
    fit, training, settings, tmp_path, monkeypatch
):
    steps, losses = [], []
    original = Rollouts.__call__

    def watched(self, step, *share):
        steps.append(step)
        loss = original(self, step, *share)
        losses.append(loss.item())
        return loss

    monkeypatch.setattr(Rollouts, "__call__", watched)
    fit(replace(settings, rollout_share=21 / 48, steps=48))  # lines of metrics every 8 steps
    assert steps == list(range(27, 48))
    written = [line.get("rollout") for line in training.lines(tmp_path / "m.jsonl")]
    assert written[:3] == [None, None, None]
    # Means over the steps with segments only: five of the first eight. Sums in float32.
    means = [np.mean(part) for part in (losses[:5], losses[5:13], losses[13:])]
    assert written[3:] == pytest.approx(means, rel=1e-5)


@pytest.mark.parametrize(
    ("precision", "share", "at"), [("float32", 1.0, 1), ("bf16", 1.0, 21), ("float32", 0.5, 21)]
)
def test_a_killed_training_on_segments_resumes_to_the_same_network(
    fit, training, settings, tmp_path, precision, share, at
):
    settings = replace(settings, precision=precision, rollout_share=share)
    whole, result = fit(settings, "whole")
    with pytest.raises(training.killed):
        fit(settings, "killed", stop=at)
    resumed, again = fit(settings, "killed")
    assert training.same_weights(whole, resumed) and again["validation"] == result["validation"]
    assert training.lines(tmp_path / "killed.jsonl") == training.lines(tmp_path / "whole.jsonl")


def test_a_checkpoint_of_other_segments_is_refused(fit, training, segments):
    with pytest.raises(training.killed):
        fit(stop=21)
    other = replace(segments, provenance=segments.provenance | {"seed": 7})
    with pytest.raises(ValueError, match="belongs to a training with other settings"):
        fit(given=other)


def test_segments_that_are_missing_or_not_asked_for_are_refused(fit, training, settings, tmp_path):
    with pytest.raises(ValueError, match="rollout_share=1.0, and no segments given"):
        training.fit(tmp_path / "m.jsonl", settings)
    with pytest.raises(ValueError, match="rollout_share=0.0, and segments given"):
        fit(replace(settings, rollout_share=0.0))


def test_divergence_on_segments_raises(fit, settings):
    with pytest.raises(FloatingPointError, match=r"diverged at step 5.*of segments"):
        object.__setattr__(settings, "lr", 1e30)  # beyond its range: it has to diverge
        fit(settings)

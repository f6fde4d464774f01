"""Training: what it learns, and a resumed run that is the uninterrupted one bit for bit."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from combred.config import ChemistrySettings, SegmentSettings, TrainingSettings
from combred.dataset.segment_sampling import (
    FlameStates,
    SegmentSampler,
    sample_segments,
)
from combred.dataset.segments import open_segments
from combred.dataset.states import open_states
from combred.surrogate.network import Network
from combred.surrogate.surrogate import Surrogate
from combred.surrogate.transform import StateTransform
from combred.training import batches as rows_module
from combred.training.batches import Rows, encode, fit_transform
from combred.training.devices import Device
from combred.training.loop import forward_mixed, train
from combred.training.progress import forget_checkpoint
from combred.training.rollout_loss import RolloutLoss, Rollouts

CPU = Device(torch.device("cpu"))
DT = 1e-6
SETTINGS = TrainingSettings(
    steps=60, lr=2e-3, batch=32, batch_final=64, batch_phases=2, precision="float32",
    held_out=0.2, evaluate_every=25, checkpoint_seconds=0.0, warmup=0.1,
)  # fmt: skip


class Killed(BaseException):
    """What a kill looks like from inside."""


def kill_at(step: int):
    def on_progress(done, steps, text):
        if done >= step:
            raise Killed

    return on_progress


@pytest.fixture(scope="module")
def fitted(table, drm19) -> StateTransform:
    transform = StateTransform(drm19.n_species, lam=0.1, floor=1e-13, power=1 / 3)
    fit_transform(transform, table, table.held_out(SETTINGS.held_out, 0))
    return transform


@pytest.fixture
def start(make_network, drm19):
    """A factory of equal, untrained networks."""
    n = 2 + drm19.n_species
    return lambda: make_network([n, 32, 24, n], output=0.5)


def lines(metrics) -> list[dict]:
    return [json.loads(line) for line in metrics.read_text().splitlines()]


def same_weights(a: Network, b: Network) -> bool:
    return all(torch.equal(a.state_dict()[k], b.state_dict()[k]) for k in a.state_dict())


# -- precision -------------------------------------------------------------------------------------


def test_mixed_precision_is_the_network_to_eight_bits(make_network):
    network = make_network([10, 64, 64, 64, 10])
    x = torch.randn(100, 10, generator=torch.Generator().manual_seed(0))
    exact = network(x)
    assert torch.equal(forward_mixed(network, x, bf16=False), exact)
    mixed = forward_mixed(network, x, bf16=True)
    assert mixed.dtype == torch.float32
    # bf16 rounds to 2^-9 of a value; two layers of it, errors adding at random.
    assert 0 < (mixed - exact).norm() / exact.norm() < 2**-6


# -- the loop --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["l1", "mse"])
def test_training_lowers_the_loss_of_rows_it_has_not_seen(table, fitted, start, tmp_path, loss):
    settings = replace(SETTINGS, steps=300, loss=loss, checkpoint_seconds=1e9)
    network = start()
    result = train(network, table, fitted, settings, tmp_path / "m.jsonl", 0, CPU)
    first, last = lines(tmp_path / "m.jsonl")[0], lines(tmp_path / "m.jsonl")[-1]
    assert last["step"] == result["steps"] == 300
    assert last["train"] < 0.7 * first["train"]
    assert result["validation"] == last["validation"] < 0.8 * first["validation"]
    # Better than saying that nothing changes.
    held_out = table.held_out(settings.held_out, 0)
    z = encode(fitted, table.read(0, table.rows).rows(held_out))[1]
    nothing = z.abs().mean() if loss == "l1" else z.square().mean()
    assert result["validation"] < 0.8 * nothing


def test_validation_is_the_loss_of_the_held_out_rows(table, fitted, start, tmp_path):
    network = start()
    result = train(network, table, fitted, SETTINGS, tmp_path / "m.jsonl", 0, CPU)
    block = table.read(0, table.rows).rows(table.held_out(SETTINGS.held_out, 0))
    x, z = encode(fitted, block)
    error = (network(x) - z).abs().detach().double().numpy()
    # Means in float32.
    assert result["validation"] == pytest.approx(error.mean(), rel=1e-5)
    by_sampler = result["validation_by_sampler"]
    names = ["ignition", "ignition perturbed", "ignition relaxed"]
    assert list(by_sampler) == names
    for i, name in enumerate(names):
        assert by_sampler[name] == pytest.approx(error[block.sampler == i].mean(), rel=1e-5)


def test_the_first_step_is_that_of_adam(table, fitted, start, tmp_path):
    one = {"steps": 1, "warmup": 0.0, "batch": 64, "batch_final": 64, "batch_phases": 1}
    settings = replace(SETTINGS, optimizer="adam", **one)
    network, before = start(), start()
    train(network, table, fitted, settings, tmp_path / "m.jsonl", 0, CPU)
    rows = Rows(table, fitted, ~table.held_out(0.2, 0), 10**6, CPU.device, 0)
    x, z = next(rows.batches([64], first=0))
    (before(x) - z).abs().mean().backward()
    for new, old in zip(network.parameters(), before.parameters(), strict=True):
        g = old.grad
        expected = old - settings.lr * g / (g.abs() + 1e-8)  # Kingma & Ba 2015, its first step
        assert torch.allclose(new, expected, atol=1e-7)  # float32 rounding of weights of order 1


@pytest.mark.parametrize("at", [1, 41, 60])
def test_a_killed_training_goes_on_to_the_same_network(table, fitted, start, tmp_path, at):
    whole, killed, resumed = start(), start(), start()
    result = train(whole, table, fitted, SETTINGS, tmp_path / "whole.jsonl", 0, CPU)
    arguments = (table, fitted, SETTINGS, tmp_path / "killed.jsonl", 0, CPU)
    with pytest.raises(Killed):
        train(killed, *arguments, kill_at(at))
    again = train(resumed, *arguments)
    assert same_weights(whole, resumed)
    assert not same_weights(killed, resumed) or at == 60
    assert again["validation"] == result["validation"]


def test_the_metrics_of_a_resumed_run_are_those_of_the_uninterrupted(
    table, fitted, start, tmp_path
):
    train(start(), table, fitted, SETTINGS, tmp_path / "whole.jsonl", 0, CPU)
    arguments = (table, fitted, SETTINGS, tmp_path / "killed.jsonl", 0, CPU)
    with pytest.raises(Killed):
        train(start(), *arguments, kill_at(41))
    train(start(), *arguments)
    assert lines(tmp_path / "killed.jsonl") == lines(tmp_path / "whole.jsonl")


def test_a_finished_training_is_not_done_again(table, fitted, start, tmp_path):
    metrics = tmp_path / "m.jsonl"
    first, second = start(), start()
    train(first, table, fitted, SETTINGS, metrics, 0, CPU)
    told = []
    result = train(second, table, fitted, SETTINGS, metrics, 0, CPU, lambda *t: told.append(t))
    assert same_weights(first, second) and told == []
    assert result["validation"] == lines(metrics)[-1]["validation"]
    assert [line["step"] for line in lines(metrics)] == [25, 50, 60]
    forget_checkpoint(metrics)
    assert not (tmp_path / "m.checkpoint").exists()
    forget_checkpoint(metrics)  # there is nothing to forget


def test_a_line_cut_short_by_a_kill_is_dropped(table, fitted, start, tmp_path):
    metrics = tmp_path / "m.jsonl"
    with pytest.raises(Killed):
        train(start(), table, fitted, SETTINGS, metrics, 0, CPU, kill_at(41))
    with metrics.open("a") as file:
        file.write('{"step": 50, "tra')
    train(start(), table, fitted, SETTINGS, metrics, 0, CPU)
    assert [line["step"] for line in lines(metrics)] == [25, 50, 60]


def test_streamed_training_resumes_too(table, fitted, start, tmp_path, monkeypatch):
    monkeypatch.setattr(rows_module, "CHUNK", 50)
    settings = replace(SETTINGS, memory_rows=100)
    whole, resumed = start(), start()
    train(whole, table, fitted, settings, tmp_path / "whole.jsonl", 0, CPU)
    arguments = (table, fitted, settings, tmp_path / "killed.jsonl", 0, CPU)
    with pytest.raises(Killed):
        train(start(), *arguments, kill_at(41))
    train(resumed, *arguments)
    assert same_weights(whole, resumed)


# -- segments ---------------------------------------------------------------------------------------

MARCHED = replace(SETTINGS, rollout_steps=4, rollout_batch=8, rollout_share=1.0)
WINDOWS = SegmentSettings(trajectories=4, each=20, T0_min=1500.0, burnt_time=5e-5)


@pytest.fixture(scope="module")
def segments(drm19, sampling_settings, tmp_path_factory):
    """Segments of four steps from two of CVODE's ignitions."""
    path = tmp_path_factory.mktemp("segments") / "segments.h5"
    sampler = SegmentSampler(drm19, WINDOWS, sampling_settings, ChemistrySettings(), DT, 4, 0, 0.05)
    none = FlameStates(np.empty((0, 2 + drm19.n_species)), np.empty(0, int))
    sample_segments(path, sampler, none, 2)
    return open_segments(path, drm19, DT)


@pytest.fixture
def march(table, fitted, start, segments, drm19, tmp_path):
    """Train on rows and segments; returns network and numbers. `name`: of the metrics."""

    def run(settings=MARCHED, name="m", stop=10**9, given=segments):
        network = start()
        surrogate = Surrogate(drm19, DT, fitted, network)
        rollouts = Rollouts(surrogate, given, settings, 0, CPU.device)
        metrics, told = tmp_path / f"{name}.jsonl", kill_at(stop)
        return network, train(
            network, table, fitted, settings, metrics, 0, CPU, told, rollouts=rollouts
        )

    return run


def test_training_on_windows_lowers_their_loss_more_than_training_without(
    march, table, fitted, start, segments, drm19, tmp_path
):
    settings = replace(MARCHED, steps=300, rollout_weight=1.0, checkpoint_seconds=1e9)
    network, _ = march(settings)
    without = replace(settings, rollout_steps=0)
    alone = start()
    train(alone, table, fitted, without, tmp_path / "alone.jsonl", 0, CPU)
    states = torch.from_numpy(segments.states)
    losses = []
    for trained in (start(), alone, network):
        loss = RolloutLoss(Surrogate(drm19, DT, fitted, trained), 4, settings.rollout_floor)
        losses.append(loss(states).item())
    untrained, rows_alone, both = losses
    assert both < rows_alone < untrained
    assert rows_alone - both > 0.1 * rows_alone
    first, last = lines(tmp_path / "m.jsonl")[0], lines(tmp_path / "m.jsonl")[-1]
    assert last["rollout"] < first["rollout"] and last["train"] < first["train"]
    assert "rollout" not in lines(tmp_path / "alone.jsonl")[0]


def test_the_first_step_descends_on_rows_and_windows_together(
    march, table, fitted, start, segments, drm19
):
    settings = replace(
        MARCHED,
        optimizer="adam",
        steps=1,
        warmup=0.0,
        batch=64,
        batch_final=64,
        batch_phases=1,
        rollout_weight=3.0,
    )
    network, _ = march(settings)
    before = start()
    rows = Rows(table, fitted, ~table.held_out(0.2, 0), 10**6, CPU.device, 0)
    x, z = next(rows.batches([64], first=0))
    surrogate = Surrogate(drm19, DT, fitted, before)
    of_segments = Rollouts(surrogate, segments, settings, 0, CPU.device)(0)
    ((before(x) - z).abs().mean() + 3.0 * of_segments).backward()
    for new, old in zip(network.parameters(), before.parameters(), strict=True):
        # Kingma & Ba 2015, its first step: the sign of the gradient, whatever it is cut to. The two
        # losses are summed in float32: signs of small gradients are not compared.
        clear = old.grad.abs() > 1e-3 * old.grad.abs().max()
        expected = old - settings.lr * old.grad.sign()
        assert torch.allclose(new[clear], expected[clear], atol=1e-5)
        assert clear.float().mean() > 0.3


def test_windows_are_marched_in_the_last_share_of_the_steps(
    march, table, fitted, start, segments, tmp_path, monkeypatch
):
    marched, losses = [], []
    whole = Rollouts.__call__

    def watched(self, step, *share):
        marched.append(step)
        loss = whole(self, step, *share)
        losses.append(loss.item())
        return loss

    monkeypatch.setattr(Rollouts, "__call__", watched)
    march(replace(MARCHED, rollout_share=0.5))
    assert marched == list(range(30, 60))
    told = [line.get("rollout") for line in lines(tmp_path / "m.jsonl")]
    assert told[0] is None  # of step 25
    # Means of those steps alone in which segments were marched; sums in float32.
    assert told[1:] == pytest.approx([np.mean(losses[:20]), np.mean(losses[20:])], rel=1e-5)


@pytest.mark.parametrize(
    ("precision", "share", "at"), [("float32", 1.0, 1), ("bf16", 1.0, 41), ("float32", 0.5, 41)]
)
def test_a_killed_training_on_windows_goes_on_to_the_same_network(
    march, tmp_path, precision, share, at
):
    settings = replace(MARCHED, precision=precision, rollout_share=share)
    whole, result = march(settings, "whole")
    with pytest.raises(Killed):
        march(settings, "killed", stop=at)
    resumed, again = march(settings, "killed")
    assert same_weights(whole, resumed) and again["validation"] == result["validation"]
    assert lines(tmp_path / "killed.jsonl") == lines(tmp_path / "whole.jsonl")


def test_a_checkpoint_of_other_windows_is_refused(march, segments):
    with pytest.raises(Killed):
        march(stop=41)
    other = replace(segments, provenance=segments.provenance | {"seed": 7})
    with pytest.raises(ValueError, match="belongs to a training with other settings"):
        march(given=other)


def test_windows_that_are_missing_or_not_asked_for_are_refused(
    march, table, fitted, start, tmp_path
):
    with pytest.raises(ValueError, match="rollout_steps=4, and no segments given"):
        train(start(), table, fitted, MARCHED, tmp_path / "m.jsonl", 0, CPU)
    with pytest.raises(ValueError, match="rollout_steps=0, and segments given"):
        march(replace(MARCHED, rollout_steps=0))


def test_divergence_on_windows_raises(march):
    with pytest.raises(FloatingPointError, match=r"diverged at step 25.*of segments"):
        march(replace(MARCHED, lr=1e30, lr_final=1e30, warmup=0.0))


# -- refused ---------------------------------------------------------------------------------------


@pytest.fixture
def interrupted(table, fitted, start, tmp_path):
    """Metrics of a training killed on its way; its checkpoint lies beside them."""
    with pytest.raises(Killed):
        train(start(), table, fitted, SETTINGS, tmp_path / "m.jsonl", 0, CPU, kill_at(41))
    return tmp_path / "m.jsonl"


def test_a_checkpoint_of_other_settings_is_refused(table, fitted, start, interrupted):
    other = replace(SETTINGS, lr=1e-4)
    with pytest.raises(ValueError, match=r"(?s)'lr': 0.002.*'lr': 0.0001.*Delete it.*run=NAME"):
        train(start(), table, fitted, other, interrupted, 0, CPU)


def test_a_checkpoint_of_another_network_is_refused(
    table, fitted, make_network, interrupted, drm19
):
    n = 2 + drm19.n_species
    with pytest.raises(ValueError, match=r"(?s)32, 24.*16, 16.*Delete it"):
        train(make_network([n, 16, 16, n]), table, fitted, SETTINGS, interrupted, 0, CPU)


def test_a_checkpoint_of_another_seed_is_refused(table, fitted, start, interrupted):
    # With another seed other rows are held out: going on would validate on rows that were trained.
    with pytest.raises(ValueError, match="Delete it"):
        train(start(), table, fitted, SETTINGS, interrupted, 1, CPU)


def test_a_damaged_checkpoint_is_refused(table, fitted, start, interrupted):
    checkpoint = interrupted.with_suffix(".checkpoint")
    checkpoint.write_bytes(checkpoint.read_bytes()[:500])
    with pytest.raises(ValueError, match=r"cannot be read.*Delete it"):
        train(start(), table, fitted, SETTINGS, interrupted, 0, CPU)


def test_divergence_raises(table, fitted, start, tmp_path):
    settings = replace(SETTINGS, lr=1e30, lr_final=1e30, warmup=0.0)
    with pytest.raises(FloatingPointError, match=r"diverged at step 25.*Lower the rate"):
        train(start(), table, fitted, settings, tmp_path / "m.jsonl", 0, CPU)


def test_no_checkpoint_keeps_a_network_that_has_diverged(table, fitted, start, tmp_path):
    # The message of a divergence promises a checkpoint to go on from.
    settings = replace(SETTINGS, lr=1e30, lr_final=1e30, warmup=0.0)
    with pytest.raises(FloatingPointError):
        train(start(), table, fitted, settings, tmp_path / "m.jsonl", 0, CPU)
    checkpoint = tmp_path / "m.checkpoint"
    if checkpoint.exists():
        stored = torch.load(checkpoint, weights_only=True)
        assert all(torch.isfinite(weights).all() for weights in stored["network"].values())


def test_a_single_trajectory_cannot_be_split(h2o2, write_states, tmp_path, make_network):
    n = 50
    Y = np.random.default_rng(0).dirichlet(np.ones(h2o2.n_species), n)
    T = np.linspace(1000.0, 2000.0, n)
    file = write_states(tmp_path / "s.h5", h2o2, T, np.full(n, 1e5), Y, T + 1.0, Y)
    table = open_states(file, h2o2, DT)
    transform = StateTransform(h2o2.n_species, 0.1, 1e-13, 1.0)
    fit_transform(transform, table, table.held_out(0.2, 0))
    with pytest.raises(ValueError, match="trajector"):
        train(make_network([12, 8, 12]), table, transform, SETTINGS, tmp_path / "m.jsonl", 0, CPU)

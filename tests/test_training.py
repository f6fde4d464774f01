"""Training: batches, schedules, and a resumed run that is the uninterrupted one bit for bit."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from combred import training
from combred.config import TrainingSettings
from combred.network import Network
from combred.states import open_states
from combred.training import (
    Device,
    Rows,
    batch_sizes,
    encode,
    fit_transform,
    forget_checkpoint,
    forward_mixed,
    learning_rate,
    open_device,
    resolve_precision,
    train,
)
from combred.transform import StateTransform

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


# -- what is trained on ----------------------------------------------------------------------------


def test_the_transform_sees_the_training_rows_alone(table, fitted, drm19):
    held_out = table.held_out(SETTINGS.held_out, 0)
    block = table.read(0, table.rows)
    alone = StateTransform(drm19.n_species, lam=0.1, floor=1e-13, power=1 / 3)
    pair = (torch.tensor(block.state()[~held_out]), torch.tensor(block.next_state()[~held_out]))
    alone.fit([pair])
    for name, value in alone.state_dict().items():
        # Sums in another order, in float64.
        assert torch.allclose(getattr(fitted, name), value, rtol=1e-9, atol=1e-9), name


def test_encoded_rows_are_features_and_targets(table, fitted):
    block = table.read(0, 50)
    x, z = encode(fitted, block)
    v = fitted.variables(torch.tensor(block.state()))
    w = fitted.variables(torch.tensor(block.next_state()))
    assert torch.equal(x, ((v - fitted.mean) / fitted.std).float())
    # The change comes back from the target with float32's precision, tripled by the power 1/3.
    assert torch.allclose(fitted.change(z.double()), w - v, rtol=1e-6, atol=1e-300)


ROWS, PIECE = 640, 64


@pytest.fixture(scope="module")
def numbered(h2o2, write_states, tmp_path_factory):
    """A state file whose T is 300 K + row, its transform, and a mask of 5 of 10 chunks' rows."""
    n = ROWS
    T = 300.0 + np.arange(n)
    Y = np.random.default_rng(0).dirichlet(np.ones(h2o2.n_species), n)
    file = tmp_path_factory.mktemp("numbered") / "states.h5"
    write_states(file, h2o2, T, np.full(n, 1e5), Y, T + 1.0, Y)
    table = open_states(file, h2o2, DT)
    transform = StateTransform(h2o2.n_species, 0.1, 1e-13, 1.0)
    keep = (np.arange(n) // PIECE) % 2 == 0
    fit_transform(transform, table, ~keep)
    return table, transform, keep


def make_rows(numbered, memory_rows: int, seed: int = 0) -> Rows:
    table, transform, keep = numbered
    return Rows(table, transform, keep, memory_rows, torch.device("cpu"), seed)


def row_numbers(numbered, x: torch.Tensor) -> np.ndarray:
    _, transform, _ = numbered
    T = x[:, 0].double() * transform.std[0] + transform.mean[0]
    return (T - 300.0).round().long().numpy()


@pytest.mark.parametrize("memory_rows", [PIECE, 2 * PIECE, 10 * PIECE])
def test_each_row_is_visited_once_an_epoch(numbered, monkeypatch, memory_rows):
    monkeypatch.setattr(training, "CHUNK", PIECE)
    rows = make_rows(numbered, memory_rows)
    expected = np.flatnonzero(numbered[2])
    steps = len(expected) // 32  # of an epoch: 32 divides every buffer
    batches = list(rows.batches([32] * 2 * steps, first=0))
    epochs = [
        np.concatenate([row_numbers(numbered, x) for x, _ in part])
        for part in (batches[:steps], batches[steps:])
    ]
    for epoch in epochs:
        assert np.array_equal(np.sort(epoch), expected)
        assert not np.array_equal(epoch, expected)  # shuffled
    assert not np.array_equal(*epochs)  # anew


def test_no_row_comes_twice_in_an_epoch_that_does_not_divide(numbered, monkeypatch):
    monkeypatch.setattr(training, "CHUNK", PIECE)
    rows = make_rows(numbered, 10 * PIECE)
    batches = [row_numbers(numbered, x) for x, _ in rows.batches([48] * 12, first=0)]
    steps = numbered[2].sum() // 48  # what is left over is dropped; another permutation follows
    for epoch in (batches[:steps], batches[steps:]):
        drawn = np.concatenate(epoch)
        assert len(np.unique(drawn)) == len(drawn) == 48 * steps


@pytest.mark.parametrize("memory_rows", [2 * PIECE, 10 * PIECE])
@pytest.mark.parametrize("first", [1, 7, 23])
def test_a_batch_depends_on_seed_and_step_alone(numbered, monkeypatch, memory_rows, first):
    monkeypatch.setattr(training, "CHUNK", PIECE)
    sizes = [16] * 10 + [50] * 14
    whole = list(make_rows(numbered, memory_rows).batches(sizes, first=0))
    resumed = list(make_rows(numbered, memory_rows).batches(sizes, first=first))
    assert len(whole) == len(sizes) and len(resumed) == len(sizes) - first
    for (x, z), (x_resumed, z_resumed) in zip(whole[first:], resumed, strict=True):
        assert torch.equal(x, x_resumed) and torch.equal(z, z_resumed)
    other = list(make_rows(numbered, memory_rows, seed=1).batches(sizes, first=0))
    assert not torch.equal(other[0][0], whole[0][0])


def test_batches_have_the_sizes_asked_for_or_the_whole_buffer(numbered, monkeypatch):
    monkeypatch.setattr(training, "CHUNK", PIECE)
    rows = make_rows(numbered, 2 * PIECE)
    sizes = [10, 20, 30, 100, 1000, 5]
    got = [len(x) for x, _ in rows.batches(sizes, first=0)]
    assert got[:4] == sizes[:4] and got[5] == 5
    assert got[4] in (PIECE, 2 * PIECE)  # a buffer


# -- schedules -------------------------------------------------------------------------------------


@pytest.mark.parametrize("warmup", [0.0, 0.02, 0.25])
def test_cosine_starts_at_lr_and_ends_at_lr_final(warmup):
    settings = TrainingSettings(steps=1000, lr=1e-2, lr_final=1e-5, warmup=warmup)
    warm = int(warmup * 1000)
    assert learning_rate(settings, warm) == pytest.approx(1e-2, rel=1e-12)
    # The last step is one short of the end: (pi / steps)^2 / 4 of the range above lr_final.
    end = 1e-5 + 1e-2 * (np.pi / (1000 - warm)) ** 2 / 4
    assert learning_rate(settings, 999) == pytest.approx(end, rel=1e-3)
    middle = warm + (1000 - warm) // 2
    assert learning_rate(settings, middle) == pytest.approx(0.5 * (1e-2 + 1e-5), rel=0.01)
    rates = [learning_rate(settings, step) for step in range(1000)]
    assert np.all(np.diff(rates[:warm]) > 0) and np.all(np.diff(rates[warm:]) < 0)
    assert 0 < min(rates) and max(rates) == pytest.approx(1e-2, rel=1e-12)


def test_steps_multiply_by_decay():
    settings = TrainingSettings(
        steps=1000, lr=1e-2, schedule="step", decay=0.5, decay_every=300, warmup=0.0
    )
    expected = {0: 1e-2, 299: 1e-2, 300: 5e-3, 599: 5e-3, 600: 2.5e-3, 999: 1.25e-3}
    for step, rate in expected.items():
        assert learning_rate(settings, step) == pytest.approx(rate, rel=1e-12)


@pytest.mark.parametrize("phases", [2, 3, 5])
def test_batches_grow_geometrically_from_first_to_last(phases):
    settings = TrainingSettings(steps=100, batch=100, batch_final=1600, batch_phases=phases)
    sizes = batch_sizes(settings)
    assert len(sizes) == 100
    assert (sizes[0], sizes[-1]) == (100, 1600)
    values, lengths = np.unique(sizes, return_counts=True)
    assert len(values) == phases
    assert lengths.max() - lengths.min() <= 1  # phases of equal length
    ratios = values[1:] / values[:-1]
    assert np.allclose(ratios, 16 ** (1 / (phases - 1)), rtol=0.02)  # rounded to whole rows


def test_one_phase_keeps_the_batch():
    settings = TrainingSettings(steps=10, batch=128, batch_final=128, batch_phases=1)
    assert batch_sizes(settings) == [128] * 10


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


def test_a_precision_asked_for_is_taken():
    for precision in ("float32", "bf16"):
        assert resolve_precision(precision, CPU.device) == (precision, "asked for")
    assert resolve_precision("auto", CPU.device)[0] in ("float32", "bf16")


def test_without_torchrun_there_is_one_process(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    device = open_device()
    assert device.leads and device.world == 1


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
    settings = replace(SETTINGS, steps=1, warmup=0.0, batch=64, batch_final=64, batch_phases=1)
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
    monkeypatch.setattr(training, "CHUNK", 50)
    settings = replace(SETTINGS, memory_rows=100)
    whole, resumed = start(), start()
    train(whole, table, fitted, settings, tmp_path / "whole.jsonl", 0, CPU)
    arguments = (table, fitted, settings, tmp_path / "killed.jsonl", 0, CPU)
    with pytest.raises(Killed):
        train(start(), *arguments, kill_at(41))
    train(resumed, *arguments)
    assert same_weights(whole, resumed)


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

"""The training loop: it lowers the loss, and a resumed training equals the uninterrupted one."""

import numpy as np
import pytest
import torch

from combred.surrogates.dataset.table import open_states
from combred.surrogates.model.transform import StateTransform
from combred.surrogates.training import loop
from combred.surrogates.training.batches import TrainingData, encode, fit_transform
from combred.surrogates.training.loop import forget_checkpoint, forward_mixed, train


def test_mixed_precision_equals_float32_to_eight_bits(make_network):
    network = make_network([10, 64, 64, 64, 10])
    x = torch.randn(100, 10, generator=torch.Generator().manual_seed(0))
    exact = network(x)
    assert torch.equal(forward_mixed(network, x, bf16=False), exact)
    mixed = forward_mixed(network, x, bf16=True)
    assert mixed.dtype == torch.float32
    # bf16 rounds to 2^-9 of a value, in two layers; errors add at random.
    assert 0 < (mixed - exact).norm() / exact.norm() < 2**-6


@pytest.fixture(scope="module")
def uninterrupted(training, tmp_path_factory):
    """Network, numbers and metrics of a training that was not interrupted."""
    metrics = tmp_path_factory.mktemp("whole") / "m.jsonl"
    return *training.fit(metrics), metrics


def test_the_validation_loss_is_that_of_the_held_out_rows(training, uninterrupted):
    network, result, _ = uninterrupted
    block = training.table.read(0, training.table.rows).rows(training.held_out)
    x, z = encode(training.transform, block)
    error = (network(x) - z).abs().detach().double().numpy()
    # Means in float32.
    assert result["validation"] == pytest.approx(error.mean(), rel=1e-5)


@pytest.mark.parametrize("at", [1, 41, 60])
def test_a_killed_training_resumes_to_the_same_network(training, uninterrupted, tmp_path, at):
    network, result, metrics = uninterrupted
    killed = training.fit_until_killed(tmp_path / "m.jsonl", at)
    resumed, again = training.fit(tmp_path / "m.jsonl")
    assert training.same_weights(network, resumed)
    assert not training.same_weights(killed, resumed) or at == 60
    assert again["validation"] == result["validation"]
    assert training.lines(tmp_path / "m.jsonl") == training.lines(metrics)


def test_a_finished_training_is_not_repeated(training, tmp_path):
    metrics, progress = tmp_path / "m.jsonl", []
    settings = training.changed(steps=30)
    first, _ = training.fit(metrics, settings)
    second, result = training.fit(metrics, settings, on_progress=lambda *p: progress.append(p))
    assert training.same_weights(first, second) and progress == []
    assert result["validation"] == training.lines(metrics)[-1]["validation"]
    assert [line["step"] for line in training.lines(metrics)] == [5, 10, 15, 20, 25, 30]
    forget_checkpoint(metrics)
    assert not (tmp_path / "m.checkpoint").exists()
    forget_checkpoint(metrics)  # no error without a file


@pytest.fixture(scope="module")
def checkpoint(training, tmp_path_factory) -> bytes:
    """The checkpoint of a training that was killed."""
    metrics = tmp_path_factory.mktemp("killed") / "m.jsonl"
    training.fit_until_killed(metrics, 21)
    return metrics.with_suffix(".checkpoint").read_bytes()


@pytest.fixture
def interrupted(checkpoint, tmp_path):
    """Metrics of a killed training, with its checkpoint beside them."""
    (tmp_path / "m.checkpoint").write_bytes(checkpoint)
    return tmp_path / "m.jsonl"


def test_a_checkpoint_of_another_training_is_refused(training, interrupted):
    n, changed = training.widths[0], training.changed(lr=1e-4)
    for said, other in (
        (r"settings.lr: 0.002 then, 0.0001 now.*run=NAME, or move", {"settings": changed}),
        (r"32, 24.*16, 16.*or move", {"network": training.network([n, 16, 16, n])}),
        ("seed: 0 then, 1 now.*or move", {"seed": 1}),
        # Resuming would validate on rows that were trained on.
        ("begun with: .*or move", {"held_out": training.table.held_out(0.2, 1)}),
    ):
        with pytest.raises(ValueError, match=f"(?s){said}"):
            training.fit(interrupted, **other)


def test_divergence_raises_and_no_checkpoint_holds_a_diverged_network(training, tmp_path):
    settings = training.changed()
    object.__setattr__(settings, "lr", 1e30)  # beyond its range: it has to diverge
    with pytest.raises(FloatingPointError, match=r"diverged at step 10.*Lower the learning rate"):
        training.fit(tmp_path / "m.jsonl", settings)
    # The message says that the last checkpoint is kept.
    checkpoint = tmp_path / "m.checkpoint"
    if checkpoint.exists():
        stored = torch.load(checkpoint, weights_only=True)
        assert all(torch.isfinite(weights).all() for weights in stored["state"]["network"].values())


def test_states_of_one_trajectory_are_refused(training, h2o2, write_states, tmp_path, make_network):
    n = 50
    Y = np.random.default_rng(0).dirichlet(np.ones(h2o2.n_species), n)
    T = np.linspace(1000.0, 2000.0, n)
    file = write_states(tmp_path / "s.h5", h2o2, T, np.full(n, 1e5), Y, T + 1.0, Y)
    table = open_states(file, h2o2)
    transform, held_out = StateTransform(h2o2.n_species, 0.1, 1e-13, 1.0), table.held_out(0.2, 0)
    fit_transform(transform, table, held_out)
    with pytest.raises(ValueError, match="none of 50 states is held out.*two blocks"):
        train(
            make_network([12, 8, 12]), TrainingData(table, transform, held_out), training.settings,
            tmp_path / "m.jsonl", training.device,
        )  # fmt: skip


def test_a_checkpoint_of_another_precision_is_refused(training, tmp_path, monkeypatch):
    training.fit_until_killed(tmp_path / "m.jsonl", 21)
    monkeypatch.setattr(loop, "fastest_precision", lambda device: ("bf16", "asked for"))
    with pytest.raises(ValueError, match="precision: 'float32' then, 'bf16' now"):
        training.fit(tmp_path / "m.jsonl")


def test_no_steps_leave_a_file_without_lines(training, tmp_path):
    metrics = tmp_path / "new" / "m.jsonl"
    training.fit(metrics, training.changed(steps=0))
    assert metrics.read_text() == ""

"""The training loop: a network is fitted to the rows of a state file.

Takes a `StateTable`, a fitted `StateTransform`, the held-out rows and a `Network`; leaves the
network trained, a file of metrics (JSON lines) and, while it runs, a checkpoint from which it
resumes bit for bit. Runs on CPU and CUDA.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from combred.config.learning import TrainingSettings
from combred.files.records import ANOTHER_RUN
from combred.files.trace import Trace, digest_of_tensors
from combred.surrogates.model.network import Network
from combred.surrogates.training.batches import RowBatches, TrainingData
from combred.surrogates.training.devices import fastest_precision
from combred.surrogates.training.optimizers import OPTIMIZERS, Optimizers
from combred.surrogates.training.schedules import batch_sizes, learning_rate
from combred.surrogates.training.sensitivity_loss import SensitivityLoss
from combred.surrogates.training.validation_loss import ValidationLoss

EVALUATE_EVERY = 200  # steps between two lines of metrics, at most
FORGET_EVERY = 50  # steps between two looks for tiny numbers in the optimiser's state
CHECKPOINT_SECONDS = 20.0  # between two checkpoints


def checkpoint_of(metrics: Path) -> Path:
    """Path of the checkpoint of the training with these metrics."""
    return metrics.with_suffix(".checkpoint")


def forget_checkpoint(metrics: Path) -> None:
    """Remove a checkpoint, if there is one, once its result is saved."""
    checkpoint_of(metrics).unlink(missing_ok=True)


def forward_mixed(network: Network, x: Tensor, bf16: bool) -> Tensor:
    """network(x) with the products of the hidden layers in bf16; the first and the last layer stay
    in float32. Without bf16 the same as network(x)."""
    if not bf16:
        return network(x)
    x = torch.relu(network.layers[0](x))
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        for layer in network.layers[1:-1]:
            x = torch.relu(layer(x))
    return network.layers[-1](x.float())


@dataclass(frozen=True)
class TrainStep:
    """One step of the optimiser, on the loss of a batch of rows."""

    model: Callable[[Tensor], Tensor]
    optimizers: Optimizers
    settings: TrainingSettings
    loss: Callable[[Tensor, Tensor], Tensor]
    sensitivity: SensitivityLoss | None

    def __call__(self, step: int, x: Tensor, z: Tensor) -> Tensor:
        """Make step number `step` on inputs x and targets z. Returns the loss, a scalar."""
        self.optimizers.set_rate(learning_rate(self.settings, step))
        if self.sensitivity is None:
            loss = self.loss(self.model(x), z)
        else:
            rows = self.sensitivity.rows(step, len(x))
            answer = self.model(torch.cat([x, self.sensitivity.x.index_select(0, rows)]))
            loss = self.loss(answer[: len(x)], z) + self.sensitivity(answer[len(x) :], rows)
        self.optimizers.zero_grad()
        loss.backward()
        self.optimizers.step()
        if step % FORGET_EVERY == 0:
            self.optimizers.forget_tiny()
        return loss.detach()


def train(
    network: Network,
    data: TrainingData,
    settings: TrainingSettings,
    metrics: Path,
    device: torch.device,
    on_progress: Callable[[int, int, str], None] = lambda *_: None,
) -> dict:
    """Train `network` in place; returns the numbers of the run: its steps, precision, seconds,
    samples per second and validation losses.

    `metrics`: a .jsonl file, one line per evaluation; beside it the checkpoint, <name>.checkpoint,
    from which an interrupted run resumes (`files.trace`). It stays until the caller has saved the
    result and calls `forget_checkpoint`. `on_progress`: (step, steps, latest loss).

    Raises ValueError if no row is held out, or if the checkpoint belongs to another training;
    FloatingPointError if the training diverges.
    """
    precision, _ = fastest_precision(device)
    network.to(device)
    transform = data.transform.to("cpu")
    rows = RowBatches(data, device, settings.flame_oversampling)
    validation = ValidationLoss(data.table, transform, data.held_out, device)
    optimizers = OPTIMIZERS[settings.optimizer](network)
    interval = max(1, min(EVALUATE_EVERY, settings.steps // 6))
    model = partial(forward_mixed, network, bf16=precision == "bf16")
    train_step = TrainStep(model, optimizers, settings, transform.loss, data.sensitivity)
    inputs = _inputs(network, data, settings, precision)
    store = Trace(checkpoint_of(metrics), inputs, ANOTHER_RUN)
    # Since the last line of metrics: sum of the losses, and their number. In all: samples, time.
    first_step, loss_sum, count, seen, seconds = 0, 0.0, 0, 0, 0.0
    if state := store.load(needs_rows=False):
        network.load_state_dict(state["network"])
        optimizers.load_state_dict(state["optimizers"])
        first_step, loss_sum, count, seen, seconds = state["progress"]
    metrics.parent.mkdir(parents=True, exist_ok=True)
    metrics.touch()  # also where no line is added
    sizes, saved = batch_sizes(settings), time.monotonic()
    started = saved - seconds
    losses = torch.tensor(loss_sum, device=device)
    for step, (x, z) in enumerate(rows.batches(sizes, first_step), start=first_step):
        losses += train_step(step, x, z)
        count, seen, last = count + 1, seen + sizes[step], step + 1 == settings.steps
        if (step + 1) % interval == 0 or last:
            line = _line(settings, step, sizes[step], float(losses) / count) | validation(network)
            store.add(line)
            losses, count = losses.zero_(), 0
            on_progress(step + 1, settings.steps, f"loss {line['train']:.4f}")
        elif step % 20 == 0:
            on_progress(step + 1, settings.steps, "")
        due = last or time.monotonic() - saved > CHECKPOINT_SECONDS
        # Of a training that diverged the last finite checkpoint stays; the evaluation raises.
        if due and torch.isfinite(losses).all():
            saved = time.monotonic()
            progress = step + 1, float(losses), count, seen, saved - started
            state = {"network": network.state_dict(), "optimizers": optimizers.state_dict()}
            store.save(state | {"progress": progress})
    seconds = time.monotonic() - started
    rate = {"seconds": seconds, "samples_per_second": seen / max(seconds, 1e-9)}
    return {"steps": settings.steps, "precision": precision, **rate, **validation(network)}


def _inputs(
    network: Network, data: TrainingData, settings: TrainingSettings, precision: str
) -> dict:
    """What the outcome of a training depends on."""
    initial = network.state_dict() | {"held out": torch.from_numpy(data.held_out)}
    return {
        "widths": network.widths,
        "precision": precision,
        "settings": settings.outcome,
        "seed": data.seed,
        "states": data.table.provenance,
        "begun with": digest_of_tensors(initial),
        "sensitivities": data.sensitivity and data.sensitivity.digest,
    }


def _line(settings: TrainingSettings, step: int, size: int, loss: float) -> dict:
    """A line of metrics after a step, from the mean loss since the last one. FloatingPointError if
    it is not finite."""
    if not np.isfinite(loss):
        raise FloatingPointError(
            f"training diverged at step {step + 1}: loss {loss}. Lower the learning rate (now "
            f"{settings.lr}); the last checkpoint is kept."
        )
    return {"step": step + 1, "lr": learning_rate(settings, step), "batch": size, "train": loss}

"""The training loop: a network is fitted to the rows of a state file.

Takes a `StateTable`, a fitted `StateTransform`, the held-out rows and a `Network`, and trajectory
segments if the settings ask for them; leaves the network trained, a file of metrics (JSON lines)
and, while it runs, a checkpoint from which it resumes bit for bit. Runs on CPU and CUDA, and under
torchrun on several of either.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from combred.config import TrainingSettings
from combred.dataset.states import StateTable
from combred.surrogate.network import Network
from combred.surrogate.transform import StateTransform
from combred.training.batches import RowBatches
from combred.training.devices import Device, resolve_precision
from combred.training.optimizers import OPTIMIZERS, Optimizers
from combred.training.progress import Progress, TrainingCheckpoint, digest_of_rows
from combred.training.rollout_loss import Rollouts
from combred.training.schedules import batch_sizes, learning_rate
from combred.training.validation_loss import ValidationLoss

# Largest norm of the gradient in steps with a rollout loss, whose gradient can be steep. With a
# trained network of 38,400 weights that of the rows was 0.14, that of 256 segments 2.5 to 9.
GRADIENT_NORM = 1.0
EVALUATE_EVERY = 200  # steps between two lines of metrics, at most
MEMORY_ROWS = 4_000_000  # rows held in memory; more are streamed in buffers


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


class _Mixed(nn.Module):
    """`forward_mixed` as a module, as DistributedDataParallel requires."""

    def __init__(self, network: Network, bf16: bool):
        super().__init__()
        self.network, self.bf16 = network, bf16

    def forward(self, x: Tensor) -> Tensor:
        return forward_mixed(self.network, x, self.bf16)


def has_rollout_loss(settings: TrainingSettings, step: int) -> bool:
    """Whether a step adds the rollout loss: in the last `rollout_share` of the steps."""
    if not settings.rollout_share:
        return False
    return step >= (1.0 - settings.rollout_share) * settings.steps


class TrainStep:
    """One step of the optimiser, on the loss of a batch of rows and, where `has_rollout_loss`, the
    loss of a batch of trajectory segments."""

    def __init__(
        self,
        network: Network,
        optimizers: Optimizers,
        settings: TrainingSettings,
        device: Device,
        bf16: bool,
        loss: Callable[[Tensor, Tensor], Tensor],
        rollouts: Rollouts | None,
    ):
        self.model: nn.Module = _Mixed(network, bf16)
        if device.world > 1:
            self.model = nn.parallel.DistributedDataParallel(self.model)
        self.optimizers, self.settings, self.device = optimizers, settings, device
        self.loss, self.rollouts = loss, rollouts

    def __call__(self, step: int, x: Tensor, z: Tensor) -> Tensor:
        """Make step number `step` on inputs x and targets z; each process takes its share of both
        batches. Returns the losses of rows and of segments (2,)."""
        rank, world = self.device.rank, self.device.world
        self.optimizers.set_rate(learning_rate(self.settings, step))
        loss = of_rows = self.loss(self.model(x[rank::world]), z[rank::world])
        of_segments = torch.zeros_like(of_rows)
        with_rollouts = has_rollout_loss(self.settings, step)
        if with_rollouts:
            # Not through the model of DistributedDataParallel: its hooks wait for the complete
            # gradient of a weight, including the part of the segments.
            of_segments = self.rollouts(step, rank, world).float()
            loss = of_rows + self.settings.rollout_weight * of_segments
        self.optimizers.zero_grad()
        loss.backward()
        if with_rollouts:
            nn.utils.clip_grad_norm_(self.model.parameters(), GRADIENT_NORM)
        self.optimizers.step()
        return torch.stack([of_rows, of_segments]).detach()


def train(
    network: Network,
    table: StateTable,
    transform: StateTransform,
    held_out: np.ndarray,
    settings: TrainingSettings,
    metrics: Path,
    seed: int,
    device: Device,
    on_progress: Callable[[int, int, str], None] = lambda *_: None,
    rollouts: Rollouts | None = None,
) -> dict:
    """Train `network` in place; returns the numbers of the run: its steps, precision, seconds,
    samples per second and validation losses.

    `held_out` (n_rows,) bool: the rows of `table` that validate and are not trained on. `metrics`:
    a .jsonl file, one line per evaluation; beside it the checkpoint, <name>.checkpoint, from which
    an interrupted run resumes. It stays until the caller has saved the result and calls
    `forget_checkpoint`. `on_progress` receives the step, the number of steps and the latest loss.
    `rollouts`: the trajectory segments and their loss, for the same network, if
    `settings.rollout_share` is not 0.

    Raises ValueError if segments are missing or not asked for, if no row is held out, or if the
    checkpoint belongs to another training; FloatingPointError if the training diverges.
    """
    if bool(settings.rollout_share) != bool(rollouts):
        raise ValueError(
            f"rollout_share={settings.rollout_share}, and {'' if rollouts else 'no '}segments given"
        )
    precision, _ = resolve_precision(settings.precision, device.device)
    network.to(device.device)
    transform.to("cpu")
    rows = RowBatches(
        table, transform, ~held_out, MEMORY_ROWS, device.device, seed,
        settings.flame_oversampling,
    )  # fmt: skip
    validation = ValidationLoss(table, transform, held_out, device.device)
    optimizers = OPTIMIZERS[settings.optimizer](network)
    every = max(1, min(EVALUATE_EVERY, settings.steps // 6))
    train_step = TrainStep(
        network, optimizers, settings, device, precision == "bf16", transform.loss, rollouts
    )
    made_from = table.rows, table.provenance, digest_of_rows(held_out)
    made_from += (rollouts.provenance,) if rollouts else ()
    store = TrainingCheckpoint(metrics, network, optimizers, settings, seed, made_from, device)
    done = store.resume()
    count, seen, sizes = done.count, done.seen, batch_sizes(settings)
    saved = time.monotonic()
    started = saved - done.seconds
    losses = torch.tensor([done.row_loss, done.rollout_loss], device=device.device)
    for step, (x, z) in enumerate(rows.batches(sizes, done.step), start=done.step):
        losses += train_step(step, x, z)
        count, seen = count + 1, seen + sizes[step]
        last = step + 1 == settings.steps
        if (step + 1) % every == 0 or last:
            line = _line(settings, step, sizes[step], losses, count) | validation(network)
            store.log(line)
            losses.zero_()
            count = 0
            on_progress(step + 1, settings.steps, f"loss {line['train']:.4f}")
        elif step % 20 == 0:
            on_progress(step + 1, settings.steps, "")
        if time.monotonic() - saved > settings.checkpoint_seconds or last:
            if not torch.isfinite(losses).all():
                continue  # diverged: the last finite checkpoint stays, the evaluation raises
            saved = time.monotonic()
            of_rows, of_segments = losses.tolist()
            store.save(Progress(step + 1, of_rows, count, seen, saved - started, of_segments))
    seconds = time.monotonic() - started
    return {
        "steps": settings.steps,
        "precision": precision,
        "seconds": seconds,
        "samples_per_second": seen / max(seconds, 1e-9),
        **validation(network),
    }


def _line(settings: TrainingSettings, step: int, size: int, losses: Tensor, count: int) -> dict:
    """A line of metrics after a step, from the sums of `count` losses of rows and of segments.
    FloatingPointError if they are not finite."""
    of_rows, of_segments = (total / count for total in losses.tolist())
    if not np.isfinite([of_rows, of_segments]).all():
        raise FloatingPointError(
            f"training diverged at step {step + 1}: loss {of_rows}"
            + (f", of segments {of_segments}" if settings.rollout_share else "")
            + f". Lower the learning rate (now {settings.lr}) or use float32; the last checkpoint "
            "is kept."
        )
    line = {"step": step + 1, "lr": learning_rate(settings, step), "batch": size, "train": of_rows}
    rollout_steps = sum(has_rollout_loss(settings, s) for s in range(step + 1 - count, step + 1))
    return line | ({"rollout": of_segments * count / rollout_steps} if rollout_steps else {})

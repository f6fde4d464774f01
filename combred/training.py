"""Training: a network, the rows of a state file, and a schedule.

Takes a `StateTable`, a fitted `StateTransform` and a `Network`; leaves the network trained, a
file of metrics (JSON lines) and, while it runs, a checkpoint from which it resumes bit for bit.
Runs on CPU and CUDA, and under torchrun on several of either.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from combred.checkpoint import load_checkpoint, save_checkpoint
from combred.config import TrainingSettings
from combred.losses import LOSSES
from combred.network import Network
from combred.states import CHUNK, Block, StateTable
from combred.transform import StateTransform


@dataclass(frozen=True)
class Device:
    """Where training runs: the torch device, and this process among those of torchrun."""

    device: torch.device
    rank: int = 0
    world: int = 1

    @property
    def leads(self) -> bool:
        return self.rank == 0


def open_device() -> Device:
    """CUDA if there is one, else CPU; joins the process group when started by torchrun."""
    world = int(os.environ.get("WORLD_SIZE", "1"))  # set by torchrun, not by users
    cuda = torch.cuda.is_available()
    if world == 1:
        return Device(torch.device("cuda" if cuda else "cpu"))
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local)
    if not torch.distributed.is_initialized():
        # The others wait while the first process samples and validates: long.
        backend, patience = "nccl" if cuda else "gloo", timedelta(days=7)
        torch.distributed.init_process_group(backend, timeout=patience)
    return Device(torch.device(f"cuda:{local}" if cuda else "cpu"), rank, world)


def resolve_precision(precision: str, device: torch.device) -> tuple[str, str]:
    """The precision that "auto" stands for, and the reason, for the log."""
    if precision != "auto":
        return precision, "asked for"
    if device.type == "cuda":
        if torch.cuda.is_bf16_supported(including_emulation=False):
            return "bf16", "the GPU has bf16 matrix units"
        return "float32", "the GPU has no bf16 matrix units"
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if "avx512_bf16" in flags or "amx_bf16" in flags:
        return "bf16", "the CPU multiplies bf16"
    return "float32", "the CPU has no bf16 arithmetic"


# -- data ----------------------------------------------------------------------------------------


def fit_transform(transform: StateTransform, table: StateTable, held_out: np.ndarray) -> None:
    """Fit a transform to the training rows, streamed."""
    transform.fit(
        (torch.from_numpy(block.state()), torch.from_numpy(block.next_state()))
        for block in table.chunks(keep=~held_out)
    )


def encode(transform: StateTransform, block: Block) -> tuple[Tensor, Tensor]:
    """Network input and target, float32, of the rows of a block."""
    v = transform.variables(torch.from_numpy(block.state()))
    change = transform.variables(torch.from_numpy(block.next_state())) - v
    return transform.features(v).float(), transform.target(change).float()


class Rows:
    """Encoded rows of a state file, in memory or, if there are too many, in shuffled buffers.

    The batch of a step depends on seed and step alone, so that a resumed run sees what the
    uninterrupted one would have seen.
    """

    def __init__(
        self,
        table: StateTable,
        transform: StateTransform,
        keep: np.ndarray,
        memory_rows: int,
        device: torch.device,
        seed: int,
    ):
        self.table, self.transform, self.keep = table, transform, keep
        self.device, self.seed = device, seed
        starts = np.arange(0, table.rows, CHUNK)
        counts = np.add.reduceat(keep.astype(np.int64), starts)
        self._chunks = [(int(s), int(c)) for s, c in zip(starts, counts, strict=True) if c > 0]
        self.rows = int(counts.sum())
        self.memory_rows = memory_rows
        self._loaded: tuple[tuple[int, ...], Tensor, Tensor] | None = None

    def load(self, chunks: list[int]) -> tuple[Tensor, Tensor]:
        """Encoded rows of the chunks that start at the given rows; the last ones are kept."""
        key = tuple(chunks)
        if self._loaded is None or self._loaded[0] != key:
            self._loaded = None
            parts = []
            for start in chunks:
                stop = min(start + CHUNK, self.table.rows)
                block = self.table.read(start, stop).rows(self.keep[start:stop])
                parts.append(encode(self.transform, block))
            x, z = (torch.cat(side).to(self.device) for side in zip(*parts, strict=True))
            self._loaded = key, x, z
        return self._loaded[1:]

    def batches(self, sizes: list[int], first: int) -> Iterator[tuple[Tensor, Tensor]]:
        """The batches of steps first, first + 1, ...; `sizes[step]` rows each (fewer where a
        buffer has fewer)."""
        step, epoch = 0, 0
        while step < len(sizes):
            for index, (chunks, rows) in enumerate(self._buffers(epoch)):
                order, at = None, 0
                while step < len(sizes) and (at == 0 or at + sizes[step] <= rows):
                    size = min(sizes[step], rows)
                    if step >= first:
                        x, z = self.load(chunks)
                        if order is None:
                            order = self._permutation(rows, epoch, index)
                        pick = order[at : at + size]
                        yield x[pick], z[pick]
                    at += size
                    step += 1
                if step == len(sizes):
                    return
            epoch += 1

    def _buffers(self, epoch: int) -> list[tuple[list[int], int]]:
        """Groups of chunks that fit in memory: one group of all, or a fresh shuffle each epoch."""
        if self.rows <= self.memory_rows:
            return [([start for start, _ in self._chunks], self.rows)]
        rng = np.random.default_rng([self.seed, 3, epoch])
        groups: list[tuple[list[int], int]] = []
        for i in rng.permutation(len(self._chunks)):
            start, count = self._chunks[i]
            if not groups or groups[-1][1] + count > self.memory_rows:
                groups.append(([], 0))
            groups[-1] = groups[-1][0] + [start], groups[-1][1] + count
        return groups

    def _permutation(self, rows: int, epoch: int, index: int) -> Tensor:
        rng = np.random.default_rng([self.seed, 4, epoch, index])
        return torch.from_numpy(rng.permutation(rows)).to(self.device)


# -- schedules -----------------------------------------------------------------------------------


def learning_rate(settings: TrainingSettings, step: int) -> float:
    """The rate of a step: linear warm-up, then a cosine to lr_final, or steps of `decay`."""
    warm = settings.warmup * settings.steps
    if step < warm:
        return settings.lr * (step + 1) / (warm + 1)
    if settings.schedule == "step":
        return settings.lr * settings.decay ** (step // settings.decay_every)
    done = (step - warm) / max(settings.steps - warm, 1)
    fall = 0.5 * (1 + np.cos(np.pi * done))
    return settings.lr_final + (settings.lr - settings.lr_final) * float(fall)


def batch_sizes(settings: TrainingSettings) -> list[int]:
    """The batch size of every step: a geometric growth over phases of equal length."""
    ratio = settings.batch_final / settings.batch
    phases = settings.batch_phases
    sizes = []
    for step in range(settings.steps):
        phase = step * phases // settings.steps
        sizes.append(round(settings.batch * ratio ** (phase / max(phases - 1, 1))))
    return sizes


# -- the loop ------------------------------------------------------------------------------------


def forward_mixed(network: Network, x: Tensor, bf16: bool) -> Tensor:
    """The network's output with the hidden layers' products in bf16; first and last in float32.

    Without bf16 the same as network(x).
    """
    if not bf16:
        return network(x)
    x = torch.relu(network.layers[0](x))
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        for layer in network.layers[1:-1]:
            x = torch.relu(layer(x))
    return network.layers[-1](x.float())


class _Mixed(nn.Module):
    """`forward_mixed` as a module, which DistributedDataParallel wants."""

    def __init__(self, network: Network, bf16: bool):
        super().__init__()
        self.network, self.bf16 = network, bf16

    def forward(self, x: Tensor) -> Tensor:
        return forward_mixed(self.network, x, self.bf16)


def train(
    network: Network,
    table: StateTable,
    transform: StateTransform,
    settings: TrainingSettings,
    metrics: Path,
    seed: int,
    device: Device,
    on_progress: Callable[[int, int, str], None] = lambda *_: None,
) -> dict:
    """Train `network` in place; returns the numbers of the run.

    `metrics`: a .jsonl file, one line per evaluation; beside it the checkpoint, <name>.checkpoint,
    from which an interrupted run resumes. The checkpoint stays until the caller has saved the
    result and calls `forget_checkpoint`. `on_progress` is told step, steps and the latest loss.
    """
    held_out = table.held_out(settings.held_out, seed)
    if not held_out.any():
        raise ValueError(
            "these states are of one trajectory, and none can be held out: sample more than one "
            "(sampling.ignitions)"
        )
    precision, _ = resolve_precision(settings.precision, device.device)
    network.to(device.device)
    transform.to("cpu")
    rows = Rows(table, transform, ~held_out, settings.memory_rows, device.device, seed)
    check = ValidationLoss(table, transform, held_out, settings.loss, device.device)
    model: nn.Module = _Mixed(network, precision == "bf16")
    if device.world > 1:
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.lr, fused=True)
    loss_of = LOSSES[settings.loss]
    states = table.rows, table.provenance
    store = _Checkpoint(metrics, network, optimizer, settings, seed, states, device)
    progress = store.resume()
    first, count, seen = progress.step, progress.count, progress.seen
    sizes = batch_sizes(settings)
    saved = time.monotonic()
    started = saved - progress.seconds
    running = torch.tensor(progress.running, device=device.device)
    batches = rows.batches(sizes, first)
    for step, (x, z) in enumerate(batches, start=first):
        rate = learning_rate(settings, step)
        for group in optimizer.param_groups:
            group["lr"] = rate
        if device.world > 1:
            x, z = x[device.rank :: device.world], z[device.rank :: device.world]
        loss = loss_of(model(x), z)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        running += loss.detach()
        count, seen = count + 1, seen + sizes[step]
        last = step + 1 == settings.steps
        if (step + 1) % settings.evaluate_every == 0 or last:
            line = {
                "step": step + 1,
                "lr": rate,
                "batch": sizes[step],
                "train": float(running) / count,
                **check(network),
            }
            if not np.isfinite(line["train"]):
                raise FloatingPointError(
                    f"training diverged at step {step + 1}: loss {line['train']}. Lower the rate "
                    f"(now {settings.lr}) or take float32; the last checkpoint is kept."
                )
            store.log(line)
            running.zero_()
            count = 0
            on_progress(step + 1, settings.steps, f"loss {line['train']:.4f}")
        elif step % 20 == 0:
            on_progress(step + 1, settings.steps, "")
        if time.monotonic() - saved > settings.checkpoint_seconds or last:
            if not torch.isfinite(running):
                continue  # diverged: the evaluation says so, from the last sound checkpoint
            saved = time.monotonic()
            store.save(Progress(step + 1, float(running), count, seen, saved - started))
    seconds = time.monotonic() - started
    final = check(network)
    return {
        "steps": settings.steps,
        "precision": precision,
        "seconds": seconds,
        "samples_per_second": seen / max(seconds, 1e-9),
        **final,
    }


class ValidationLoss:
    """Mean loss over held-out rows, at most 20,000 of them, whole and by sampler."""

    def __init__(
        self,
        table: StateTable,
        transform: StateTransform,
        held_out: np.ndarray,
        loss: str,
        device: torch.device,
    ):
        self.loss = LOSSES[loss]
        rows = np.flatnonzero(held_out)
        chosen = np.zeros(table.rows, dtype=bool)
        chosen[rows[:: max(1, len(rows) // 20_000)]] = True
        blocks = list(table.chunks(keep=chosen))
        encoded = [encode(transform, block) for block in blocks]
        self.x, self.z = (torch.cat(side).to(device) for side in zip(*encoded, strict=True))
        self.samplers = np.concatenate([block.sampler for block in blocks])
        self.names = [str(name) for name in table.attributes["samplers"]]

    def __call__(self, network: Network) -> dict:
        loss_of = self.loss
        with torch.no_grad():
            parts = [network(x) for x in self.x.split(4096)]
            prediction = torch.cat(parts)
            by_sampler = {}
            for i in np.unique(self.samplers):
                rows = torch.from_numpy(self.samplers == i).to(self.x.device)
                by_sampler[self.names[i]] = float(loss_of(prediction[rows], self.z[rows]))
            return {
                "validation": float(loss_of(prediction, self.z)),
                "validation_by_sampler": by_sampler,
            }


class _Checkpoint:
    """Weights, optimiser and step beside the metrics; the first process writes, all read."""

    def __init__(
        self,
        metrics: Path,
        network: Network,
        optimizer: torch.optim.Optimizer,
        settings: TrainingSettings,
        seed: int,
        states: tuple[int, dict],
        device: Device,
    ):
        self.metrics, self.path = metrics, checkpoint_of(metrics)
        self.network, self.optimizer, self.device = network, optimizer, device
        self.signature = repr((network.widths, outcome_settings(settings), seed, states))

    def resume(self) -> "Progress":
        """Load the checkpoint if there is one; returns how far it is."""
        progress = Progress()
        mend = "name another run with run=NAME"
        stored = load_checkpoint(self.path, self.signature, mend, self.device.device)
        if stored is not None:
            self.network.load_state_dict(stored["network"])
            self.optimizer.load_state_dict(stored["optimizer"])
            progress = Progress(**stored["progress"])
        if self.device.leads:
            self._keep_lines(progress.step)
        return progress

    def _keep_lines(self, step: int) -> None:
        lines = self.metrics.read_text().splitlines() if self.metrics.exists() else []
        kept = [line for line in lines if line.endswith("}") and json.loads(line)["step"] <= step]
        self.metrics.write_text("".join(line + "\n" for line in kept))

    def log(self, line: dict) -> None:
        if self.device.leads:
            with self.metrics.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def save(self, progress: "Progress") -> None:
        if self.device.leads:
            content = {
                "network": self.network.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "progress": asdict(progress),
            }
            save_checkpoint(self.path, self.signature, content)


@dataclass(frozen=True)
class Progress:
    """How far a training is: steps done, sum and number of the losses since the last line of
    metrics, samples seen, seconds taken."""

    step: int = 0
    running: float = 0.0
    count: int = 0
    seen: int = 0
    seconds: float = 0.0


def outcome_settings(settings: TrainingSettings) -> dict:
    """The settings that decide the outcome of a training, as opposed to how it is watched."""
    watching = ("checkpoint_seconds", "evaluate_every")
    return {k: v for k, v in asdict(settings).items() if k not in watching}


def checkpoint_of(metrics: Path) -> Path:
    """Where the checkpoint of a training lies."""
    return metrics.with_suffix(".checkpoint")


def forget_checkpoint(metrics: Path) -> None:
    """Remove a checkpoint once its result is saved."""
    checkpoint_of(metrics).unlink(missing_ok=True)

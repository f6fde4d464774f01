"""How far a training has come, and the checkpoint from which it resumes.

Takes what the training loop holds (network, optimisers, numbers); writes one file beside the
metrics, and reads it back for the same training only.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from combred.checkpoint import load_checkpoint, save_checkpoint
from combred.config import TrainingSettings
from combred.surrogate.network import Network
from combred.training.devices import Device
from combred.training.optimizers import Optimizers


@dataclass(frozen=True)
class Progress:
    """How far a training has come: steps done; since the last line of metrics the sum of the losses
    (`row_loss`) and their number (`count`); samples seen and seconds taken in all."""

    step: int = 0
    row_loss: float = 0.0
    count: int = 0
    seen: int = 0
    seconds: float = 0.0


class TrainingCheckpoint:
    """Weights, optimisers and progress in a file beside the metrics. The first process writes it,
    all processes read it.

    `made_from`: what the outcome depends on besides network, settings and seed, such as the
    provenance of the states.
    """

    def __init__(
        self,
        metrics: Path,
        network: Network,
        optimizers: Optimizers,
        settings: TrainingSettings,
        seed: int,
        made_from: tuple,
        device: Device,
    ):
        self.metrics, self.path = metrics, checkpoint_of(metrics)
        self.network, self.optimizers, self.device = network, optimizers, device
        self.signature = repr((network.widths, outcome_settings(settings), seed, made_from))

    def resume(self) -> Progress:
        """Load the checkpoint, if there is one, into network and optimisers; returns its progress.
        Removes lines of metrics that were written after it. ValueError for another training's."""
        progress = Progress()
        mend = "name another run with run=NAME"
        stored = load_checkpoint(self.path, self.signature, mend, self.device.device)
        if stored is not None:
            self.network.load_state_dict(stored["network"])
            self.optimizers.load_state_dict(stored["optimizers"])
            # Checkpoints of earlier versions hold more than these, the loss of segments.
            progress = Progress(**{f.name: stored["progress"][f.name] for f in fields(Progress)})
        if self.device.leads:
            self._keep_lines(progress.step)
        return progress

    def _keep_lines(self, step: int) -> None:
        lines = self.metrics.read_text().splitlines() if self.metrics.exists() else []
        kept = [line for line in lines if line.endswith("}") and json.loads(line)["step"] <= step]
        self.metrics.write_text("".join(line + "\n" for line in kept))

    def log(self, line: dict) -> None:
        """Append a line of metrics."""
        if self.device.leads:
            with self.metrics.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def save(self, progress: Progress) -> None:
        """Write the checkpoint, whole or not at all."""
        if self.device.leads:
            content = {
                "network": self.network.state_dict(),
                "optimizers": self.optimizers.state_dict(),
                "progress": asdict(progress),
            }
            save_checkpoint(self.path, self.signature, content)


def outcome_settings(settings: TrainingSettings) -> dict:
    """The settings that decide the outcome of a training: all but the interval of checkpoints."""
    return {k: v for k, v in asdict(settings).items() if k != "checkpoint_seconds"}


def digest_of_rows(rows: np.ndarray) -> str:
    """A short hash of a choice of rows (n,) bool."""
    return hashlib.sha256(np.packbits(rows).tobytes()).hexdigest()[:16]


def checkpoint_of(metrics: Path) -> Path:
    """Path of the checkpoint of the training with these metrics."""
    return metrics.with_suffix(".checkpoint")


def forget_checkpoint(metrics: Path) -> None:
    """Remove a checkpoint, if there is one, once its result is saved."""
    checkpoint_of(metrics).unlink(missing_ok=True)

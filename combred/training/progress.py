"""How far a training is, and what it goes on from when it was interrupted."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from combred.checkpoint import load_checkpoint, save_checkpoint
from combred.config import TrainingSettings
from combred.surrogate.network import Network
from combred.training.devices import Device
from combred.training.optimizers import Optimizers


@dataclass(frozen=True)
class Progress:
    """How far a training is: steps done, sum and number of the losses since the last line of
    metrics, samples seen, seconds taken, and the sum of the losses of segments."""

    step: int = 0
    running: float = 0.0
    count: int = 0
    seen: int = 0
    seconds: float = 0.0
    rollouts: float = 0.0


class TrainingCheckpoint:
    """Weights, optimisers and progress beside the metrics; the first process writes, all read.

    `made_from`: rows and provenance of the states, and what else the outcome depends on.
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
        """Load the checkpoint if there is one; returns how far it is."""
        progress = Progress()
        mend = "name another run with run=NAME"
        stored = load_checkpoint(self.path, self.signature, mend, self.device.device)
        if stored is not None:
            self.network.load_state_dict(stored["network"])
            self.optimizers.load_state_dict(stored["optimizers"])
            progress = Progress(**stored["progress"])
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
    """The settings that decide the outcome of a training, as opposed to how it is watched; those of
    segments only where segments are marched."""
    without = ["checkpoint_seconds"]
    if not settings.rollout_share:
        without += [k for k in asdict(settings) if k.startswith("rollout_")]
    return {k: v for k, v in asdict(settings).items() if k not in without}


def checkpoint_of(metrics: Path) -> Path:
    """Where the checkpoint of a training lies."""
    return metrics.with_suffix(".checkpoint")


def forget_checkpoint(metrics: Path) -> None:
    """Remove a checkpoint once its result is saved."""
    checkpoint_of(metrics).unlink(missing_ok=True)

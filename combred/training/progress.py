"""How far a training has come, and the checkpoint from which it resumes.

Takes what the training loop holds (network, optimisers, numbers); writes one file beside the
metrics, and reads it back for the same training only.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from combred.config import TrainingSettings
from combred.config.fields import require, shown
from combred.files.checkpoint import load_checkpoint, save_checkpoint
from combred.files.records import write_bytes
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
    all processes read it. Made before the first step: a checkpoint belongs to a training that
    begins with these weights.

    `made_from`: what the outcome depends on besides the network: settings, seed, states.
    """

    def __init__(
        self,
        metrics: Path,
        network: Network,
        optimizers: Optimizers,
        made_from: tuple,
        device: Device,
    ):
        self.metrics, self.path = metrics, checkpoint_of(metrics)
        self.network, self.optimizers, self.device = network, optimizers, device
        begun_from = digest_of_weights(network)
        outcome = network.widths, *made_from, begun_from
        self.signature = repr(outcome)

    def resume(self) -> Progress:
        """Load the checkpoint, if there is one, into network and optimisers; returns its progress.
        Removes lines of metrics that were written after it. ValueError for another training's, and
        for lines of metrics that are not those of the checkpoint."""
        progress = Progress()
        mend = "name another run with run=NAME"
        stored = load_checkpoint(self.path, self.signature, mend, self.device.device)
        if stored is not None:
            try:
                self.network.load_state_dict(stored["network"])
                self.optimizers.load_state_dict(stored["optimizers"])
                progress = Progress(**stored["progress"])
            except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
                raise ValueError(
                    f"{self.path} is no checkpoint of this training ({shown(error, 200)}). Move it "
                    "away; the training starts again."
                ) from error
        if self.device.leads:
            there, kept = self.metrics.exists(), self._lines_until(progress.step)
            if stored is not None and there and stored.get("metrics") != digest_of_text(kept):
                raise ValueError(
                    f"{self.metrics} does not belong to {self.path.name} beside it. Move it away: "
                    "the training goes on, and its first lines of metrics are lost."
                )
            write_bytes(self.metrics, kept.encode())
        return progress

    def _lines_until(self, step: int) -> str:
        """The lines of metrics up to a step."""
        kept = [line for line in read_metrics(self.metrics) if line["step"] <= step]
        return "".join(json.dumps(line) + "\n" for line in kept)

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
                "metrics": digest_of_text(self._lines_until(progress.step)),
            }
            save_checkpoint(self.path, self.signature, content)


def outcome_settings(settings: TrainingSettings) -> dict:
    """All that decides the outcome of a training."""
    derived = {name: getattr(settings, name) for name in ("batch_phases", "flame_oversampling")}
    return asdict(settings) | derived


def read_metrics(metrics: Path) -> list[dict]:
    """The lines of a file of metrics, [] if there is none, without the last where a killed process
    has left it incomplete. Raises ValueError for another line that is no line of metrics."""
    if not metrics.exists():
        return []
    lines = metrics.read_bytes().splitlines(keepends=True)
    found = []
    for number, line in enumerate(lines, start=1):
        if number == len(lines) and not line.endswith(b"\n"):
            break
        try:
            found.append(json.loads(line))
            require(isinstance(found[-1].get("step"), int), "it has no step")
        except (ValueError, AttributeError) as error:
            raise ValueError(
                f"{metrics}, line {number}, is no line of training metrics ({shown(error)}). Move "
                "the file away: the network does not need it."
            ) from error
    return found


def digest_of_weights(network: Network) -> str:
    """A short hash of all tensors of a network."""
    found = hashlib.sha256()
    for name, tensor in network.state_dict().items():
        found.update(name.encode())
        found.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()[:16]


def digest_of_text(text: str) -> str:
    """A short hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digest_of_rows(rows: np.ndarray) -> str:
    """A short hash of a choice of rows (n,) bool."""
    return hashlib.sha256(np.packbits(rows).tobytes()).hexdigest()[:16]


def checkpoint_of(metrics: Path) -> Path:
    """Path of the checkpoint of the training with these metrics."""
    return metrics.with_suffix(".checkpoint")


def forget_checkpoint(metrics: Path) -> None:
    """Remove a checkpoint, if there is one, once its result is saved."""
    checkpoint_of(metrics).unlink(missing_ok=True)

"""What a training depends on, and the names of its files: metrics, and a checkpoint beside them."""

from dataclasses import asdict
from pathlib import Path

from combred.config import TrainingSettings


def outcome_settings(settings: TrainingSettings) -> dict:
    """All that decides the outcome of a training."""
    derived = {name: getattr(settings, name) for name in ("batch_phases", "flame_oversampling")}
    return asdict(settings) | derived


def checkpoint_of(metrics: Path) -> Path:
    """Path of the checkpoint of the training with these metrics."""
    return metrics.with_suffix(".checkpoint")


def forget_checkpoint(metrics: Path) -> None:
    """Remove a checkpoint, if there is one, once its result is saved."""
    checkpoint_of(metrics).unlink(missing_ok=True)

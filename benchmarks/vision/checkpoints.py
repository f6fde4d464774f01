"""Checkpoints of an image training: weights, optimiser, and losses of the finished epochs."""

import io
from pathlib import Path

import torch
from torch import nn

from benchmarks.vision.images import Images
from combred.files.records import write_bytes


def signature(network: nn.Module, settings: object, images: Images) -> str:
    """The identity of a training: shapes of the network, settings, data."""
    shapes = [(name, tuple(t.shape)) for name, t in network.state_dict().items()]
    return repr((shapes, settings, images.name, tuple(images.train.shape)))


def store(
    path: Path,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    settings: object,
    images: Images,
    losses: list[float],
) -> None:
    """Write a checkpoint, whole or not at all."""
    content = {
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
        "losses": losses,
        "signature": signature(network, settings, images),
    }
    buffer = io.BytesIO()
    torch.save(content, buffer)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, buffer.getvalue())


def resume(
    path: Path | None,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    settings: object,
    images: Images,
    device: torch.device,
) -> list[float]:
    """Load a checkpoint if there is one; returns the losses of the finished epochs.

    Raises ValueError if the file cannot be read or belongs to another training.
    """
    if path is None or not path.exists():
        return []
    try:
        stored = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:
        raise ValueError(f"{path} cannot be read ({error}). Delete it and run again.") from error
    if stored["signature"] != signature(network, settings, images):
        raise ValueError(f"{path} belongs to another training. Delete it and run again.")
    network.load_state_dict(stored["network"])
    optimizer.load_state_dict(stored["optimizer"])
    return stored["losses"]

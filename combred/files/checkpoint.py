"""Checkpoints of long trainings: written whole or not at all, loaded only by their own training.

A signature, a text, says which training a checkpoint belongs to.
"""

import io
import os
from pathlib import Path

import torch

from combred.config.fields import require, shown
from combred.files.records import write_bytes
from combred.files.torch_archive import damage_in


def save_checkpoint(path: Path, signature: str, content: dict) -> None:
    """Write tensors and numbers, with the signature of the training they belong to."""
    buffer = io.BytesIO()  # so that a full disk raises OSError, which is reported
    torch.save({"signature": signature, **content}, buffer)
    write_bytes(path, buffer.getvalue())


def load_checkpoint(
    path: Path, signature: str, mend: str, device: torch.device | str = "cpu"
) -> dict | None:
    """The content that `save_checkpoint` wrote, None if there is no file.

    Raises ValueError if the file is damaged or has another signature; `mend` completes the message
    "Move it away, or ...".
    """
    if not path.exists():
        return None
    try:
        damage = damage_in(path)
        require(damage is None, f"damaged: {damage}")
        stored = torch.load(path, map_location=device, weights_only=True)
        require(
            isinstance(stored, dict) and isinstance(stored.get("signature"), str),
            "it is no checkpoint of a training",
        )
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read ({shown(error, 200)}). Move it away; the training starts again."
        ) from error
    if stored["signature"] != signature:
        then, now = first_difference(stored["signature"], signature)
        raise ValueError(
            f"{path} belongs to a training with other settings (then {then}; now {now}). Move it "
            f"away, or {mend}."
        )
    return stored


def first_difference(one: str, other: str, before: int = 40, after: int = 60) -> tuple[str, str]:
    """The parts of two texts around the first difference: up to `before` characters before it and
    `after` from it on."""
    at = len(os.path.commonprefix([one, other]))
    start = max(0, at - before)

    def part(text: str) -> str:
        end = "..." if at + after < len(text) else ""
        return ("..." if start else "") + text[start : at + after] + end

    return part(one), part(other)

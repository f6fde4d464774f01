"""Checkpoints of long trainings: whole or not at all, and refused by any training but their own."""

import io
import os
from pathlib import Path

import torch

from combred.records import write_bytes


def save_checkpoint(path: Path, signature: str, content: dict) -> None:
    """Write tensors and numbers, with the signature of what they belong to."""
    buffer = io.BytesIO()  # so that a full disk is an OSError, which is told
    torch.save({"signature": signature, **content}, buffer)
    write_bytes(path, buffer.getvalue())


def load_checkpoint(
    path: Path, signature: str, mend: str, device: torch.device | str = "cpu"
) -> dict | None:
    """What `save_checkpoint` wrote, None where there is nothing.

    Raises ValueError where the file is damaged, or where its signature is another one; `mend` says
    what to do then, beside deleting it.
    """
    if not path.exists():
        return None
    try:
        stored = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read ({error}). Delete it; the training starts anew."
        ) from error
    if stored["signature"] != signature:
        then, now = first_difference(stored["signature"], signature)
        raise ValueError(
            f"{path} belongs to a training with other settings:\n  then {then}\n  now  {now}\n"
            f"Delete it, or {mend}."
        )
    return stored


def first_difference(one: str, other: str, before: int = 40, after: int = 60) -> tuple[str, str]:
    """Where two texts begin to differ, with some of what stands around it."""
    at = len(os.path.commonprefix([one, other]))
    start = max(0, at - before)
    return tuple(
        ("..." if start else "")
        + text[start : at + after]
        + ("..." if at + after < len(text) else "")
        for text in (one, other)
    )

"""Records: JSON files of numbers, written whole or not at all, and hashes of files.

Imports nothing of combred.
"""

import hashlib
import json
import os
from pathlib import Path

import numpy as np


def read_json(path: Path) -> dict:
    """The content of a JSON file, {} if there is no file. Raises ValueError if it is damaged."""
    if not path.exists():
        return {}
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error}): move it away and run again") from error


def digest(path: Path) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def write_json(path: Path, numbers: dict) -> None:
    """Write a JSON file, whole or not at all. NaN and infinity are written as Python reads them;
    see `strict`."""
    text = json.dumps(numbers, indent=1, default=_plain)
    write_bytes(Path(path), (text + "\n").encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all. Raises OSError if the disk is full."""
    new = path.with_name(path.name + ".new")
    try:
        new.write_bytes(data)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def strict(value):
    """The same content with None for NaN and infinity: JSON that every parser reads."""
    if isinstance(value, dict):
        return {key: strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(item) for item in value]
    if isinstance(value, (float, np.floating)) and not np.isfinite(value):
        return None
    return value


def _plain(value):
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value)} is not JSON")

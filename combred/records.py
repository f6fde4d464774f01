"""Records: numbers in JSON files, written whole or not at all, and the hash of a file. A leaf."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np


def read_json(path: Path) -> dict:
    """A JSON file, {} if there is none; ValueError if it is damaged."""
    if not path.exists():
        return {}
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error}): delete it and run again") from error


def digest(path: Path) -> str:
    """A short hash of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def write_json(path: Path, numbers: dict) -> None:
    """Write JSON whole or not at all."""
    new = Path(path).with_suffix(".json.new")
    new.write_text(json.dumps(numbers, indent=1, allow_nan=True, default=_plain) + "\n")
    os.replace(new, path)


def _plain(value):
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value)} is not JSON")

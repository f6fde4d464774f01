"""Finished parts of a long computation, each a file of arrays, until the whole is made of them.

A computation that is killed at any time goes on with the parts that are there.
"""

import hashlib
import io
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from combred.files.records import digest_of, write_files


class Parts:
    """The parts of what becomes the file `path`, by their numbers, in a folder beside it.

    inputs: plain JSON of all that decides the parts; the folder is named after its digest, so that
    parts of other inputs are not taken. A part appears whole or not at all; a damaged one, or one
    of another number or folder, counts as missing.
    """

    def __init__(self, path: Path, inputs: dict):
        self.path = Path(path)
        self.folder = self.path.with_suffix(f".{digest_of(inputs)}.partial")
        self.folder.mkdir(parents=True, exist_ok=True)

    def write(self, number: int, arrays: Iterable[np.ndarray]) -> None:
        """Write a part, which may be lost, and is then missing, after a power failure."""
        buffer = io.BytesIO()
        np.savez(buffer, *arrays)
        content = buffer.getvalue()
        path = self.folder / str(number)
        write_files({path: self._digest(number, content) + content}, lasting=False)

    def read(self, number: int) -> list[np.ndarray] | None:
        """The arrays of a part, in order; None where there is none, or it is damaged."""
        path, size = self.folder / str(number), hashlib.sha256().digest_size
        stored = path.read_bytes() if path.is_file() else b""
        if self._digest(number, stored[size:]) != stored[:size]:
            return None
        with np.load(io.BytesIO(stored[size:])) as file:
            return [file[f"arr_{i}"] for i in range(len(file.files))]

    def _digest(self, number: int, content: bytes) -> bytes:
        """Of a part and of its place."""
        return hashlib.sha256(f"{self.folder.name}/{number}\n".encode() + content).digest()


def forget_parts(path: Path) -> None:
    """Remove what interrupted computations of the file `path` have left, of all inputs."""
    for folder in path.parent.glob(f"{path.stem}.*.partial"):
        shutil.rmtree(folder, ignore_errors=True)

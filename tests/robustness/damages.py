"""Damages to a file: flipped bits, truncation, exchange, foreign contents, a folder instead."""

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import torch
from safetensors.torch import save_file

Damage = Callable[[Path], None]


def damages(
    file: Path, other: Path, rng: random.Random, flips: int
) -> Iterator[tuple[str, Damage]]:
    """Names and functions of the damages to a file: `flips` single bits, truncations, the same file
    of another run, foreign contents of the same format, a folder in its place."""
    size = file.stat().st_size
    for _ in range(flips):
        place, bit = rng.randrange(size), rng.randrange(8)
        yield f"bit {bit} of byte {place}", lambda path, a=place, b=bit: flip(path, a, b)
    for length in (0, 1, size // 2, size - 1):
        yield f"cut to {length} bytes", lambda path, n=length: cut(path, n)
    yield "a byte more", lambda path: path.write_bytes(path.read_bytes() + b"\n0")
    if other.exists():
        yield "of another run", lambda path: shutil.copyfile(other, path)
    for number, foreign in enumerate(FOREIGN.get(file.suffix, [])):
        yield f"foreign content {number}", foreign
    yield "a folder", in_place


def flip(path: Path, place: int, bit: int) -> None:
    """Flip a bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def cut(path: Path, length: int) -> None:
    """Leave the first bytes of a file."""
    path.write_bytes(path.read_bytes()[:length])


def in_place(path: Path) -> None:
    """A folder in the place of a file."""
    path.unlink()
    path.mkdir()


def _text(text: str) -> Damage:
    return lambda path: path.write_text(text)


def _hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["T"] = np.ones(3)
        file.attrs["inputs"] = "[1]"
        file.attrs["format"] = 3


def _network(**metadata: str) -> Damage:
    tensors = {"network.layers.0.weight": torch.ones(2, 3)}
    return lambda path: save_file(tensors, path, metadata=metadata or None)


IDENTITY = {"mechanism": "drm19.yaml", "mechanism_sha256": "", "widths": [3, 2]}
RECORDS = [_text(text) for text in ("[1, 2]", '"x"', "null", "{}", '{"stages": 3}', "{", "\x00")]
FOREIGN: dict[str, list[Damage]] = {
    ".json": RECORDS,
    ".jsonl": [_text(text) for text in ("[1]\n", '{"step": "x"}\n', "{\n{}\n", "\x00\n")],
    ".h5": [_hdf5, _text("x")],
    ".safetensors": [_network(), _network(combred="{}"), _network(combred=json.dumps(IDENTITY))],
    ".checkpoint": [
        lambda path: torch.save([1, 2], path),
        lambda path: torch.save({"x": torch.ones(2)}, path),
        lambda path: torch.save({"signature": "another", "network": 1}, path),
    ],
    ".pt": [lambda path: torch.save([1, 2], path)],
}

"""Writing a state file from blocks of rows.

Takes the blocks of `sampling.sample`; gives a file of the schema `dataset.schema`.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import h5py
import numpy as np

from combred.experiments.labelled import Block
from combred.files.hdf5 import new_file
from combred.surrogates.dataset.schema import CHUNK, UNITS

TYPES = {"source": "i4", "sampler": "u1"}  # of datasets that do not hold float64


def write_states(
    path: Path,
    attributes: dict,
    blocks: Iterable[Block],
    check: Callable[[h5py.File], dict] = lambda _: {},
) -> None:
    """Write the state file `path`: the labelled rows of all blocks, in order, and apart the states
    whose label is NaN.

    attributes: `state_attributes`; check: gives further ones, from the rows that are written; where
    it raises an error no file is left.
    """
    n_species, rows = len(attributes["species"]), 0
    with new_file(path) as file:
        for name in UNITS:
            width = (n_species,) if name.startswith("Y") else ()
            data = file.create_dataset(
                name, (0, *width), TYPES.get(name, "f8"), maxshape=(None, *width),
                chunks=(CHUNK, *width), compression="gzip", compression_opts=1, shuffle=True,
            )  # fmt: skip
            data.attrs["units"] = UNITS[name]
        failed = [np.empty((0, 2 + n_species))]

        def labelled() -> Iterator[Block]:
            for block in blocks:
                good = np.isfinite(block.T_next)
                failed.append(block.state()[~good])
                yield block.rows(good)

        for block in _in_chunks(labelled()):
            rows += len(block)
            for name, column in block.columns().items():
                file[name].resize(rows, axis=0)
                file[name][rows - len(column) :] = column
        file.create_dataset("failed", data=np.concatenate(failed)).attrs["units"] = "K, Pa, 1"
        file.attrs.update(attributes | check(file))
        file.attrs["rows"] = rows  # last: a file without it is not finished


def _in_chunks(blocks: Iterable[Block]) -> Iterator[Block]:
    """The same rows in blocks of CHUNK, but for the last: each chunk is compressed once."""
    waiting: list[Block] = []
    for block in blocks:
        waiting.append(block)
        while sum(map(len, waiting)) >= CHUNK:
            rows = Block.join(waiting)
            yield rows.rows(slice(CHUNK))
            waiting = [rows.rows(slice(CHUNK, None))]
    if waiting:
        yield Block.join(waiting)


def draw(file: h5py.File, count: int, seed: int) -> Block:
    """`count` rows (or all of them) drawn at random, in order, of a file with the datasets."""
    rows = len(file["T"])
    rng = np.random.default_rng([seed, 8])
    chosen = np.sort(rng.choice(rows, min(count, rows), replace=False))
    return Block(**{name: file[name][chosen] for name in UNITS})

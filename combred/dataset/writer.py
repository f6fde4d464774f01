"""Writing a state file: a working file, block by block, and the finished file made from it.

Takes the blocks of `combred.sampling.sample`; gives a file of the schema `combred.dataset.schema`.
An interrupted run is resumed from its working file.
"""

import json
import os
import zlib
from pathlib import Path

import h5py
import numpy as np

from combred.config.fields import shown
from combred.dataset.schema import CHUNK, UNITS, Block, StateFileError, layout
from combred.files.hdf5 import new_file, require_space


class StateWriter:
    """Writes a state file block by block, so that an interrupted run can be resumed.

    Blocks go to a working file beside `path`, allocated as a whole and uncompressed. A block is
    written in its place, and its checksum after it: a run that is killed loses at most the blocks
    it was computing, and a block that has been damaged since counts as not done. `finish` writes
    the compressed file under a temporary name and renames it.

    rows_per_block: the rows of each block, in order. Raises StateFileError where the working file
    of another run is there, or is damaged, and OSError where the disk is too full.
    """

    def __init__(self, path: Path, attributes: dict, rows_per_block: list[int], n_species: int):
        self.path = Path(path)
        self.partial = self.path.with_suffix(".partial.h5")
        self.attributes = attributes
        self._starts = np.concatenate([[0], np.cumsum(rows_per_block)])
        if self.partial.exists():
            self._check_same_run()
        else:
            self._allocate(n_species)

    def _allocate(self, n_species: int) -> None:
        new = self.partial.with_suffix(".new")
        # Twice the size: the working file and the final one exist together for a while.
        require_space(self.path.parent, 2 * 8 * int(self._starts[-1]) * (6 + 2 * n_species))
        rows = int(self._starts[-1])
        with h5py.File(new, "w", libver="latest") as file:  # which has checksums of its tables
            for name, (shape, dtype) in layout(rows, n_species).items():
                file.create_dataset(name, shape, dtype)[-1:] = 0  # allocates the dataset
            file.create_dataset("checksums", data=np.zeros(len(self._starts) - 1, "u8"))
            file.attrs["attributes"] = json.dumps(self.attributes, default=str)
        os.replace(new, self.partial)

    def _check_same_run(self) -> None:
        try:
            with h5py.File(self.partial, "r") as file:
                stored = str(file.attrs["attributes"])
                blocks = file["checksums"].shape
                theirs = _flat(json.loads(stored))
            if blocks != (len(self._starts) - 1,):
                raise ValueError(f"it has {blocks} blocks and not {len(self._starts) - 1}")
        except (OSError, KeyError, ValueError, RuntimeError, AttributeError) as error:
            raise StateFileError(
                f"{self.partial}, left by an interrupted sampling, cannot be read "
                f"({shown(error, 200)}). Move it away; sampling then starts from the beginning."
            ) from error
        if stored != json.dumps(self.attributes, default=str):
            ours = _flat(json.loads(json.dumps(self.attributes, default=str)))
            differing = [
                f"{name} is {theirs.get(name)} there and {value} here"
                for name, value in ours.items()
                if theirs.get(name) != value
            ]
            raise StateFileError(
                f"{self.partial}, left by an interrupted sampling, has other settings: "
                f"{'; '.join(differing)}. Resume it with its own settings, move it away, or name "
                "another run with run=NAME."
            )

    def done(self) -> np.ndarray:
        """Which blocks are in the working file, undamaged, (n_blocks,) bool."""
        with h5py.File(self.partial, "r") as file:
            stored = file["checksums"][...]
            found = [n and n == _checksum(self._stored(file, i)) for i, n in enumerate(stored)]
        return np.array(found, dtype=bool)

    def _stored(self, file: h5py.File, index: int) -> Block:
        """Block number `index` of the working file."""
        start, stop = self._starts[index : index + 2]
        return Block(**{name: file[name][start:stop] for name in UNITS})

    def write(self, index: int, block: Block) -> None:
        """Write block number `index`, then its checksum."""
        start, stop = self._starts[index : index + 2]
        assert len(block) == stop - start
        with h5py.File(self.partial, "r+") as file:
            for name, column in block.columns().items():
                file[name][start:stop] = column
            file.flush()
            file["checksums"][index] = _checksum(self._stored(file, index))

    def draw(self, count: int, seed: int) -> Block:
        """`count` labelled rows (or all of them) drawn at random, in order."""
        with h5py.File(self.partial, "r") as file:
            labelled = np.flatnonzero(np.isfinite(file["T_next"][...]))
            rng = np.random.default_rng([seed, 8])
            rows = np.sort(rng.choice(labelled, min(count, len(labelled)), replace=False))
            return Block(**{name: file[name][rows] for name in UNITS})

    def finish(self, attributes: dict | None = None) -> None:
        """Write the final file, with the labelled rows and the failed states apart, and further
        attributes, and remove the working file. All blocks must be done."""
        assert self.done().all()
        with h5py.File(self.partial, "r") as source, new_file(self.path) as file:
            good = np.isfinite(source["T_next"][...])
            for name, unit in UNITS.items():
                _copy_rows(source[name], good, file, name).attrs["units"] = unit
            failed = [np.empty((0, 2 + source["Y"].shape[1]))]
            for start in range(0, len(good), CHUNK):
                at = slice(start, start + CHUNK)
                if not good[at].all():
                    state = [source["T"][at], source["p"][at], source["Y"][at]]
                    failed.append(np.column_stack(state)[~good[at]])
            file.create_dataset("failed", data=np.concatenate(failed)).attrs["units"] = "K, Pa, 1"
            file.attrs.update(self.attributes | (attributes or {}))
            file.attrs["rows"] = int(good.sum())  # last: a file without it is not finished
        self.partial.unlink()


def _checksum(block: Block) -> int:
    """The CRC-32 of the numbers of a block, plus 2^32: it is never 0."""
    found = 0
    for column in block.columns().values():
        found = zlib.crc32(column.tobytes(), found)
    return found + (1 << 32)


def _flat(attributes: dict) -> dict:
    """Attributes by name; a dict, stored as JSON text, gives an entry name.key for each key."""
    flat = {}
    for name, value in attributes.items():
        if isinstance(value, str) and value.startswith("{"):
            flat |= {f"{name}.{key}": inner for key, inner in json.loads(value).items()}
        else:
            flat[name] = value
    return flat


def _copy_rows(source: h5py.Dataset, good: np.ndarray, file: h5py.File, name: str) -> h5py.Dataset:
    """Copy the rows of the mask `good` (n,), chunk by chunk, to a new compressed dataset."""
    rows, width = int(good.sum()), source.shape[1:]
    # Without a maximal length, chunks may be longer than the data, and the data may be empty.
    target = file.create_dataset(
        name,
        (rows, *width),
        source.dtype,
        maxshape=(None, *width),
        chunks=(CHUNK, *width),
        compression="gzip",
        compression_opts=1,
        shuffle=True,
    )
    written = 0
    for start in range(0, len(good), CHUNK):
        rows = source[start : start + CHUNK][good[start : start + CHUNK]]
        target[written : written + len(rows)] = rows
        written += len(rows)
    return target

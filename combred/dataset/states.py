"""The state file: states, each with a time step dt, and, as their labels, CVODE's states dt later.
Schema, writer and reader.

Takes the blocks of `combred.dataset.sampling`; gives a `StateTable`, which the transform and
training read in chunks. The datasets of the HDF5 file are

    T, T_next (n,) [K]      p (n,) [Pa]      Y, Y_next (n, n_species) [-]      dt (n,) [s]
    source (n,)             index of the trajectory
    sampler (n,)            kind of state: index into the attribute `samplers`
    failed (m, 2 + n_species)   T, p, Y of the states that CVODE could not integrate
"""

import json
import os
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.config.fields import shown
from combred.hdf5 import new_file, require_intact

FORMAT = 3  # 1 and 2: of combred 0.1 and 0.2, with one dt for all rows
UNITS = {
    "T": "K",
    "p": "Pa",
    "Y": "1",
    "dt": "s",
    "T_next": "K",
    "Y_next": "1",
    "source": "1",
    "sampler": "1",
}
SAMPLERS = (
    "ignition",
    "ignition perturbed",
    "ignition relaxed",
    "flame",
    "flame perturbed",
    "flame relaxed",
    "flow ignition",
    "flow mixture",
    "flow layer",
    "flow flame",
)
FLAME = SAMPLERS.index("flame")  # exact states of flames; those of `FLAMES` are of flames
USUAL = SAMPLERS.index("ignition"), FLAME, SAMPLERS.index("flow ignition")
FLAMES = range(FLAME, FLAME + 3)
FLOW = SAMPLERS.index("flow ignition")  # this sampler and later ones are of `flow_states`
CHUNK = 16_384  # rows


class StateFileError(ValueError):
    """A file of states that cannot be used; the message has the reason and the remedy."""


@dataclass
class Block:
    """Rows of a state file, in memory: T, T_next (n,) [K], p (n,) [Pa], Y, Y_next (n, n_species),
    dt (n,) [s], source and sampler (n,). T_next and Y_next are NaN where CVODE failed."""

    T: np.ndarray
    p: np.ndarray
    Y: np.ndarray
    dt: np.ndarray
    T_next: np.ndarray
    Y_next: np.ndarray
    source: np.ndarray
    sampler: np.ndarray

    @classmethod
    def join(cls, blocks: list["Block"]) -> "Block":
        """The rows of all `blocks` (one at least), in order."""
        columns = [block.columns() for block in blocks]
        return cls(**{name: np.concatenate([c[name] for c in columns]) for name in UNITS})

    def __len__(self) -> int:
        return len(self.T)

    def columns(self) -> dict[str, np.ndarray]:
        """The arrays by the names of the file's datasets."""
        return {name: getattr(self, name) for name in UNITS}

    def rows(self, chosen: np.ndarray) -> "Block":
        """The chosen rows: a mask (n,) or indices."""
        return Block(**{name: column[chosen] for name, column in self.columns().items()})

    def state(self) -> np.ndarray:
        """[T, p, Y] of the states, (n, 2 + n_species)."""
        return np.column_stack([self.T, self.p, self.Y])

    def next_state(self) -> np.ndarray:
        """[T, p, Y] of the labels, (n, 2 + n_species)."""
        return np.column_stack([self.T_next, self.p, self.Y_next])


def state_attributes(mechanism: Mechanism, provenance: dict) -> dict:
    """The attributes of a state file. `provenance` has the settings that the rows were
    made with (`sampling.provenance`); a dict in it is stored as JSON text."""
    import cantera

    return {
        "format": FORMAT,
        "mechanism": mechanism.name,
        "mechanism_sha256": mechanism.sha256,
        "species": list(mechanism.species_names),
        "reactor": "adiabatic, constant pressure",
        "samplers": list(SAMPLERS),
        "versions": json.dumps({"cantera": cantera.__version__, "h5py": h5py.__version__}),
        **{k: json.dumps(v) if isinstance(v, dict) else v for k, v in provenance.items()},
    }


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
            for name, (shape, dtype) in _layout(rows, n_species).items():
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

    def finish(self) -> None:
        """Write the final file, with the labelled rows and the failed states apart, and remove the
        working file. All blocks must be done."""
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
            file.attrs.update(self.attributes)
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


def require_space(folder: Path, size: int) -> None:
    """Raise OSError unless `size` bytes can be written into `folder`, which is made if needed.

    Checked in advance, because HDF5 may crash the process when the disk becomes full.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, size)


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


def _layout(rows: int, n_species: int) -> dict[str, tuple[tuple[int, ...], str]]:
    scalar, species = (rows,), (rows, n_species)
    return {
        "T": (scalar, "f8"),
        "p": (scalar, "f8"),
        "Y": (species, "f8"),
        "dt": (scalar, "f8"),
        "T_next": (scalar, "f8"),
        "Y_next": (species, "f8"),
        "source": (scalar, "i4"),
        "sampler": (scalar, "u1"),
    }


@dataclass(frozen=True)
class StateTable:
    """A finished state file, opened for reading by `open_states`.

    rows: number n of rows; attributes: those of the file; sources (n,): index of each row's
    trajectory; samplers (n,): kind of each row's state, an index into `SAMPLERS`. The states
    themselves stay on disk and are read in chunks.
    """

    path: Path
    rows: int
    attributes: dict
    sources: np.ndarray = field(repr=False)
    samplers: np.ndarray = field(repr=False)

    @property
    def provenance(self) -> dict | None:
        """The settings that the rows were made with (`sampling.provenance`); None for states that
        were not made by `sampling`."""
        if "sampling" not in self.attributes:
            return None
        plain = {name: self.attributes[name].item() for name in ("rtol", "atol", "seed")}
        return {**plain, "sampling": json.loads(self.attributes["sampling"])}

    @property
    def usual(self) -> np.ndarray:
        """(n,) bool: states of ignitions and flames themselves, neither mixed, perturbed nor
        relaxed."""
        return np.isin(self.samplers, USUAL)

    @property
    def of_flames(self) -> np.ndarray:
        """(n,) bool: states of flames."""
        return np.isin(self.samplers, FLAMES)

    def numbers(self) -> dict:
        """Numbers of rows, of failed rows, and of rows of each sampler."""
        with h5py.File(self.path, "r") as file:
            failed = len(file["failed"]) if "failed" in file else 0
        names = [str(name) for name in self.attributes["samplers"]]
        counts = {name: int((self.samplers == i).sum()) for i, name in enumerate(names)}
        return {"rows": self.rows, "failed_rows": failed, "rows_per_sampler": counts}

    def read(self, start: int, stop: int) -> Block:
        """The rows [start, stop). Raises StateFileError where the file is damaged, or where a value
        is not physical: not finite, T, p or dt <= 0, Y < -1e-9."""
        try:
            with h5py.File(self.path, "r") as file:
                block = Block(**{name: file[name][start:stop] for name in UNITS})
        except OSError as error:
            raise StateFileError(
                f"{self.path}, rows {start} to {stop}, cannot be read "
                f"({shown(error, 200)}): the file is truncated or damaged. Move it away, and the "
                "pipeline makes it again."
            ) from error
        for name, column in block.columns().items():
            bad = ~np.isfinite(column)
            if name.startswith("Y"):
                bad |= column < -1e-9
            elif name[0] in "Tpd":
                bad |= column <= 0
            if bad.any():
                row = start + int(np.argwhere(bad)[0, 0])
                raise StateFileError(
                    f"{self.path}: {name} of row {row} is not physical (not finite, or below "
                    f"zero), one of {int(bad.sum())} such values in rows {start} to {stop}. Remove "
                    "these rows, or move the file away, and the pipeline makes it again."
                )
        return block

    def chunks(self, rows: int = CHUNK, keep: np.ndarray | None = None) -> Iterator[Block]:
        """All rows, or those of the mask `keep` (n,), in order, in blocks of at most `rows`."""
        for start in range(0, self.rows, rows):
            stop = min(start + rows, self.rows)
            if keep is None:
                yield self.read(start, stop)
            elif keep[start:stop].any():
                yield self.read(start, stop).rows(keep[start:stop])

    def draw(self, keep: np.ndarray, count: int, seed: int) -> Block:
        """`count` rows (or all of them) drawn at random from the mask `keep` (n,), in order."""
        rows = np.flatnonzero(keep)
        rng = np.random.default_rng([seed, 5])
        drawn = np.zeros(self.rows, dtype=bool)
        drawn[rng.choice(rows, min(count, len(rows)), replace=False)] = True
        return Block.join([self.read(0, 0), *self.chunks(keep=drawn)])

    def held_out(self, fraction: float, seed: int) -> np.ndarray:
        """(n,) bool: the rows of the trajectories that are not trained on but used for the
        validation loss, drawn at random: `fraction` of the ignitions and of the flames each, or of
        the blocks of a flow.

        Trajectories are held out as a whole, because neighbouring states of one trajectory are
        nearly the same. At least one trajectory is held out, and at least one is not.
        """
        trajectories, first = np.unique(self.sources, return_index=True)
        of_flame = self.of_flames[first]
        rng = np.random.default_rng([seed, 1])
        chosen: list[int] = []
        for flames in np.unique(of_flame):  # ignitions, then flames
            members = rng.permutation(trajectories[of_flame == flames])
            chosen += members[: round(fraction * len(members))].tolist()
        if len(trajectories) > 1:
            chosen = chosen[: len(trajectories) - 1] or [int(rng.choice(trajectories))]
        return np.isin(self.sources, chosen)


def open_states(path: Path, mechanism: Mechanism) -> StateTable:
    """Open a state file, and check that it is complete and was made for this mechanism.

    Raises FileNotFoundError, or StateFileError (a ValueError), with the remedy.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            f"no states at {path}: run `python -m combred.pipeline only=sample`"
        )
    again = "Move it away and run `python -m combred.pipeline only=sample`."
    try:
        require_intact(path)
        with h5py.File(path, "r") as file:
            attributes = dict(file.attrs)
            missing = [name for name in UNITS if name not in file]
            shapes = {name: file[name].shape for name in UNITS if name in file}
            if not missing:
                sources, samplers = file["source"][...], file["sampler"][...]
    except (OSError, ValueError, KeyError, RuntimeError, AttributeError, TypeError) as error:
        raise StateFileError(f"{path} cannot be read ({shown(error, 200)}). {again}") from error
    if attributes.get("format") != FORMAT or missing:
        raise StateFileError(
            f"{path} is an HDF5 file, but not a combred state file of format {FORMAT} (its "
            f"format: {attributes.get('format')}; datasets missing: {', '.join(missing) or 'none'})"
            ". Formats 1 and 2 are of combred 0.1 and 0.2, with one dt for all rows: give "
            "run=NAME, and the states are made anew. States of your own follow the schema in "
            "combred/dataset/states.py."
        )
    for name in ("mechanism", "mechanism_sha256", "samplers", "rows"):  # the last is written last
        if name not in attributes:
            raise StateFileError(f"{path} is not finished: it has no attribute {name}. {again}")
    rows = int(attributes["rows"])
    if any(shape[0] != rows for shape in shapes.values()):
        raise StateFileError(
            f"{path} should have {rows} rows, but its datasets have the shapes {shapes}. {again}"
        )
    if rows == 0:
        raise StateFileError(
            f"{path} has no labelled rows: CVODE could integrate none of its states. Choose other "
            "ranges of sampling.T0, sampling.p, sampling.phi or sampling.dt, and run=NAME."
        )
    if str(attributes["mechanism_sha256"]) != mechanism.sha256:
        raise StateFileError(
            f"{path} holds states of {attributes['mechanism']} "
            f"(sha256 {str(attributes['mechanism_sha256'])[:12]}), but this run has the mechanism "
            f"{mechanism.name} ({mechanism.sha256[:12]}). "
            + mechanism.mend_mismatch(str(attributes["mechanism"]))
        )
    return StateTable(path, rows, attributes, sources, samplers)

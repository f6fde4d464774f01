"""States and what CVODE makes of them dt later: the one HDF5 schema, its writer and its reader.

Takes the blocks that `sampling` makes; gives a `StateTable` that transform and training stream.
A row is in the file once, labelled; what CVODE could not integrate lies beside, in `failed`.

    T, T_next (n,) [K]   p (n,) [Pa]   Y, Y_next (n, n_species) [-]
    source (n,): trajectory   sampler (n,): index into the attribute `samplers`
    failed (m, 2 + n_species): T, p, Y of the states that have no label
"""

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np

from combred.chemistry.mechanism import Mechanism

FORMAT = 1
UNITS = {"T": "K", "p": "Pa", "Y": "1", "T_next": "K", "Y_next": "1", "source": "1", "sampler": "1"}
SAMPLERS = (
    "ignition",
    "ignition perturbed",
    "ignition relaxed",
    "flame",
    "flame perturbed",
    "flame relaxed",
)
FLAME = SAMPLERS.index("flame")
CHUNK = 16_384


class StateFileError(ValueError):
    """A state file that cannot be used; the message says why and what mends it."""


@dataclass
class Block:
    """Rows of a state file, as arrays; rows whose T_next is NaN have failed."""

    T: np.ndarray
    p: np.ndarray
    Y: np.ndarray
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
        return {name: getattr(self, name) for name in UNITS}

    def rows(self, chosen: np.ndarray) -> "Block":
        """The chosen rows, by mask or index."""
        return Block(**{name: column[chosen] for name, column in self.columns().items()})

    def state(self) -> np.ndarray:
        """[T, p, Y] (n, 2 + n_species)."""
        return np.column_stack([self.T, self.p, self.Y])

    def next_state(self) -> np.ndarray:
        """[T, p, Y] dt later, (n, 2 + n_species)."""
        return np.column_stack([self.T_next, self.p, self.Y_next])


def state_attributes(mechanism: Mechanism, provenance: dict) -> dict:
    """The attributes of a state file; `provenance` holds dt and whatever else the rows were made
    with (`sampling.provenance`); what is no plain value in it is kept as JSON text."""
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
    """Collects blocks in a file of fixed layout that survives a kill, then makes the final one.

    The working file is allocated whole and uncompressed; a block is written in place and its
    `done` flag after it, so a killed run loses at most the blocks in flight. `finish` writes the
    compressed file under a temporary name and renames it.
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
        # Twice: the working file, and the final one beside it.
        require_space(self.path.parent, 2 * 8 * int(self._starts[-1]) * (5 + 2 * n_species))
        rows = int(self._starts[-1])
        with h5py.File(new, "w") as file:
            for name, (shape, dtype) in _layout(rows, n_species).items():
                file.create_dataset(name, shape, dtype)[-1:] = 0  # allocates all of it
            file.create_dataset("done", data=np.zeros(len(self._starts) - 1, "u1"))
            file.attrs["attributes"] = json.dumps(self.attributes, default=str)
        os.replace(new, self.partial)

    def _check_same_run(self) -> None:
        try:
            with h5py.File(self.partial, "r") as file:
                stored = file.attrs["attributes"]
        except (OSError, KeyError) as error:
            raise StateFileError(
                f"{self.partial} is unreadable ({error}). Delete it; sampling then starts anew."
            ) from error
        if stored != json.dumps(self.attributes, default=str):
            theirs, ours = json.loads(stored), json.loads(json.dumps(self.attributes, default=str))
            differing = [k for k in ours if theirs.get(k) != ours[k]]
            raise StateFileError(
                f"{self.partial} was begun with other settings ({', '.join(differing)} differ). "
                "Finish it with those, delete it, or name another run with run=NAME."
            )

    def done(self) -> np.ndarray:
        """Which blocks are already in the file, (n_blocks,) bool."""
        with h5py.File(self.partial, "r") as file:
            return file["done"][...].astype(bool)

    def write(self, index: int, block: Block) -> None:
        """Put block `index` in its place, then mark it done."""
        start, stop = self._starts[index : index + 2]
        assert len(block) == stop - start
        with h5py.File(self.partial, "r+") as file:
            for name, column in block.columns().items():
                file[name][start:stop] = column
            file.flush()
            file["done"][index] = 1

    def finish(self) -> None:
        """Write the final file from the finished rows, then remove the working file."""
        assert self.done().all()
        new = self.path.with_suffix(".new")
        with h5py.File(self.partial, "r") as source, h5py.File(new, "w") as file:
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
        os.replace(new, self.path)
        self.partial.unlink()


def require_space(folder: Path, size: int) -> None:
    """OSError unless `size` bytes can be written into `folder`, asked of the file system itself.

    Asked beforehand because HDF5, where the disk fills up under it, can take the process along.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, size)


def _copy_rows(source: h5py.Dataset, good: np.ndarray, file: h5py.File, name: str) -> h5py.Dataset:
    """The good rows of a dataset, chunk by chunk, into a new compressed one."""
    rows, width = int(good.sum()), source.shape[1:]
    # An open end lets a chunk be longer than the data, and the data be none.
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
        "T_next": (scalar, "f8"),
        "Y_next": (species, "f8"),
        "source": (scalar, "i4"),
        "sampler": (scalar, "u1"),
    }


@dataclass(frozen=True)
class StateTable:
    """A finished state file, opened for streaming. Made by `open_states`.

    `sources` (n,) and `samplers` (n,) are in memory; the states themselves are read in chunks.
    """

    path: Path
    rows: int
    dt: float
    attributes: dict
    sources: np.ndarray = field(repr=False)
    samplers: np.ndarray = field(repr=False)

    @property
    def provenance(self) -> dict | None:
        """What the rows were made with; None for states that did not come from `sampling`."""
        if "sampling" not in self.attributes:
            return None
        plain = {name: self.attributes[name].item() for name in ("dt", "rtol", "atol", "seed")}
        return {**plain, "sampling": json.loads(self.attributes["sampling"])}

    def numbers(self) -> dict:
        """Rows, rows that failed, and rows of each sampler."""
        with h5py.File(self.path, "r") as file:
            failed = len(file["failed"]) if "failed" in file else 0
        names = [str(name) for name in self.attributes["samplers"]]
        counts = {name: int((self.samplers == i).sum()) for i, name in enumerate(names)}
        return {"rows": self.rows, "failed_rows": failed, "rows_per_sampler": counts}

    def read(self, start: int, stop: int) -> Block:
        """Rows start to stop, checked for what no CVODE run writes."""
        try:
            with h5py.File(self.path, "r") as file:
                block = Block(**{name: file[name][start:stop] for name in UNITS})
        except OSError as error:
            raise StateFileError(
                f"{self.path}, rows {start} to {stop}, cannot be read ({error}): the file is "
                "truncated or damaged. Delete it; the pipeline makes it again."
            ) from error
        for name, column in block.columns().items():
            bad = ~np.isfinite(column)
            if name.startswith("Y"):
                bad |= column < -1e-9
            elif name[0] in "Tp":
                bad |= column <= 0
            if bad.any():
                row = start + int(np.argwhere(bad)[0, 0])
                raise StateFileError(
                    f"{self.path}: {name} of row {row} is not physical (NaN, or below zero): "
                    f"{int(bad.sum())} such values in rows {start} to {stop}. Remove these rows, "
                    "or delete the file and let the pipeline make it again."
                )
        return block

    def chunks(self, rows: int = CHUNK, keep: np.ndarray | None = None) -> Iterator[Block]:
        """All rows, or those of the mask `keep` (n,), in order, at most `rows` at a time."""
        for start in range(0, self.rows, rows):
            stop = min(start + rows, self.rows)
            if keep is None:
                yield self.read(start, stop)
            elif keep[start:stop].any():
                yield self.read(start, stop).rows(keep[start:stop])

    def drawn(self, keep: np.ndarray, count: int, seed: int) -> np.ndarray:
        """(n,) bool: `count` rows (or all there are) drawn from the rows `keep`."""
        rows = np.flatnonzero(keep)
        rng = np.random.default_rng([seed, 5])
        drawn = np.zeros(self.rows, dtype=bool)
        drawn[rng.choice(rows, min(count, len(rows)), replace=False)] = True
        return drawn

    def draw(self, keep: np.ndarray, count: int, seed: int) -> np.ndarray:
        """The states [T, p, Y] of rows that are `drawn`, in row order."""
        blocks = [self.read(0, 0), *self.chunks(keep=self.drawn(keep, count, seed))]
        return np.concatenate([block.state() for block in blocks])

    def held_out(self, fraction: float, seed: int) -> np.ndarray:
        """(n,) bool: rows of the trajectories kept for validation, `fraction` of the ignitions and
        of the flames each.

        Whole trajectories are drawn, so that no neighbour in time of a validation row is trained.
        At least one trajectory is held out, and at least one is not.
        """
        trajectories, first = np.unique(self.sources, return_index=True)
        kinds = self.samplers[first] // 3  # exact, perturbed and relaxed rows of one trajectory
        rng = np.random.default_rng([seed, 1])
        chosen: list[int] = []
        for kind in np.unique(kinds):
            members = rng.permutation(trajectories[kinds == kind])
            chosen += members[: round(fraction * len(members))].tolist()
        if len(trajectories) > 1:
            chosen = chosen[: len(trajectories) - 1] or [int(rng.choice(trajectories))]
        return np.isin(self.sources, chosen)


def open_states(path: Path, mechanism: Mechanism, dt: float) -> StateTable:
    """Open a state file and check that it is whole and made for this mechanism and step.

    Raises FileNotFoundError or StateFileError (a ValueError) with the mend.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"no states at {path}: run `python -m combred.pipeline only=sample`"
        )
    again = "Delete it and run `python -m combred.pipeline only=sample`."
    try:
        with h5py.File(path, "r") as file:
            attributes = dict(file.attrs)
            missing = [name for name in UNITS if name not in file]
            shapes = {name: file[name].shape for name in UNITS if name in file}
            if not missing:
                sources, samplers = file["source"][...], file["sampler"][...]
    except OSError as error:
        raise StateFileError(
            f"{path} is not a readable HDF5 file ({error}): truncated, or not one. {again}"
        ) from error
    if attributes.get("format") != FORMAT or missing:
        raise StateFileError(
            f"{path} is HDF5 but not a combred state file of format {FORMAT} (format attribute: "
            f"{attributes.get('format')}; datasets missing: {', '.join(missing) or 'none'}). "
            "Its schema stands in combred/states.py."
        )
    rows = int(attributes.get("rows", -1))
    if any(shape[0] != rows for shape in shapes.values()):
        raise StateFileError(f"{path} promises {rows} rows but its datasets have {shapes}. {again}")
    if rows == 0:
        raise StateFileError(f"{path} has no rows. {again}")
    if str(attributes["mechanism_sha256"]) != mechanism.sha256:
        raise StateFileError(
            f"{path} holds states of {attributes['mechanism']} "
            f"(sha256 {str(attributes['mechanism_sha256'])[:12]}), but the mechanism asked for is "
            f"{mechanism.name} ({mechanism.sha256[:12]}). "
            + mechanism.mend_mismatch(str(attributes["mechanism"]))
        )
    if float(attributes["dt"]) != dt:
        raise StateFileError(
            f"{path} was labelled with dt = {float(attributes['dt'])} s, but dt = {dt} s is asked "
            f"for. Give dt={float(attributes['dt'])}, or another run=NAME."
        )
    return StateTable(path, rows, float(attributes["dt"]), attributes, sources, samplers)

"""Reading a state file: its checks, its rows in chunks, and the trajectories that are held out.

Takes a file of the schema `dataset.schema`; gives a `StateTable`, which the transform and
training read in chunks.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import h5py
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.states import OFF_SUM
from combred.config.fields import shown
from combred.experiments.labelled import Block
from combred.files.hdf5 import UNREADABLE, opened, remedy_for
from combred.files.records import digest
from combred.surrogates.dataset.contents import (
    AGAIN,
    require_format,
    require_meaning,
    require_precision,
    require_whole,
)
from combred.surrogates.dataset.schema import (
    CHUNK,
    FLAMES,
    STATE_UNITS,
    UNITS,
    USUAL,
    StateFileError,
)


@dataclass(frozen=True)
class StateTable:
    """A finished state file, opened for reading by `open_states`.

    rows: number n of rows; attributes: those of the file; sources (n,): index of each row's
    trajectory; samplers (n,): kind of each row's state, an index into `SAMPLERS`; order
    (n_species,): the column of the file of each species of the mechanism, None for the same order.
    The states themselves stay on disk and are read in chunks.
    """

    path: Path
    rows: int
    attributes: dict
    sources: np.ndarray = field(repr=False)
    samplers: np.ndarray = field(repr=False)
    order: np.ndarray | None = field(default=None, repr=False)

    @property
    def provenance(self) -> dict | None:
        """The settings that the rows were made with (`sampling.provenance`); None for states that
        were not made by `sampling`."""
        if "sampling" not in self.attributes:
            return None
        names = [name for name in ("rtol", "atol", "tolerance", "seed") if name in self.attributes]
        plain = {name: self.attributes[name].item() for name in names}
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
        """Numbers of rows, of failed rows, of rows of each sampler, and, of files of `sampling`, of
        rows that were compared with CVODE, with their largest difference."""
        with opened(self.path) as file:
            failed = len(file["failed"]) if "failed" in file else 0
        samplers = [str(name) for name in self.attributes["samplers"]]
        counts = {name: int((self.samplers == i).sum()) for i, name in enumerate(samplers)}
        names = ("checked_rows", "largest_difference")
        checked = {name: self.attributes[name].item() for name in names if name in self.attributes}
        return {"rows": self.rows, "failed_rows": failed, "rows_per_sampler": counts, **checked}

    def read(self, start: int, stop: int) -> Block:
        """The rows [start, stop). Raises StateFileError where the file is damaged, or where a value
        is not physical: not finite, T, p or dt <= 0, Y < -1e-9, or the sum of Y off 1 by 1e-3."""
        try:
            with opened(self.path) as file:
                block = Block(**{
                    name: np.asarray(file[name][start:stop], float if name in STATE_UNITS else None)
                    for name in UNITS
                })  # fmt: skip
                if self.order is not None:
                    block.Y, block.Y_next = block.Y[:, self.order], block.Y_next[:, self.order]
        except UNREADABLE as error:
            raise StateFileError(
                f"{self.path}, rows {start} to {stop}, cannot be read ({shown(error, 200)}). "
                + remedy_for(error, f"The file is truncated or damaged. {AGAIN}")
            ) from error
        for name, column in block.columns().items():
            bad = ~np.isfinite(column)
            if name.startswith("Y"):
                bad |= (column < -1e-9) | (np.abs(column.sum(1, keepdims=True) - 1.0) >= OFF_SUM)
            elif name[0] in "Tpd":
                bad |= column <= 0
            if bad.any():
                row = start + int(np.argwhere(bad)[0, 0])
                raise StateFileError(
                    f"{self.path}: {name} of row {row} is not physical (not finite, below zero, or "
                    f"mass fractions whose sum is not 1), one of {int(bad.sum())} such values in "
                    f"rows {start} to {stop}. Remove these rows, or move the file away and sample "
                    "its states again."
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


def digest_of_own(path: Path) -> str:
    """The digest of a state file that was not made by `sampling`; "" of one that was, of a damaged
    one, and where there is none."""
    try:
        now = path.stat()
        return _digest_of_own(path, now.st_mtime_ns, now.st_size)
    except UNREADABLE:
        return ""


@lru_cache(maxsize=4)
def _digest_of_own(path: Path, *_: int) -> str:
    with opened(path) as file:
        if "sampling" in file.attrs:
            return ""
    return digest(path)


def open_states(path: Path, mechanism: Mechanism) -> StateTable:
    """Open a state file, and check that it is complete and was made for this mechanism.

    Raises FileNotFoundError, or StateFileError (a ValueError), with the remedy.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there are no states at {path}: sample them first.")
    try:
        with opened(path) as file:
            attributes = dict(file.attrs)
            missing = [name for name in UNITS if not isinstance(file.get(name), h5py.Dataset)]
            shapes = {name: file[name].shape for name in UNITS if name not in missing}
            types = {name: file[name].dtype for name in shapes}
            units = {name: file[name].attrs.get("units", UNITS[name]) for name in shapes}
            if not missing:
                sources, samplers = file["source"][...], file["sampler"][...]
    except UNREADABLE as error:
        raise StateFileError(
            f"{path} cannot be read ({shown(error, 200)}). {remedy_for(error, AGAIN)}"
        ) from error
    require_format(path, attributes.get("format"), missing)
    require_whole(path, attributes, shapes, mechanism)
    order = require_meaning(path, attributes, units, mechanism)
    require_precision(path, types)
    kinds, whole = attributes["samplers"], samplers.dtype.kind in "biu"
    if np.ndim(kinds) != 1 or not whole or not 0 <= samplers.min() <= samplers.max() < len(kinds):
        raise StateFileError(
            f"{path} has rows of a kind that its attribute `samplers` does not name. {AGAIN}"
        )
    table = StateTable(path, int(attributes["rows"]), attributes, sources, samplers, order)
    try:
        _ = table.numbers(), table.provenance
    except UNREADABLE as error:
        raise StateFileError(f"{path} has attributes that cannot be read. {AGAIN}") from error
    return table

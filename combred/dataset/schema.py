"""The schema of the state file: states, each with a time step dt, and, as their labels, the states
dt later.

`combred.dataset.writer` writes a file of this schema, `combred.dataset.table` opens and
reads it; both pass its rows on as a `Block`. The datasets of the HDF5 file are

    T, T_next (n,) [K]      p (n,) [Pa]      Y, Y_next (n, n_species) [-]      dt (n,) [s]
    source (n,)             index of the trajectory
    sampler (n,)            kind of state: index into the attribute `samplers`
    failed (m, 2 + n_species)   T, p, Y of the states that could not be integrated
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from combred.chemistry.mechanism import Mechanism

FORMAT = 3  # 1 and 2: of combred 0.1 and 0.2, with one dt for all rows
STATE_UNITS = {"T": "K", "p": "Pa", "Y": "1", "dt": "s", "T_next": "K", "Y_next": "1"}
UNITS = STATE_UNITS | {"source": "1", "sampler": "1"}
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
FLOW = SAMPLERS.index("flow ignition")  # this sampler and later ones are of `combred.sampling.flow`
CHUNK = 16_384  # rows

States = tuple[np.ndarray, np.ndarray, np.ndarray]  # T (n,) [K], p (n,) [Pa], Y (n, n_species)


class StateFileError(ValueError):
    """A file of states that cannot be used; the message has the reason and the remedy."""


@dataclass
class LabelledStates:
    """States with a time step each and the states dt later: T, T_next (n,) [K], p (n,) [Pa], Y,
    Y_next (n, n_species), dt (n,) [s]. T_next and Y_next are NaN where it failed."""

    T: np.ndarray
    p: np.ndarray
    Y: np.ndarray
    dt: np.ndarray
    T_next: np.ndarray
    Y_next: np.ndarray

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """The rows of all parts (one at least), in order."""
        columns = zip(*(part.columns().values() for part in parts), strict=True)
        return cls(*map(np.concatenate, columns))

    def __len__(self) -> int:
        return len(self.T)

    def columns(self) -> dict[str, np.ndarray]:
        """The arrays by the names of the file's datasets."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def rows(self, chosen: np.ndarray | slice) -> Self:
        """The chosen rows: a mask (n,), indices, or a slice."""
        return type(self)(*(column[chosen] for column in self.columns().values()))

    def state(self) -> np.ndarray:
        """[T, p, Y] of the states, (n, 2 + n_species)."""
        return np.column_stack([self.T, self.p, self.Y])

    def next_state(self) -> np.ndarray:
        """[T, p, Y] of the labels, (n, 2 + n_species)."""
        return np.column_stack([self.T_next, self.p, self.Y_next])


@dataclass
class Block(LabelledStates):
    """Rows of a state file, in memory, with their source and sampler (n,)."""

    source: np.ndarray
    sampler: np.ndarray

    @classmethod
    def without_source(cls, T, p, Y, dt, T_next, Y_next) -> "Block":
        """A block whose source and sampler are still zero."""
        return cls(T, p, Y, dt, T_next, Y_next, np.zeros(len(T), "i4"), np.zeros(len(T), "u1"))


def state_attributes(mechanism: Mechanism, provenance: dict) -> dict:
    """The attributes of a state file. `provenance` has the settings that the rows were
    made with (`sampling.provenance`); a dict in it is stored as JSON text."""
    import cantera
    import h5py

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

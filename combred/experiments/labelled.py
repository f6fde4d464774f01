"""Labelled states: each with a time step dt and the state dt later, by the generated solver.

Takes states; gives rows that a check compares with CVODE and that a network is trained on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from combred.native.solver.library import PRECISE, Solver

States = tuple[np.ndarray, np.ndarray, np.ndarray]  # T (n,) [K], p (n,) [Pa], Y (n, n_species)


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
    """Labelled states with the index of their trajectory (source (n,)) and kind (sampler (n,))."""

    source: np.ndarray
    sampler: np.ndarray

    @classmethod
    def without_source(cls, T, p, Y, dt, T_next, Y_next) -> "Block":
        """A block whose source and sampler are still zero."""
        return cls(T, p, Y, dt, T_next, Y_next, np.zeros(len(T), "i4"), np.zeros(len(T), "u1"))


def advance(
    solver: Solver, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """T (n,) [K] and Y (n, n_species) of the states T (n,) [K], p (n,) [Pa], Y (n, n_species),
    dt [s] later, a float or (n,); NaN where the solver fails. Undershoots of Y are zero, and its
    sum is that of the state, which the solver normalizes."""
    T_next, Y_next = solver.attempt(T, p, Y, dt, PRECISE).or_nan()
    return T_next, np.maximum(Y_next, 0.0) * Y.sum(1, keepdims=True)


def label(solver: Solver, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: np.ndarray) -> Block:
    """The states T (n,) [K], p (n,) [Pa], Y (n, n_species) with their labels, dt (n,) [s] later;
    T_next and Y_next are NaN where the solver fails."""
    return Block.without_source(T, p, Y, dt, *advance(solver, T, p, Y, dt))

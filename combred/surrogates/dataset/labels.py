"""Labels of states of one's own, compared with CVODE before a training.

Takes a `StateTable` and a `Mechanism`; a label that is not that of the mechanism raises an error,
with the row and the likely cause. Labels of `sampling` are compared when they are written.
"""

from collections.abc import Iterator

import numpy as np

from combred.chemistry.agreement import (
    ATOL,
    FLOOR_T,
    FLOOR_Y,
    RTOL,
    relative_difference,
    spread,
)
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import CVODE
from combred.experiments.labelled import Block
from combred.files.hdf5 import opened
from combred.surrogates.dataset.schema import StateFileError
from combred.surrogates.dataset.table import StateTable

# Rows that are compared: half of them evenly spaced in the file, half in the order of T.
COMPARED = 64
# Of the change of a state: a network of labels that are as far off cannot be within this share,
# which is the default tolerance of networks. CVODE with rtol 1e-6 is a hundred times closer.
ACCEPTED = 0.01
# Mass fraction of a species, in its own change and its own amount: labels with an absolute
# tolerance of 1e-7 pass.
FLOOR_OF_ONE = 1e-5
# K and mass fraction: states that change by less do not react.
LEAST_T, LEAST_Y = 1e-6, 1e-12
# Pressures that a number may mean [Pa], and factors of another time step.
PRESSURES = {"bar": 1e5, "atm": 101325.0, "kPa": 1e3, "MPa": 1e6, "dyn/cm2": 0.1}
FACTORS = (1e-3, 0.01, 0.1, 0.5, 2.0, 10.0, 100.0, 1e3)


def require_labels(table: StateTable, mechanism: Mechanism) -> None:
    """StateFileError where a label of some rows differs from the state that CVODE gives dt later by
    more than `ACCEPTED`, or where none of these rows reacts."""
    rows = chosen_rows(table)
    keep = np.isin(np.arange(table.rows), rows)
    block = Block.join([table.read(0, 0), *table.chunks(keep=keep)])
    Y_next = block.Y_next / block.Y_next.sum(1, keepdims=True)
    comparison = Comparison(mechanism, block.T, block.p, _mixture(block.Y))
    exact = comparison.states_after(block.dt)
    off = comparison.difference(exact, (block.T_next, Y_next))
    if np.isnan(off).all():
        raise StateFileError(
            f"{table.path}: CVODE could not advance any of {len(rows)} rows: look at their T, p, Y "
            "and dt"
        )
    moved_T, moved_Y = comparison.largest_changes(exact)
    if moved_T < LEAST_T and moved_Y < LEAST_Y and not np.nanmax(off) > ACCEPTED:
        raise StateFileError(
            f"{table.path}: none of {len(rows)} rows reacts within its dt, of {block.dt.min():g} "
            f"to {block.dt.max():g} s, so its labels cannot be compared with {mechanism.name}: "
            "look at T [K], p [Pa] and dt [s], or give other states"
        )
    if np.nanmax(off) > ACCEPTED:
        wrong, i = int((off > ACCEPTED).sum()), int(np.nanargmax(off))
        raise StateFileError(
            f"{table.path}: the labels of {wrong} of {len(rows)} rows are not those of "
            f"{mechanism.name} (CVODE): {_described(mechanism, block, exact, rows, i)}, off by "
            f"{off[i]:.2g} of its change (at most {ACCEPTED:g} is accepted). "
            f"{_cause(comparison, block, i)}"
        )


def chosen_rows(table: StateTable) -> np.ndarray:
    """The rows that are compared, in order: the same in each call, and all where there are few."""
    if table.rows <= COMPARED:
        return np.arange(table.rows)
    with opened(table.path) as file:
        T = np.asarray(file["T"], float)
    by_T = spread(np.argsort(T, kind="stable"), COMPARED // 2)
    return np.unique([*spread(np.arange(table.rows), COMPARED // 2), *by_T])


def _mixture(Y: np.ndarray) -> np.ndarray:
    """Mass fractions as the solver takes them: none below 0, and their sum is 1."""
    positive = np.maximum(Y, 0.0)
    return positive / positive.sum(1, keepdims=True)


class Comparison:
    """States T (n,) [K], p (n,) [Pa], Y (n, n_species) beside CVODE."""

    def __init__(self, mechanism: Mechanism, T: np.ndarray, p: np.ndarray, Y: np.ndarray):
        self.cvode, self.T, self.p, self.Y = CVODE(mechanism, RTOL, ATOL), T, p, Y

    def states_after(
        self, dt: np.ndarray, row: int | None = None, p: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """T and Y of all states, or of a row, dt [s] later, NaN where CVODE fails; p: another
        pressure."""
        chosen = slice(None) if row is None else slice(row, row + 1)
        p = self.p[chosen] if p is None else p
        return self.cvode.attempt(self.T[chosen], p, self.Y[chosen], dt).or_nan()

    def largest_changes(self, exact: tuple[np.ndarray, np.ndarray]) -> tuple[float, float]:
        """The largest change of T [K] and of a mass fraction."""
        of_T, of_Y = np.abs(exact[0] - self.T), np.abs(exact[1] - self.Y)
        return float(np.nanmax(of_T)), float(np.nanmax(of_Y))

    def difference(
        self, exact: tuple[np.ndarray, np.ndarray], label: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        """(n,): the larger of two differences. The first is `relative_difference`, whose floors are
        smaller where all changes are. The second is that of a species, over its own change and
        amount + `FLOOR_OF_ONE`: it tells species apart of which there is little."""
        moved_T, moved_Y = self.largest_changes(exact)
        floors = min(FLOOR_T, max(moved_T, LEAST_T)), min(FLOOR_Y, max(moved_Y, LEAST_Y))
        of_change = relative_difference((self.T, self.Y), exact, label, *floors)
        amount = np.maximum(exact[1], self.Y) + np.abs(exact[1] - self.Y) + FLOOR_OF_ONE
        return np.maximum(of_change, (np.abs(label[1] - exact[1]) / amount).max(1))


def _described(
    mechanism: Mechanism,
    block: Block,
    exact: tuple[np.ndarray, np.ndarray],
    rows: np.ndarray,
    i: int,
) -> str:
    """A row, the state that it should have after dt, and the one that it has: T, and the species
    that is farthest off."""
    (T, Y), label = (exact[0][i], exact[1][i]), block.Y_next[i]
    k = int(np.argmax(np.abs(label - Y) / (np.maximum(Y, block.Y[i]) + FLOOR_OF_ONE)))
    name = mechanism.species_names[k]
    return (
        f"row {rows[i]} (T = {block.T[i]:g} K, p = {block.p[i]:g} Pa, dt = {block.dt[i]:g} s) "
        f"should have T_next = {T:.7g} K and Y_next = {Y[k]:.4g} of {name}, and has "
        f"{block.T_next[i]:.7g} K and {label[k]:.4g}"
    )


def _cause(comparison: Comparison, block: Block, i: int) -> str:
    """The likely cause of a wrong label, and the remedy."""
    label = block.T_next[i : i + 1], block.Y_next[i : i + 1]
    if np.allclose(label[0], block.T[i], rtol=1e-9) and np.allclose(label[1], block.Y[i], 1e-9):
        return "The label is the state itself: T_next and Y_next are those dt later"
    for cause, after in _explanations(comparison, block, i):
        off = relative_difference((block.T[i : i + 1], block.Y[i : i + 1]), after, label)
        if off[0] <= ACCEPTED:
            return cause
    return (
        "Look at the units (K, Pa, mass fractions, s), at the names of the columns (attribute "
        "species), at the mechanism and at the reactor (adiabatic, constant pressure)"
    )


def _explanations(
    comparison: Comparison, block: Block, i: int
) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    """Causes of a wrong label, and the states that row i would then become."""
    dt = block.dt[i : i + 1]
    for unit, size in PRESSURES.items():
        cause = f"It is right for p = {block.p[i]:g} {unit}: give p in Pa"
        yield cause, comparison.states_after(dt, i, size * block.p[i : i + 1])
    for factor in FACTORS:
        cause = f"It is right for {factor:g} times this dt: give the dt of the labels"
        yield cause, comparison.states_after(factor * dt, i)

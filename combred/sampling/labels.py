"""Labels of states: the states a time step dt later, by the generated solver, and how far they are
from those of CVODE.

Takes states; gives labelled rows for `combred.sampling.sample`.
"""

from pathlib import Path

import numpy as np

from combred.chemistry.agreement import largest_difference
from combred.chemistry.mechanism import Mechanism
from combred.dataset.schema import Block, StateFileError
from combred.native.solver.library import PRECISE, Solver


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


def check(mechanism: Mechanism, block: Block, path: Path) -> dict:
    """The attributes `checked_rows` and `largest_difference` of a state file, of some of its rows.
    Raises StateFileError where a label differs too much from that of CVODE."""
    before, after = (block.T, block.p, block.Y), (block.T_next, block.Y_next)
    try:
        largest, rows = largest_difference(mechanism, before, block.dt, after)
    except ValueError as error:
        parts = f"{path.stem}.*.partial"
        raise StateFileError(f"{path}: {error}; then remove {parts} and sample again") from error
    return {"checked_rows": rows, "largest_difference": largest}

"""Labels of states: the states a time step dt later, by the generated solver, and how far they are
from those of CVODE.

Takes states; gives labelled rows for `combred.dataset.sampling`.
"""

from pathlib import Path

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import CVODE
from combred.dataset.states import Block, StateFileError
from combred.native.solver.library import Solver

TOLERANCE = 1e-6  # of the solver, in double precision
CHECKED = 256  # rows of a file that are compared with CVODE
REFERENCE = 1e-10, 1e-20  # rtol and atol of CVODE for it
FLOOR_T, FLOOR_Y = 1.0, 1e-5  # K and mass fraction: below these a change counts as so large
MOST = 1e-3  # largest difference that is accepted


def advance(
    solver: Solver, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """T (n,) [K] and Y (n, n_species) of the states T (n,) [K], p (n,) [Pa], Y (n, n_species),
    dt [s] later, a float or (n,); NaN where the solver fails. Undershoots of Y are zero, and its
    sum is that of the state, which the solver normalizes."""
    found = solver.integrate(T, p, Y, dt, TOLERANCE)
    good = np.isfinite(found.error)
    Y_next = np.maximum(found.Y, 0.0) * Y.sum(1, keepdims=True)
    return np.where(good, found.T, np.nan), np.where(good[:, None], Y_next, np.nan)


def label(solver: Solver, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: np.ndarray) -> Block:
    """The states T (n,) [K], p (n,) [Pa], Y (n, n_species) with their labels, dt (n,) [s] later;
    T_next and Y_next are NaN where the solver fails."""
    return Block.without_source(T, p, Y, dt, *advance(solver, T, p, Y, dt))


def check(mechanism: Mechanism, block: Block, path: Path) -> dict:
    """The attributes `checked_rows` and `largest_difference` of a state file, of some of its rows.
    Raises StateFileError where a label differs from that of CVODE by more than `MOST`."""
    found = differences(mechanism, block)
    found = found[np.isfinite(found)]
    largest = float(found.max(initial=0.0))
    if largest > MOST:
        raise StateFileError(
            f"{path}: labels of the solver of {mechanism.name} differ from CVODE's by up to "
            f"{largest:.2g} of the change of a state, and {MOST:g} is accepted. The solver is at "
            "fault: please report it with the mechanism file, or set CXX to another compiler; then "
            f"move {path.with_suffix('.partial.h5').name} away and sample again"
        )
    return {"checked_rows": len(found), "largest_difference": largest}


def differences(mechanism: Mechanism, block: Block) -> np.ndarray:
    """(n,): the difference of each label from that of CVODE with the tolerances `REFERENCE`: of T,
    relative to its change + 1 K, or of a Y, relative to the largest change of all + 1e-5, whichever
    is larger; NaN where CVODE fails."""
    T, Y = CVODE(mechanism, *REFERENCE).advance(block.T, block.p, block.Y, block.dt)
    of_T = np.abs(block.T_next - T) / (np.abs(T - block.T) + FLOOR_T)
    of_Y = np.abs(block.Y_next - Y).max(1) / (np.abs(Y - block.Y).max(1) + FLOOR_Y)
    return np.maximum(of_T, of_Y)

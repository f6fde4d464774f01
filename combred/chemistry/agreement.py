"""How far states that a solver has advanced are from those of CVODE.

Takes states and their results a time step later; gives a number for each. Labels of state files,
references of flames and `combred check` are judged by it.
"""

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import CVODE

RTOL, ATOL = 1e-10, 1e-20  # of CVODE
FLOOR_T, FLOOR_Y = 1.0, 1e-5  # K and mass fraction: below these a change counts as so large
CHECKED = 256  # states that are enough for a check
MOST = 1e-3  # largest difference that is accepted of a label or a reference


def spread(rows: np.ndarray, count: int = CHECKED) -> np.ndarray:
    """`count` evenly spaced rows of an array, or all if there are fewer."""
    return rows[np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int)]


def difference_from_cvode(
    mechanism: Mechanism,
    before: tuple[np.ndarray, np.ndarray, np.ndarray],
    dt: float | np.ndarray,
    after: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """(n,): the `relative_difference` of each result from that of CVODE with the tolerances `RTOL`
    and `ATOL`; NaN where CVODE fails. As in the solver, negative Y are 0 first, and the sum is 1.

    before: T (n,) [K], p (n,) [Pa], Y (n, n_species); after: T (n,) [K], Y (n, n_species), dt [s]
    later, a float or (n,).
    """
    T0, p, Y0 = before
    Y0 = np.maximum(Y0, 0.0) / np.maximum(Y0, 0.0).sum(1, keepdims=True)
    exact = CVODE(mechanism, RTOL, ATOL).attempt(T0, p, Y0, dt).or_nan()
    return relative_difference((T0, Y0), exact, after)


def relative_difference(
    before: tuple[np.ndarray, np.ndarray],
    exact: tuple[np.ndarray, np.ndarray],
    found: tuple[np.ndarray, np.ndarray],
    floor_T: float = FLOOR_T,
    floor_Y: float = FLOOR_Y,
) -> np.ndarray:
    """(n,): the difference of T (n,) [K] and Y (n, n_species) from the exact ones: of T, relative
    to its change + floor_T [K], or of a Y, relative to the largest change of all + floor_Y,
    whichever is larger."""
    (T0, Y0), (T, Y) = before, exact
    of_T = np.abs(found[0] - T) / (np.abs(T - T0) + floor_T)
    of_Y = np.abs(found[1] - Y).max(1) / (np.abs(Y - Y0).max(1) + floor_Y)
    return np.maximum(of_T, of_Y)


def largest(differences: np.ndarray) -> float:
    """The largest of the differences (n,) of the states that CVODE could advance; NaN without."""
    return float(np.fmax.reduce(differences, initial=np.nan))


def require_small(mechanism: Mechanism, every: np.ndarray) -> tuple[float, int]:
    """The largest of the differences (n,) from CVODE, 0 without states, and the number of states
    that CVODE could advance. Raises ValueError where it exceeds `MOST`, or CVODE could advance
    none."""
    found = every[~np.isnan(every)]
    if len(every) and not len(found):
        raise ValueError(f"CVODE could not advance any of {len(every)} states of {mechanism.name}")
    largest = float(found.max(initial=0.0))
    if largest > MOST:
        raise ValueError(
            f"results of the solver of {mechanism.name} differ from CVODE's by up to {largest:.2g} "
            f"of the change of a state, and {MOST:g} is accepted. The solver is at fault: please "
            "report it with the mechanism file, or set CXX to another compiler"
        )
    return largest, len(found)

"""One step of chemistry in many cells or particles, with any `Advance`."""

import numpy as np

from combred.chemistry.reactor import Advance


def react(
    solver: Advance, T: np.ndarray, p: float, Y: np.ndarray, dt: float
) -> tuple[np.ndarray, np.ndarray]:
    """T (n,) [K] and Y (n, n_species), dt [s] after T (n,) [K], Y (n, n_species) at p [Pa]; new
    arrays. Raises FloatingPointError where the solver cannot advance a state, or returns values
    that are not finite."""
    try:
        T_next, Y_next = solver.advance(T.copy(), np.full(len(T), p), Y.copy(), dt)
    except ValueError as error:  # of states: the shapes are right
        raise FloatingPointError(str(error)) from error
    if not (np.isfinite(T_next).all() and np.isfinite(Y_next).all()):
        raise FloatingPointError("the solver returned a state that is not finite")
    return np.array(T_next), np.array(Y_next)

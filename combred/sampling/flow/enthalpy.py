"""Enthalpy of gas mixtures, and temperature from enthalpy, of many states at once.

Takes a `Mechanism` and arrays of states; used where streams are mixed at constant enthalpy.
"""

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.polynomials import GAS_CONSTANT, evaluate

T_BOUNDS = 100.0, 6000.0  # K, of the iteration; the polynomials are meaningless further out
ITERATIONS, ACCURACY = 30, 1e-9  # of Newton's method: at most; relative change of T at its end


def enthalpy(mechanism: Mechanism, T: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """h (n,) [J/kg] of T (n,) [K], Y (n, n_species)."""
    h = evaluate(mechanism.thermo, mechanism.T_breaks, T)[1]
    return GAS_CONSTANT * T * (Y / mechanism.molecular_weights * h).sum(1)


def temperature(
    mechanism: Mechanism, h: np.ndarray, Y: np.ndarray, guess: float | np.ndarray = 1200.0
) -> np.ndarray:
    """T (n,) [K] with enthalpy h (n,) [J/kg] at Y (n, n_species), by Newton's method from guess
    [K]; NaN where h or Y is NaN, or where no T within `T_BOUNDS` has this enthalpy."""
    moles = GAS_CONSTANT * Y / mechanism.molecular_weights
    T = np.broadcast_to(guess, h.shape).astype(float)
    for _ in range(ITERATIONS):
        cp, own, _ = evaluate(mechanism.thermo, mechanism.T_breaks, T)
        before, T = T, T - (T * (moles * own).sum(1) - h) / (moles * cp).sum(1)
        T = T.clip(*T_BOUNDS)
        if not np.any(np.abs(T - before) > ACCURACY * T):  # NaN counts as converged
            break
    inside = (T > T_BOUNDS[0]) & (T < T_BOUNDS[1])
    return np.where(inside, T, np.nan)

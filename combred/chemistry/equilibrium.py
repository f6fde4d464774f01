"""Chemical equilibrium of many states at constant enthalpy, by Cantera."""

import warnings
from typing import Literal

import cantera as ct
import numpy as np

RTOL = 1e-7


def equilibrium(
    gas: ct.Solution, T: np.ndarray, p: np.ndarray, Y: np.ndarray, kept: Literal["HP", "UV"] = "HP"
) -> tuple[np.ndarray, np.ndarray]:
    """T (n,) [K] and Y (n, n_species) at equilibrium, with the enthalpy and the pressure of the
    states T (n,) [K], p (n,) [Pa], Y (n, n_species), or with what Cantera calls `kept`; NaN where
    Cantera fails.

    Its warnings of temperatures outside the range of the polynomials are of no concern: they are
    extrapolated.
    """
    burnt_T, burnt_Y = np.full(len(T), np.nan), np.full(Y.shape, np.nan)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="ChemEquil")
        for i in range(len(T)):
            try:
                gas.TPY = T[i], p[i], Y[i]
                gas.equilibrate(kept, rtol=RTOL)
                burnt_T[i], burnt_Y[i] = gas.T, gas.Y
            except ct.CanteraError:
                continue
    return burnt_T, burnt_Y

"""Ideal-gas thermodynamics of mixtures in numpy: enthalpy, cp, and T from enthalpy.

Takes a `Mechanism`; used by the diffusion of flames and by stirred particles.
`combred.chemistry.thermo` has the same equations in torch, for networks.
"""

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.polynomials import GAS_CONSTANT


class MixtureThermo:
    """NASA-7 polynomials of a mechanism, as in `combred.chemistry.thermo.Thermo`, which has the
    equations. Raises ValueError, with the names of the species, where there are others."""

    def __init__(self, mechanism: Mechanism):
        specific = GAS_CONSTANT / mechanism.molecular_weights[:, None]
        low, high, self._T_mid = mechanism.nasa7()
        self._low, self._high = low[:, :6] * specific, high[:, :6] * specific
        self._bounds = mechanism.T_min / 2, mechanism.T_max + 1000.0  # K, as in Thermo

    def species_enthalpy(self, T: np.ndarray) -> np.ndarray:
        """h_k (n, n_species) [J/kg] at T (n,) [K]."""
        powers = np.stack([T, T**2 / 2, T**3 / 3, T**4 / 4, T**5 / 5, np.ones_like(T)], 1)
        return np.where(T[:, None] > self._T_mid, powers @ self._high.T, powers @ self._low.T)

    def enthalpy(self, T: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """h (n,) [J/kg] of T (n,) [K], Y (n, n_species)."""
        return (Y * self.species_enthalpy(T)).sum(1)

    def heat_capacity(self, T: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """cp (n,) [J/(kg K)] of T (n,) [K], Y (n, n_species)."""
        powers = np.stack([np.ones_like(T), T, T**2, T**3, T**4], 1)
        low, high = (powers @ each[:, :5].T for each in (self._low, self._high))
        return (Y * np.where(T[:, None] > self._T_mid, high, low)).sum(1)

    def temperature(
        self, h: np.ndarray, Y: np.ndarray, guess: np.ndarray, iterations: int = 4
    ) -> np.ndarray:
        """T (n,) [K] of h (n,) [J/kg], Y (n, n_species), by Newton's method from guess (n,) [K].

        The polynomials are summed over the mixture first. The temperature range of each species
        (below or above T_mid) is updated in every second iteration; h and cp are continuous at
        T_mid.
        """
        T = guess.clip(*self._bounds)
        for i in range(iterations):
            if i % 2 == 0:
                high = np.where(T[:, None] > self._T_mid, Y, 0.0)
                a = (high @ self._high + (Y - high) @ self._low).T
            cp = a[0] + T * (a[1] + T * (a[2] + T * (a[3] + T * a[4])))
            own = a[0] + T * (a[1] / 2 + T * (a[2] / 3 + T * (a[3] / 4 + T * a[4] / 5)))
            T = (T - (own * T + a[5] - h) / cp).clip(*self._bounds)
        return T

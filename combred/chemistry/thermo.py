"""Ideal-gas thermodynamics of mixtures in numpy: enthalpy, cp, and T from enthalpy.

Takes a `Mechanism`, whose polynomials may be of any type (`polynomials.read_polynomials`). Networks
have the same in torch, with these coefficients and bounds: `combred.surrogates.model.thermo`.
"""

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.polynomials import GAS_CONSTANT, cp_of, h_of, of_species

MOST_ITERATIONS = 100  # of Newton's method: bisection alone takes 60
FREE = 4  # iterations before the bracket: nearly all states are done after two or three
LAST_STEP = 1e-7  # of T: the error after such a step is of the order of its square


class Thermo:
    """Enthalpy and heat capacity of the gas of a mechanism.

    coefficients (n_species, n_regions, 9) [J/(kg K)]: those of `read_polynomials` times R over the
    molar mass; breaks (n_species, n_regions - 1) [K]: temperatures between the regions; joints
    [K]: all of these; T_bounds [K]: further out the polynomials are meaningless.
    """

    def __init__(self, mechanism: Mechanism):
        specific = GAS_CONSTANT / mechanism.molecular_weights
        self.coefficients = mechanism.thermo * specific[:, None, None]
        self.breaks = mechanism.T_breaks
        self.joints = np.unique(self.breaks[np.isfinite(self.breaks)])
        self.T_bounds = mechanism.T_min / 2, mechanism.T_max + 1000.0

    def species_enthalpy(self, T: np.ndarray) -> np.ndarray:
        """h_k (n, n_species) [J/kg] at T (n,) [K]."""
        return of_species(h_of, self.coefficients, self.breaks, T)

    def enthalpy(self, T: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """h (n,) [J/kg] of T (n,) [K], Y (n, n_species)."""
        return (Y * self.species_enthalpy(T)).sum(1)

    def heat_capacity(self, T: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """cp (n,) [J/(kg K)] of T (n,) [K], Y (n, n_species)."""
        return (Y * of_species(cp_of, self.coefficients, self.breaks, T)).sum(1)

    def temperature(self, h: np.ndarray, Y: np.ndarray, guess: np.ndarray | float) -> np.ndarray:
        """T (n,) [K] of h (n,) [J/kg], Y (n, n_species), to rounding; NaN where h or Y is.

        Newton's method from guess [K], one for all or (n,), in a bracket that it halves where a
        step would leave it. Where no T within `T_bounds` has this enthalpy, T is the nearer bound.
        """
        lowest, highest = self.T_bounds
        T = np.broadcast_to(guess, h.shape).clip(lowest, highest)
        low, high = np.full(h.shape, -np.inf), np.full(h.shape, np.inf)
        region, a = None, np.empty(0)
        for i in range(MOST_ITERATIONS):
            now = np.searchsorted(self.joints, T)
            if region is None or not np.array_equal(now, region):
                region, a = now, self._mixtures(T, Y)
            rest, before = h - h_of(a, T), T
            T = T + rest / cp_of(a, T)
            if i >= FREE:
                low, high = np.where(rest >= 0.0, before, low), np.where(rest <= 0.0, before, high)
                T = np.where((T < low) | (T > high), 0.5 * (low + high), T)
            T = np.minimum(np.maximum(T, lowest), highest)
            if not np.any(np.abs(T - before) > LAST_STEP * T):  # NaN counts as converged
                break
        return T

    def _mixtures(self, T: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Coefficients (9, n) of the mixtures Y (n, n_species), of the regions of T (n,) [K]."""
        found, left = np.zeros((len(Y), self.coefficients.shape[2])), Y
        for region in range(self.breaks.shape[1]):
            above = np.where(T[:, None] > self.breaks[:, region], left, 0.0)
            found += (left - above) @ self.coefficients[:, region]
            left = above
        return (found + left @ self.coefficients[:, -1]).T

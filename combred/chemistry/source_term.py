"""The chemical source term of mass fractions at constant pressure and enthalpy, and its Jacobian.

Takes a `Mechanism` and states; gives dY/dt and its derivatives by Cantera. The sensitivities of
delays and flame speeds (`combred.simulation.delay_sensitivity`, `speed_sensitivity`) need them.
"""

import numpy as np

from combred.chemistry.mechanism import Mechanism

STEP_Y = 1e-5, 1e-9  # of the forward differences in Y: relative and absolute
STEP_T = 0.01  # K, of those in T


class SourceTerm:
    """f(Y, h) = dY/dt (n_species,) [1/s] at the pressure p [Pa], with f_k = W_k w_k / rho and the
    molar production rates w_k of Cantera. The temperature follows from h [J/kg] and Y."""

    def __init__(self, mechanism: Mechanism, p: float):
        self.gas, self.p = mechanism.solution(), p

    def at(self, h: float, Y: np.ndarray) -> np.ndarray:
        """f of h and Y (n_species,), which Cantera normalizes."""
        return self._at_T(self._temperature(h, Y), Y)

    def jacobian(self, h: float, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f (n_species,), df/dY (n_species, n_species) [1/s] at constant h, and df/dh (n_species,)
        [kg/(J s)] at constant Y.

        The differences are at constant T, which Cantera finds from h no better than to 1e-9.
        """
        T = self._temperature(h, Y)
        of_Y = self._gradient_of_T()
        cp = self.gas.cp_mass
        f, J = self._at_T(T, Y), np.empty((len(Y), len(Y)))
        steps = STEP_Y[0] * Y + STEP_Y[1]
        for k, step in enumerate(steps):
            moved = Y.copy()
            moved[k] += step
            J[:, k] = (self._at_T(T, moved) - f) / step
        of_T = (self._at_T(T + STEP_T, Y) - f) / STEP_T
        return f, J + np.outer(of_T, of_Y), of_T / cp

    def gradient_of_T(self, h: float, Y: np.ndarray) -> tuple[np.ndarray, float]:
        """dT/dY (n_species,) [K] at constant h, which is -h_k / cp, and dT/dh [K kg/J] at constant
        Y, 1 / cp."""
        self._temperature(h, Y)
        return self._gradient_of_T(), 1.0 / self.gas.cp_mass

    def _temperature(self, h: float, Y: np.ndarray) -> float:
        self.gas.HPY = h, self.p, Y
        return self.gas.T

    def _at_T(self, T: float, Y: np.ndarray) -> np.ndarray:
        gas = self.gas
        gas.TPY = T, self.p, Y
        return gas.net_production_rates * gas.molecular_weights / gas.density

    def _gradient_of_T(self) -> np.ndarray:
        gas = self.gas
        return -gas.partial_molar_enthalpies / gas.molecular_weights / gas.cp_mass

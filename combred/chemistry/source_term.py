"""The chemical source term of mass fractions at constant pressure and enthalpy, and its Jacobian.

Takes a `Mechanism` and states; gives dY/dt and its derivatives by Cantera. The sensitivities of
delays and flame speeds (`combred.simulation.delay_sensitivity`, `speed_sensitivity`) need them.
"""

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism

STEP_Y = 1e-5, 1e-9  # of the forward differences in Y: relative and absolute
STEP_h = 1e3  # J/kg, a kelvin about


class SourceTerm:
    """f(Y, h) = dY/dt (n_species,) [1/s] at the pressure p [Pa], with f_k = W_k w_k / rho and the
    molar production rates w_k of Cantera. The temperature follows from h [J/kg] and Y."""

    def __init__(self, mechanism: Mechanism, p: float):
        self.gas, self.p = mechanism.solution(), p

    def at(self, h: float, Y: np.ndarray) -> np.ndarray:
        """f of h and Y (n_species,), which Cantera normalizes."""
        gas: ct.Solution = self.gas
        gas.HPY = h, self.p, Y
        return gas.net_production_rates * gas.molecular_weights / gas.density

    def jacobian(self, h: float, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f (n_species,), df/dY (n_species, n_species) [1/s] at constant h, and df/dh (n_species,)
        [kg/(J s)] at constant Y."""
        f, J = self.at(h, Y), np.empty((len(Y), len(Y)))
        steps = STEP_Y[0] * Y + STEP_Y[1]
        for k, step in enumerate(steps):
            moved = Y.copy()
            moved[k] += step
            J[:, k] = (self.at(h, moved) - f) / step
        return f, J, (self.at(h + STEP_h, Y) - f) / STEP_h

    def gradient_of_T(self, h: float, Y: np.ndarray) -> np.ndarray:
        """dT/dY (n_species,) [K] at constant h: -h_k / cp."""
        gas: ct.Solution = self.gas
        gas.HPY = h, self.p, Y
        return -gas.partial_molar_enthalpies / gas.molecular_weights / gas.cp_mass

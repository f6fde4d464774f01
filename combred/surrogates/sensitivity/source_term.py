"""The chemical source term of mass fractions at constant pressure and enthalpy, and its Jacobian.

Takes a `Mechanism` and states; gives dY/dt by Cantera, and its derivatives by the generated solver.
The adjoints of `sensitivity` need them.
"""

import functools

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.native.solver.library import Solver

_solver = functools.lru_cache(maxsize=4)(Solver)  # its code is generated once for a mechanism


class SourceTerm:
    """f(Y, h) = dY/dt (n_species,) [1/s] at the pressure p [Pa], with f_k = W_k w_k / rho and the
    molar production rates w_k of Cantera. The temperature follows from h [J/kg] and Y."""

    def __init__(self, mechanism: Mechanism, p: float):
        self.gas, self.p, self.solver = mechanism.solution(transport=False), p, _solver(mechanism)

    def at(self, h: float, Y: np.ndarray) -> np.ndarray:
        """f of h and Y (n_species,), which Cantera normalizes."""
        self._set(h, Y)
        gas = self.gas
        return gas.net_production_rates * gas.molecular_weights / gas.density

    def jacobian(self, h: float, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f (n_species,), df/dY (n_species, n_species) [1/s] at constant h, and df/dh (n_species,)
        [kg/(J s)] at constant Y."""
        f, gas = self.at(h, Y), self.gas
        of_T_and_Y = self.solver.jacobian(gas.T, self.p, gas.Y)[1:]
        of_T, of_Y = of_T_and_Y[:, 0], of_T_and_Y[:, 1:]
        J = of_Y + np.outer(of_T, self._gradient_of_T())
        return f, J - (J @ gas.Y)[:, None], of_T / gas.cp_mass  # Y is normalized

    def gradient_of_T(self, h: float, Y: np.ndarray) -> tuple[np.ndarray, float]:
        """dT/dY (n_species,) [K] at constant h, which is -h_k / cp, and dT/dh [K kg/J] at constant
        Y, 1 / cp."""
        self._set(h, Y)
        return self._gradient_of_T(), 1.0 / self.gas.cp_mass

    def _set(self, h: float, Y: np.ndarray) -> None:
        self.gas.HPY = h, self.p, Y

    def _gradient_of_T(self) -> np.ndarray:
        gas = self.gas
        return -gas.partial_molar_enthalpies / gas.molecular_weights / gas.cp_mass

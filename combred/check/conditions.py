"""The conditions that a mechanism is checked in: fuel, oxidizer, and the range in which it ignites.

Takes a `Mechanism` and its solver; gives `Conditions`. No species is named here.
"""

from dataclasses import dataclass

import cantera as ct

from combred.chemistry.fuel import Mixture, name_mixture
from combred.chemistry.mechanism import Mechanism
from combred.experiments.ignition.rollout import coldest_ignition, hottest_ignition
from combred.native.solver import Solver

PRESSURES = 0.5 * ct.one_atm, 40.0 * ct.one_atm  # Pa
PHI = 1.0 / 3.0, 3.0


@dataclass(frozen=True)
class Conditions:
    """fuel, oxidizer: compositions in moles; T0 [K], p [Pa], phi: ranges of premixed gas."""

    fuel: str
    oxidizer: str
    T0: tuple[float, float]
    p: tuple[float, float] = PRESSURES
    phi: tuple[float, float] = PHI

    @property
    def mixture(self) -> Mixture:
        """Fuel and oxidizer."""
        return Mixture(self.fuel, self.oxidizer)


def find_conditions(
    mechanism: Mechanism, solver: Solver, fuel: str = "auto", oxidizer: str = "auto"
) -> Conditions:
    """The conditions of a mechanism; fuel, oxidizer as for `combred.chemistry.fuel.name_mixture`.

    The lowest T0 is that of `coldest_ignition`. Raises ValueError where the fuel is not plain, does
    not burn in the oxidizer, or does not ignite.
    """
    gas = name_mixture(mechanism, fuel, oxidizer)
    coldest = coldest_ignition(mechanism, solver, gas.fuel, gas.oxidizer)
    return Conditions(gas.fuel, gas.oxidizer, (coldest, hottest_ignition(coldest)))

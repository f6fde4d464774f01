"""The conditions that a mechanism is checked in: fuel, oxidizer, and the range in which it ignites.

Takes a `Mechanism` and its solver; gives `Conditions`. No species is named here.
"""

from dataclasses import dataclass

import cantera as ct
import numpy as np

from combred.chemistry.fuel import air, spelled
from combred.chemistry.mechanism import Mechanism
from combred.native.solver import Solver
from combred.simulation.ignition import IGNITED

AT, WITHIN = 20.0 * ct.one_atm, 0.05  # Pa, s: an ignition that is fast enough to matter
TRIED = np.arange(500.0, 1800.0, 25.0)  # K
HOTTEST = 2000.0  # K, initial temperature of ignitions
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


def find_conditions(
    mechanism: Mechanism, solver: Solver, fuel: str = "auto", oxidizer: str = "auto"
) -> Conditions:
    """The conditions of a mechanism. "auto": the fuel that it was plainly made for, and air.

    The lowest T0 is the lowest of `TRIED` at which the stoichiometric mixture ignites within
    `WITHIN` at the pressure `AT`. Raises ValueError where the fuel is not plain, does not burn in
    the oxidizer, or does not ignite.
    """
    fuel = mechanism.resolve_fuel(fuel)
    oxidizer = air(mechanism) if oxidizer == "auto" else spelled(mechanism, oxidizer)
    Y = np.tile(mechanism.mixture(fuel, oxidizer, 1.0), (len(TRIED), 1))
    found = solver.integrate(TRIED, np.full(len(TRIED), AT), Y, WITHIN)
    ignited = np.flatnonzero(found.T > TRIED + IGNITED)
    if not len(ignited):
        raise ValueError(
            f"{mechanism.name}: {fuel} in {oxidizer} does not ignite within {WITHIN} s below "
            f"{TRIED[-1]:g} K: name another fuel or oxidizer"
        )
    return Conditions(fuel, oxidizer, (float(TRIED[ignited[0]]), HOTTEST))

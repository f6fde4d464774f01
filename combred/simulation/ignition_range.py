"""The temperatures at which a mixture ignites, from the mechanism.

Takes a `Mechanism` and an `Advance`; gives temperatures. No species is named here.
"""

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import Advance
from combred.simulation.ignition import IGNITED

TRIED = np.arange(500.0, 2200.0, 25.0)  # K
AT, WITHIN = 20.0 * ct.one_atm, 0.05  # Pa, s: an ignition that is fast enough to matter


def coldest_ignition(
    mechanism: Mechanism,
    solver: Advance,
    fuel: str,
    oxidizer: str,
    p: float = AT,
    within: float = WITHIN,
) -> float:
    """The lowest of the temperatures `TRIED` [K] at which the stoichiometric mixture of fuel and
    oxidizer (compositions in moles) ignites within a time [s] at p [Pa]. Raises ValueError where
    it ignites at none."""
    Y = np.tile(mechanism.mixture(fuel, oxidizer, 1.0), (len(TRIED), 1))
    T, _ = solver.advance(TRIED, np.full(len(TRIED), p), Y, within)
    ignited = np.flatnonzero(T > TRIED + IGNITED)
    if not len(ignited):
        raise ValueError(
            f"{mechanism.name}: {fuel} in {oxidizer} does not ignite within {within:g} s below "
            f"{TRIED[-1]:g} K at {p / ct.one_atm:g} atm: name another fuel or oxidizer"
        )
    return float(TRIED[ignited[0]])

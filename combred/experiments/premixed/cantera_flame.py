"""Cantera's freely propagating premixed flame, steady and one-dimensional.

Takes a `Mechanism` and an unburnt state; gives a solved `cantera.FreeFlame`. Sampling takes states
from it, and the flames of `combred.experiments.premixed.flame` start from it.
"""

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError
from combred.chemistry.transport import solution_with_transport

WIDTH, THINNER = 0.03, 0.75  # m, of the domain at first, at 1 atm; power of p with which it falls
# slope, curve: largest change between neighbouring grid points, relative to the whole profile.
COARSE = {"ratio": 3, "slope": 0.07, "curve": 0.14}
FINE = {"ratio": 2, "slope": 0.03, "curve": 0.05}


def solve_free_flame(
    mechanism: Mechanism,
    T: float,
    p: float,
    Y: np.ndarray,
    refinements: tuple[dict, ...] = (COARSE,),
) -> ct.FreeFlame:
    """The flame of the unburnt state T [K], p [Pa], Y (n_species,); transport is mixture-averaged.

    refinements: Cantera's refine criteria, applied one after another. Raises ValueError where the
    mechanism has no transport data, and IntegrationError where Cantera finds no flame.
    """
    gas = solution_with_transport(mechanism)
    gas.TPY = T, p, Y
    flame = ct.FreeFlame(gas, width=WIDTH * (ct.one_atm / p) ** THINNER)
    solve(flame, refinements[:1], auto=True)
    solve(flame, refinements[1:])
    return flame


def solve(
    flame: ct.FreeFlame | ct.CounterflowDiffusionFlame,
    refinements: tuple[dict, ...],
    auto: bool = False,
) -> None:
    """Solve a flame with each of the refine criteria; auto: from a guess, on growing grids. Raises
    IntegrationError where Cantera finds none."""
    try:
        for criteria in refinements:
            flame.set_refine_criteria(**criteria)
            flame.set_max_grid_points(flame.flame, 5000)
            flame.solve(loglevel=0, auto=auto)
    except ct.CanteraError as error:
        raise IntegrationError(str(error).strip().splitlines()[-1]) from error

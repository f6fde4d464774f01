"""Cantera's freely propagating premixed flame: states for sampling, the start and the touchstone of
the flames that `flame` marches.

Takes a `Mechanism` and an unburnt state; gives a solved `cantera.FreeFlame`.
"""

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError

# slope, curve: largest change between neighbouring grid points, relative to the whole profile.
COARSE = {"ratio": 3, "slope": 0.07, "curve": 0.14}
FINE = {"ratio": 2, "slope": 0.03, "curve": 0.05}


def solve_free_flame(
    mechanism: Mechanism,
    T: float,
    p: float,
    Y: np.ndarray,
    width: float = 0.03,
    refinements: tuple[dict, ...] = (COARSE,),
) -> ct.FreeFlame:
    """The mixture-averaged flame from the unburnt state T [K], p [Pa], Y (n_species,), in a domain
    of `width` [m], solved with one refinement after another.

    Raises ValueError where the mechanism has no transport data, IntegrationError where Cantera
    finds no flame.
    """
    gas = mechanism.solution()
    if gas.transport_model in (None, "none"):
        raise ValueError(
            f"{mechanism.name} has no transport data, which a flame needs: give sampling.flames=0 "
            "and validation.flame_phi=[], or a mechanism file with transport"
        )
    gas.transport_model = "mixture-averaged"
    gas.TPY = T, p, Y
    flame = ct.FreeFlame(gas, width=width)
    try:
        for i, criteria in enumerate(refinements):
            flame.set_refine_criteria(**criteria)
            flame.set_max_grid_points(flame.flame, 5000)
            flame.solve(loglevel=0, auto=i == 0)
    except ct.CanteraError as error:
        raise IntegrationError(str(error).strip().splitlines()[-1]) from error
    return flame

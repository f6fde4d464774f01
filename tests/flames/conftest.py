"""Flames of hydrogen: Cantera's on a coarse grid at a tight tolerance, and the library's."""

import functools

import cantera as ct
import numpy as np
import pytest

from combred.flames.speeds import flame
from combred.native import flame_library
from combred.native.builder import build_alone
from combred.native.flame_library import FlameProblem

AIR = "O2:1, N2:3.76"
TIGHT = 1e-9, 1e-14  # relative and absolute tolerance of Cantera's flames
COARSE = {"ratio": 5.0, "slope": 0.2, "curve": 0.4}


@pytest.fixture(scope="session", autouse=True)
def compiled_quickly(made_once, h2o2):
    """Libraries of flames, optimised a little: in a third of the time of -O3. One process compiles
    that of hydrogen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flame_library, "build_alone", functools.partial(build_alone, flags=("-O1",)))
        flame_library.flame_library.cache_clear()
        with made_once("flames"):
            flame_library.flame_library(h2o2)
        yield
    flame_library.flame_library.cache_clear()


@pytest.fixture(scope="session")
def unburnt(h2o2):
    """Hydrogen and air at 300 K and 1 atm: T, p, Y."""
    return 300.0, ct.one_atm, h2o2.mixture("H2:1", AIR, 1.0)


@pytest.fixture(scope="session")
def coarse(h2o2, unburnt):
    """The flame of `unburnt` on a coarse grid."""
    return flame(h2o2, *unburnt, **COARSE)


@pytest.fixture(scope="session")
def tight(coarse):
    """Cantera's flame on the grid of `coarse`, at a tight tolerance."""
    return continued_by_cantera(coarse)


def continued_by_cantera(flame_):
    """Cantera's flame on the grid of a flame, at a tight tolerance."""
    cantera = flame_.to_cantera()
    cantera.flame.set_steady_tolerances(default=TIGHT)
    cantera.solve(0, refine_grid=False)
    return cantera


def problem_of(cantera: ct.FreeFlame, transport: str, Y: np.ndarray):
    """The problem that a flame of Cantera solves, its profiles and its mass flux."""
    fixed = int(np.argmin(np.abs(cantera.T - cantera.fixed_temperature)))
    factors = np.ones(cantera.gas.n_reactions)
    numbers = cantera.inlet.T, cantera.P, Y, cantera.grid, fixed, cantera.T[fixed], factors
    x = np.column_stack([cantera.T, cantera.Y.T])
    return FlameProblem(*numbers, transport), x, cantera.velocity[0] * cantera.density[0]

"""Cantera's free flame: its two ends, and a mechanism without transport data."""

import cantera as ct
import numpy as np
import pytest
from hydrogen import AIR, FUEL

from combred.experiments.premixed.cantera_flame import solve_free_flame


# Off at the end [K]: 32 to 34 at 20 atm on the coarse grid, in a domain of 6 as of 60 mm.
@pytest.mark.parametrize("p, off", [(ct.one_atm, 20.0), (20.0 * ct.one_atm, 40.0)])
def test_a_flame_runs_from_the_mixture_to_equilibrium(h2o2, p, off):
    Y0 = h2o2.mixture(FUEL, AIR, 1.0)
    flame = solve_free_flame(h2o2, 300.0, p, Y0)
    gas = h2o2.solution()
    gas.TPY = 300.0, p, Y0
    gas.equilibrate("HP")
    # Cantera's flux boundary at the inlet; recombination ends beyond 15 mm behind the flame.
    assert flame.T[0] == pytest.approx(300.0, abs=1e-6)
    assert flame.T[-1] == pytest.approx(gas.T, abs=off)
    assert np.abs(flame.Y.sum(axis=0) - 1.0).max() < 1e-6  # tolerance of the flame solver

"""The sensitivity of a flame's speed against Cantera's own, to the rate of each reaction."""

import numpy as np
import pytest
from hydrogen import AIR, FLAME, FUEL

from combred.chemistry.reactor import IntegrationError
from combred.experiments.premixed.cantera_flame import COARSE, FINE, solve_free_flame
from combred.experiments.premixed.grid import MovingGrid, profile_of
from combred.surrogates.sensitivity import flame_speed as module
from combred.surrogates.sensitivity.flame_speed import speed_sensitivity


@pytest.fixture(scope="module")
def cantera_flame(h2o2):
    """Cantera's flame of `FLAME`."""
    fresh = h2o2.mixture(FUEL, AIR, FLAME.phi)
    return solve_free_flame(h2o2, FLAME.T, FLAME.p, fresh, refinements=(COARSE, FINE))


@pytest.fixture(scope="module")
def profile(h2o2, cantera_flame):
    """The same on 120 cells."""
    fresh = h2o2.mixture(FUEL, AIR, FLAME.phi)
    return profile_of(h2o2, cantera_flame, FLAME, fresh, 120)


def test_reactions_have_the_sensitivities_that_cantera_finds(h2o2, cantera_flame, profile):
    s, gas = speed_sensitivity(h2o2, profile), h2o2.solution()
    grid = MovingGrid(h2o2, profile)
    net = gas.product_stoich_coeffs - gas.reactant_stoich_coeffs  # (species, reactions)
    found = np.zeros(gas.n_reactions)
    for T, Y, row in zip(grid.T, grid.Y, s, strict=True):
        gas.TPY = T, FLAME.p, Y
        found += row * gas.molecular_weights / gas.density @ net * gas.net_rates_of_progress
    exact = cantera_flame.get_flame_speed_reaction_sensitivities()
    # The grids differ; Cantera's convection is of first order. Largest sensitivity: about 0.3.
    assert found == pytest.approx(exact, abs=0.02)
    assert np.abs(exact).max() > 0.15


def test_faster_rates_make_a_flame_faster_by_their_square_root(h2o2, profile, monkeypatch):
    monkeypatch.setattr(module, "HALF", 1.0)
    s = speed_sensitivity(h2o2, profile)  # scaled to a sum of one
    grid, gas, f = MovingGrid(h2o2, profile), h2o2.solution(), []
    for T, Y in zip(grid.T, grid.Y, strict=True):
        gas.TPY = T, FLAME.p, Y
        f.append(gas.net_production_rates * gas.molecular_weights / gas.density)
    assert (s * np.array(f)).sum() == pytest.approx(1.0, abs=1e-3)
    # Without the scaling the sum is 1/2 within 5 %: the limits say so.
    monkeypatch.setattr(module, "TRUSTED", (0.475, 0.525))
    speed_sensitivity(h2o2, profile)


def test_a_flame_that_is_not_resolved_is_refused(h2o2, cantera_flame):
    fresh = h2o2.mixture(FUEL, AIR, FLAME.phi)
    coarse = profile_of(h2o2, cantera_flame, FLAME, fresh, 8)
    with pytest.raises(IntegrationError, match="do not resolve it"):
        speed_sensitivity(h2o2, coarse)

"""The sensitivities of a counterflow flame's peaks to reactions, against Cantera's own."""

import numpy as np
import pytest
from hydrogen import AIR, FUEL

from combred.simulation.counterflow_flame import COARSE, FINE, CounterflowCase, solve_counterflow
from combred.simulation.counterflow_grid import CounterflowGrid, profile_of
from combred.simulation.counterflow_sensitivity import peak_sensitivities

CASE, STRAIN = CounterflowCase(fuel=f"{FUEL}, N2:1", oxidizer=AIR), 1000.0  # 1/s


@pytest.fixture(scope="module")
def cantera_flame(h2o2):
    return solve_counterflow(h2o2, CASE, STRAIN, (COARSE, FINE))


def of_reactions(mechanism, profile, s):
    """The sensitivity of a peak to the rate of each reaction, from that to dY/dt,
    s (cells, n_species)."""
    grid, gas = CounterflowGrid(mechanism, profile), mechanism.solution()
    net = gas.product_stoich_coeffs - gas.reactant_stoich_coeffs  # (species, reactions)
    found = np.zeros(gas.n_reactions)
    for T, Y, row in zip(grid.T, grid.Y, s, strict=True):
        gas.TPY = T, CASE.p, Y
        found += row * gas.molecular_weights / gas.density @ net * gas.net_rates_of_progress
    return found


def by_cantera(flame, name):
    """The same by Cantera's adjoint: of the largest T or mass fraction, relative to itself."""
    domain = flame.flame
    values = flame.T if name == "T" else flame.Y[flame.gas.species_index(name)]
    peak = int(values.argmax())
    gradient = np.zeros(sum(d.n_components * d.n_points for d in flame.domains))
    first = flame.fuel_inlet.n_components + peak * domain.n_components
    gradient[first + domain.component_index(name)] = 1.0 / values[peak]

    def perturb(sim, i, dp):
        sim.gas.set_multiplier(1.0 + dp, i)

    return flame.solve_adjoint(perturb, flame.gas.n_reactions, gradient)


def test_reactions_have_the_sensitivities_that_cantera_finds(h2o2, cantera_flame):
    profile = profile_of(h2o2, cantera_flame, CASE, 120)
    names = ["OH", "H", "H2O"]
    found = peak_sensitivities(h2o2, profile, [h2o2.index(name) for name in names])
    T = profile.T.max()
    to_itself = {"T": (T - profile.stream_T.max()) / T}
    for name, s in zip(["T", *names], found, strict=True):
        mine = of_reactions(h2o2, profile, s) * to_itself.get(name, 1.0)
        exact = by_cantera(cantera_flame, name)
        print(name, np.abs(exact).max(), np.abs(mine - exact).max() / np.abs(exact).max())

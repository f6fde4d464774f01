"""Cantera's counterflow diffusion flame: two opposed jets, the steady similarity solution.

Takes a `Mechanism` and the two streams; gives a solved `cantera.CounterflowDiffusionFlame`, at one
strain rate or at rising ones until it is extinct. States are drawn from it, and the flames of
`combred.experiments.counterflow.flame` start from it.
"""

from dataclasses import dataclass

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError
from combred.chemistry.transport import solution_with_transport
from combred.experiments.premixed.cantera_flame import solve

# slope, curve: largest change between neighbouring grid points, relative to the whole profile.
# Cantera's convection is of first order: at COARSE, T is off by up to 34 K somewhere in the profile
# (methane/air, 300 1/s; 2 K at the peak); on 453 points, fewer than FINE gives, by 7 K.
COARSE = {"ratio": 3, "slope": 0.1, "curve": 0.2, "prune": 0.03}
FINE = {"ratio": 2, "slope": 0.02, "curve": 0.04, "prune": 0.0}
# Distance of the inlets [m] at this strain rate [1/s] and temperature [K]. In a shorter one, the
# flame loses heat to the inlets.
WIDTH, WIDTH_STRAIN, WIDTH_T = 0.02, 15.0, 300.0
BURNING = 50.0  # K: a flame is extinct where T exceeds its hotter stream by less
STEP = 1.5  # largest factor from one strain rate to the next, which Newton's method can follow


@dataclass(frozen=True)
class CounterflowCase:
    """The two streams of a counterflow flame at p [Pa]: compositions in moles, temperatures [K]."""

    fuel: str
    oxidizer: str
    p: float = ct.one_atm
    fuel_T: float = 300.0
    oxidizer_T: float = 300.0

    def __str__(self) -> str:
        return (
            f"{self.fuel} at {self.fuel_T:.0f} K, oxidizer at {self.oxidizer_T:.0f} K, "
            f"{self.p / ct.one_atm:g} atm"
        )


def solve_counterflow(
    mechanism: Mechanism,
    case: CounterflowCase,
    strain: float = 20.0,
    refinements: tuple[dict, ...] = (COARSE,),
) -> ct.CounterflowDiffusionFlame:
    """The burning flame of a case at the strain rate `strain` [1/s]; transport is mixture-averaged.

    The strain rate is that of the inlets (Seshadri & Williams, Int. J. Heat Mass Transfer 21 (1978)
    251): a = 2 u_o / L (1 + u_f sqrt(rho_f) / (u_o sqrt(rho_o))), with velocities u and densities
    rho of fuel and oxidizer, and the distance L of the inlets. The two streams have the same
    momentum, so that a = 4 u_o / L. L follows the thickness of the flame, the square root of
    diffusivity (as T^1.7) over strain rate. refinements: Cantera's refine criteria, the first for
    all strain rates on the way, the others for the last one, one after another. Raises ValueError
    where the mechanism has no transport data, and IntegrationError where Cantera finds no flame.
    """
    gas = solution_with_transport(mechanism)
    gas.TP = case.fuel_T, case.p
    low = min(strain, WIDTH_STRAIN * STEP)
    hotter = max(case.fuel_T, case.oxidizer_T)
    width = WIDTH * (WIDTH_STRAIN / low) ** 0.5 * (hotter / WIDTH_T) ** 0.85
    flame = ct.CounterflowDiffusionFlame(gas, width=width)
    rho = []
    for inlet, T, X in (
        (flame.fuel_inlet, case.fuel_T, case.fuel),
        (flame.oxidizer_inlet, case.oxidizer_T, case.oxidizer),
    ):
        inlet.T, inlet.X = T, X
        gas.TPX = T, case.p, X
        rho.append(gas.density)
    u_oxidizer = low * width / 4
    flame.oxidizer_inlet.mdot = rho[1] * u_oxidizer
    flame.fuel_inlet.mdot = u_oxidizer * (rho[0] * rho[1]) ** 0.5
    solve(flame, refinements[:1], auto=True)
    while strain / low > 1 + 1e-9:
        factor = min(strain / low, STEP)
        low *= factor
        if not strain_further(flame, factor):
            raise IntegrationError(f"the flame of {case} is extinct at {low:.0f} 1/s")
    solve(flame, refinements[1:])
    if not burns(flame):
        raise IntegrationError(f"the flame of {case} is extinct at {strain:.0f} 1/s")
    return flame


def strain_further(flame: ct.CounterflowDiffusionFlame, factor: float) -> bool:
    """Multiply the strain rate of a solved flame by `factor` > 0, in place; whether it still burns.

    The solution is scaled by the similarity of flames (Fiala & Sattelmayer, J. Combust. 2014,
    484372): length a^(-1/2), velocity a^(1/2), pressure curvature a^2; and then solved. A solution
    that Cantera does not find counts as extinct; the flame must then be restored.
    """
    domain = flame.flame
    domain.grid = flame.grid * factor**-0.5
    flame.fuel_inlet.mdot *= factor**0.5
    flame.oxidizer_inlet.mdot *= factor**0.5
    relative = (flame.grid - flame.grid[0]) / (flame.grid[-1] - flame.grid[0])
    domain.set_profile("velocity", relative, list(flame.velocity * factor**0.5))
    domain.set_profile("spreadRate", relative, list(flame.spread_rate * factor))
    curvature = domain.radial_pressure_gradient * factor**2
    domain.set_profile("Lambda", relative, list(curvature))
    try:
        flame.solve(loglevel=0)
    except ct.CanteraError:
        return False
    return burns(flame)


def burns(flame: ct.CounterflowDiffusionFlame) -> bool:
    """Whether T exceeds both streams by more than `BURNING`."""
    return bool(flame.T.max() > max(flame.T[0], flame.T[-1]) + BURNING)


def strain_rate(flame: ct.CounterflowDiffusionFlame) -> float:
    """The strain rate of the inlets [1/s], as in `solve_counterflow`."""
    rho, u = flame.density, flame.velocity
    width = flame.grid[-1] - flame.grid[0]
    return float(2 / width * (abs(u[-1]) + abs(u[0]) * np.sqrt(rho[0] / rho[-1])))

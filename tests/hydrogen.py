"""Hydrogen in air (`h2o2.yaml`): the settings of the ignitions and flames of tests/experiments."""

from dataclasses import replace
from types import SimpleNamespace

import cantera as ct

from combred.chemistry.fuel import Mixture
from combred.chemistry.reactor import Tolerances
from combred.config import SamplingSettings, ValidationSettings
from combred.experiments.premixed.experiment import PremixedFlames
from combred.experiments.premixed.flame import FlameMarch
from combred.experiments.premixed.grid import FlameCase

FUEL, AIR = "H2:1", "O2:1, N2:3.76"
MIXTURE = Mixture(FUEL, AIR)

IGNITION_DT = 4e-6  # s
IGNITIONS = ValidationSettings(
    T0=[1100.0, 1300.0], phi=[0.6, 1.2], p=[101325.0], dt=IGNITION_DT, burnt_time=2e-3
)
SENSITIVE = SamplingSettings(fuel=FUEL, T0=[1100.0, 1500.0], p=[8e4, 1.5e5], phi=[0.6, 1.5])

FLAME_DT = 1e-6  # s
FLAMES = ValidationSettings(flame_phi=[0.9, 1.3], p=[101325.0], dt=FLAME_DT)
FLAME_MARCH = FlameMarch(cells=48, tolerance=0.01)
FLAME_TOLERANCES = Tolerances(rtol=1e-6, atol=1e-10)
FLAME = FlameCase(300.0, ct.one_atm, 1.0)


def premixed_flames(mechanism) -> PremixedFlames:
    """The flames of `FLAMES`, coarse."""
    return replace(PremixedFlames.of(mechanism, MIXTURE, FLAMES), march=FLAME_MARCH)


def solver(advance):
    """An `Advance` of a function of T, p and Y, for any time step."""
    return SimpleNamespace(advance=lambda T, p, Y, dt: advance(T, p, Y))


INERT = solver(lambda T, p, Y: (T, Y))  # no reactions

"""Fixtures for tests of the generated stiff solver: mechanisms, states, and the truth by Cantera in
float64."""

import functools
from collections.abc import Callable

import cantera as ct
import numpy as np
import pytest
from nasa9 import PHASE
from rate_kinds import quietly, scarce_factors

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import FIRST

# No reaction changes the number of moles, and none has a third body.
EQUIMOLAR_REACTIONS = """\
units: {length: cm, quantity: mol, activation-energy: cal/mol}
reactions:
- equation: O + H2 <=> H + OH
  rate-constant: {A: 3.87e+04, b: 2.7, Ea: 6260.0}
- equation: H + O2 <=> O + OH
  rate-constant: {A: 2.65e+16, b: -0.6707, Ea: 17041.0}
- equation: OH + H2 <=> H + H2O
  rate-constant: {A: 2.16e+08, b: 1.51, Ea: 3430.0}
- equation: 2 OH <=> O + H2O
  rate-constant: {A: 3.57e+04, b: 2.4, Ea: -2110.0}
"""

# Polynomials of every type that are read, with three, two and one regions; factors that are zero.
THERMO = (
    PHASE
    + EQUIMOLAR_REACTIONS
    + """- equation: 2 O + M <=> O2 + M
  type: three-body
  rate-constant: {A: 1.2e+17, b: -1.0, Ea: 0.0}
  efficiencies: {H2: 2.4, H2O: 15.4, AR: 0.83}
- equation: H + OH + M <=> H2O + M
  type: three-body
  rate-constant: {A: 2.2e+22, b: -2.0, Ea: 0.0}
  efficiencies: {H2: 0.73, H2O: 3.65, AR: 0.38}
- equation: H + OH (+M) <=> H2O (+M)  # limits that are zero
  type: falloff
  low-P-rate-constant: {A: 0.0, b: -2.0, Ea: 0.0}
  high-P-rate-constant: {A: 2.0e+14, b: 0.1, Ea: 300.0}
- equation: H2 + O2 (+M) <=> 2 OH (+M)
  type: chemically-activated
  low-P-rate-constant: {A: 0.0, b: -2.0, Ea: 0.0}
  high-P-rate-constant: {A: 2.0e+14, b: 0.1, Ea: 300.0}
- equation: 2 H (+M) <=> H2 (+M)
  type: falloff
  low-P-rate-constant: {A: 2.0e+18, b: -2.0, Ea: 0.0}
  high-P-rate-constant: {A: 0.0, b: 0.1, Ea: 300.0}
- equation: 2 O (+M) <=> O2 (+M)
  type: linear-Burke  # an efficiency of zero; beside a rate of its own it crashes Cantera 3.2
  colliders:
  - name: M
    type: pressure-dependent-Arrhenius
    rate-constants:
    - {P: 0.1 atm, A: 1.0e+10, b: 0.3, Ea: 900.0}
    - {P: 10.0 atm, A: 1.0e+12, b: 0.0, Ea: 700.0}
  - name: N2
    efficiency: {A: 0.0, b: 0.0, Ea: 0.0}
"""
)

EQUIMOLAR = (
    """
phases:
- name: gas
  thermo: ideal-gas
  species: [{h2o2.yaml/species: [H2, H, O, O2, OH, H2O, N2]}]
  kinetics: gas
  reactions: all
"""
    + EQUIMOLAR_REACTIONS
)


@pytest.fixture(scope="session")
def every_thermo(mechanism_of) -> Mechanism:
    """A mechanism with NASA-7, NASA-9 and constant-cp species, and with factors that are zero."""
    return mechanism_of(THERMO)


@pytest.fixture(scope="session")
def equimolar(mechanism_of) -> Mechanism:
    """A mechanism whose reactions keep the number of moles."""
    return mechanism_of(EQUIMOLAR)


def random_rows(mechanism: Mechanism, n: int, seed: int, absent: float = 1 / 3):
    """T (n,) of 300 to 3000 K, p (n,) of 1e3 to 1e7 Pa, Y (n, n_species), of which the share
    `absent` is zero."""
    rng = np.random.default_rng(seed)
    T, p = rng.uniform(300.0, 3000.0, n), 10 ** rng.uniform(3.0, 7.0, n)
    Y = rng.dirichlet(np.ones(mechanism.n_species), n) ** 3
    Y[rng.random(Y.shape) < absent] = 0.0
    Y[np.arange(n), rng.integers(mechanism.n_species, size=n)] += 1e-3
    return T, p, Y / Y.sum(axis=1, keepdims=True)


def ignition_rows(mechanism: Mechanism, n: int, fuel: str, T0: float, p: float):
    """T (n,), p (n,) and Y (n, n_species) along a stoichiometric ignition in air, by Cantera."""
    gas = quietly(mechanism.solution)
    gas.set_equivalence_ratio(1.0, fuel, "O2:1, N2:3.76")
    gas.TP = T0, p
    reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-9, 1e-18
    rows = [[gas.T, *gas.Y]]
    while net.time < 0.1 and len(rows) < 5000:
        net.step()
        rows.append([reactor.T, *gas.Y])
    rows = np.array(rows)[np.linspace(0, len(rows) - 1, n).astype(int)]
    Y = rows[:, 1:].clip(0.0)
    return rows[:, 0], np.full(n, p), Y / Y.sum(axis=1, keepdims=True)


@pytest.fixture(scope="session")
def random_states():
    """The function `random_rows`."""
    return random_rows


@pytest.fixture(scope="session")
def ignition():
    """The function `ignition_rows`."""
    return ignition_rows


class Truth:
    """Cantera's rates and energies of a mechanism."""

    def __init__(self, mechanism: Mechanism):
        self.gas = quietly(mechanism.solution)
        self.W = mechanism.molecular_weights
        self.made = np.asarray(self.gas.product_stoich_coeffs)
        self.used = np.asarray(self.gas.reactant_stoich_coeffs)

    def set(self, T: float, p: float, Y: np.ndarray) -> None:
        """Set T [K], p [Pa] and Y as they are."""
        self.gas.set_unnormalized_mass_fractions(Y)
        self.gas.TP = T, p

    def rates(self, T: float, p: float, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        """Net production, destruction, and the sum of the absolute values of both [1/s], each of
        all species; the latter is that of all reactions, none of which cancel."""
        self.set(T, p, Y)
        scale = self.W / self.gas.density
        forward, reverse = self.gas.forward_rates_of_progress, self.gas.reverse_rates_of_progress
        forward = forward * scarce_factors(self.gas)
        size = (self.made + self.used) @ (np.abs(forward) + np.abs(reverse))
        net = (self.made - self.used) @ (forward - reverse)
        destruction = self.used @ forward + self.made @ reverse
        return net * scale, destruction * scale, size * scale

    def source(self, T: float, p: float, Y: np.ndarray, rho=0.0, enthalpy=False) -> np.ndarray:
        """[dT/dt, dY/dt] at the pressure p, or at the density rho [kg/m3] if there is one, of
        constant internal energy or enthalpy; of mass fractions that need not have the sum 1."""
        gas = self.gas
        gas.set_unnormalized_mass_fractions(Y)
        if rho:
            gas.TD = T, rho
        else:
            gas.TP = T, p
        moles, w = Y / self.W, gas.net_production_rates
        energy, capacity = gas.partial_molar_enthalpies, gas.partial_molar_cp
        if rho and not enthalpy:
            energy, capacity = energy - ct.gas_constant * T, capacity - ct.gas_constant
        heat = -(energy @ w) / (gas.density * (capacity @ moles))
        return np.concatenate([[heat], w * self.W / gas.density])

    def size(self, T: float, p: float, Y: np.ndarray) -> np.ndarray:
        """`source` of absolute values, in which nothing cancels."""
        _, _, rates = self.rates(T, p, Y)
        heat = np.abs(self.gas.partial_molar_enthalpies) / self.W @ rates
        return np.concatenate([[heat / self.gas.cv_mass], rates])

    def energy(self, T: float, p: float, Y: np.ndarray, volume: bool) -> tuple[float, float]:
        """Specific enthalpy, or internal energy, and cp T [J/kg]."""
        self.set(T, p, Y)
        moles = Y / self.W
        found = self.gas.partial_molar_int_energies if volume else self.gas.partial_molar_enthalpies
        return float(found @ moles), float(self.gas.partial_molar_cp @ moles * T)


@pytest.fixture(scope="session")
def truth_of() -> Callable[[Mechanism], Truth]:
    """A factory: the `Truth` of a mechanism."""
    return functools.cache(Truth)


def later(mechanism, volume, T, p, Y, dt, rtol=1e-12, atol=1e-22):
    """T, p and Y of each state dt later by CVODE. At these tolerances its own error is below 1e-9
    of T, seen at 1e-8 and 1e-9 by the solver."""
    gas, found = mechanism.solution(), []
    reactor_type = ct.IdealGasReactor if volume else ct.IdealGasConstPressureReactor
    for i in range(len(T)):
        gas.set_unnormalized_mass_fractions(Y[i])
        gas.TP = T[i], p[i]
        reactor = reactor_type(gas, clone=False)
        net = ct.ReactorNet([reactor])
        net.rtol, net.atol, net.max_steps = rtol, atol, 100_000
        net.advance(min(FIRST, dt[i]))
        net.advance(dt[i])
        found.append([gas.T, gas.P, *gas.Y])
    found = np.array(found)
    return found[:, 0], found[:, 1], found[:, 2:]


@pytest.fixture(scope="session")
def cvode_later():
    """The function `later`."""
    return later

"""States of any mechanism, along ignitions and at random, and the truth by Cantera in float64."""

import functools

import cantera as ct
import numpy as np
from rate_kinds import quietly, scarce_factors

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import FIRST


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


truth_of = functools.cache(Truth)  # of a mechanism


def cvode_later(mechanism, volume, T, p, Y, dt, rtol=1e-12, atol=1e-22):
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

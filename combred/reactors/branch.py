"""Steady states of one perfectly stirred reactor (PSR), by Newton's method.

Takes a solver's rates and Jacobian and the state of the inflow; gives `Point`s. With the residence
time tau, and the heat loss q = U (T - T_wall) / rho [W/kg],

    (Y_in - Y) / tau + w(T, p, Y) = 0,    h_in - sum_k Y_k h_k(T) - tau q(T, p, Y) = 0,

where w are the rates of production dY/dt. In an isothermal reactor T is given, in place of the
second equation. T or tau is prescribed, and Y and the other are unknown.
With T, both branches of the S-curve are one curve tau(T), and its minimum is the extinction.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from combred.chemistry.polynomials import GAS_CONSTANT
from combred.chemistry.states import HIGHEST_T, LOWEST_T, Real, Rows
from combred.chemistry.thermo import Thermo

STEP = 20.0  # K, back to the minimum, where the curvature says nothing
NEWTON, CLOSE = 25, 1e-6  # iterations at most; change of ln T and of ln tau in the last of them
# The change of Y from the inflow, of which a share `CLOSE` is the change in the last iteration: at
# least the former, as rounding allows no less.
LEAST_CHANGE = 1e-4
TURNS, FARTHEST, TURNED = 12, 40.0, 1.0  # steps to the minimum; K, a step at most, and the last
COLDEST = 1000.0  # K
LARGEST = {"T": 2.0, "tau": 200.0}  # change of the other unknown in an iteration: ln tau; T [K]


@dataclass(frozen=True, eq=False)
class Inflow:
    """The gas that flows in, T [K], p [Pa], Y (n_species,); heat_transfer [W/(m3 K)] to a wall of
    T_wall [K]."""

    T: float
    p: float
    Y: np.ndarray
    heat_transfer: float = 0.0
    T_wall: float = 300.0


@dataclass(frozen=True, eq=False)
class Point:
    """A steady state of a reactor: T [K], tau [s], Y (n_species,); slope: d ln tau / dT [1/K];
    stable: whether no real eigenvalue says otherwise, of a state at a prescribed tau."""

    T: float
    tau: float
    Y: np.ndarray
    slope: float = 0.0
    stable: bool = False


class Rates(Protocol):
    """What has rates and their derivatives, as `Integrator`."""

    def rates(self, T: Rows, p: Real, Y: Rows) -> tuple[Rows, Rows]:
        """dY/dt (n, n_species) [1/s] of states, and others."""
        ...

    def jacobian(self, T: float, p: float, Y: np.ndarray) -> np.ndarray:
        """d(dT/dt, dY/dt) / d(T, Y) of one state."""
        ...


class Branch:
    """The steady states of one reactor with one solver, as a function of T or tau. weights
    (n_species,) [kg/kmol]: for reactors with heat loss; isothermal: at the T of the inflow."""

    def __init__(
        self,
        solver: Rates,
        thermo: Thermo,
        of: Inflow,
        weights: np.ndarray | None = None,
        isothermal: bool = False,
    ):
        self.solver, self.thermo, self.of, self.isothermal = solver, thermo, of, isothermal
        self.h_in = float(thermo.enthalpy(np.array([of.T]), of.Y[None])[0])
        self.per_weight = np.zeros(len(of.Y)) if weights is None else 1.0 / weights

    def solve(self, guess: Point, given: str = "T") -> Point | None:
        """The steady state at the T or the "tau" of a guess; None where there is none near it."""
        T, Y, log_tau, n = guess.T, guess.Y.copy(), np.log(guess.tau), len(guess.Y)
        held, free = (n, n + 1) if given == "T" else (n + 1, n)
        unknown = [*range(n), free]
        for _ in range(NEWTON):
            matrix, rest = self._equations(T, Y, float(np.exp(log_tau)))
            square = matrix[:, unknown]
            try:
                change, by = np.linalg.solve(square, np.column_stack([rest, -matrix[:, held]])).T
            except np.linalg.LinAlgError:
                return None
            change *= min(1.0, LARGEST[given] / max(abs(change[n]), 1e-300))
            Y = np.maximum(Y + change[:n], 0.0)
            if given == "T":
                log_tau = log_tau + change[n]
            else:
                T, change[n] = T + float(change[n]), change[n] / T
            if not (np.isfinite(log_tau) and np.isfinite(Y).all() and 0.5 < Y.sum() < 1.5):
                return None
            if not LOWEST_T <= T <= HIGHEST_T:
                return None
            least = CLOSE * min(max(np.abs(Y - self.of.Y).max(), LEAST_CHANGE), 1.0)
            if np.abs(change[:n]).max() < least and abs(change[n]) < CLOSE:
                slope = float(by[n] if given == "T" else 1.0 / (by[n] or np.inf))
                stable = given != "T" and float(np.linalg.slogdet(square)[0]) > 0.0
                return Point(T, float(np.exp(log_tau)), Y, slope, stable)
        return None

    def _equations(self, T: float, Y: np.ndarray, tau: float) -> tuple[np.ndarray, np.ndarray]:
        """The residuals (n + 1,) of the equations, and minus their derivatives by Y, T and ln tau,
        (n + 1, n + 2)."""
        of, n, at = self.of, len(Y), np.array([T])
        h = self.thermo.species_enthalpy(at)[0]
        rates = self.solver.rates(at, of.p, Y[None])[0][0]
        jacobian = self.solver.jacobian(T, of.p, Y)[1:]
        scale = 1.0 / max(abs(h).max(), 1.0)
        volumes = GAS_CONSTANT * T / of.p * self.per_weight  # of a unit mass of each species
        lost = tau * of.heat_transfer * (T - of.T_wall) * volumes
        by_T = tau * of.heat_transfer * (2.0 - of.T_wall / T) * (volumes @ Y)
        matrix, rest = np.empty((n + 1, n + 2)), np.empty(n + 1)
        rest[:n] = of.Y - Y + tau * rates
        rest[n] = scale * (self.h_in - Y @ h - Y @ lost)
        matrix[:n, :n] = np.eye(n) - tau * jacobian[:, 1:]
        matrix[:n, n], matrix[:n, n + 1] = -tau * jacobian[:, 0], -tau * rates
        matrix[n, :n] = scale * (h + lost)
        matrix[n, n] = scale * (float(self.thermo.heat_capacity(at, Y[None])[0]) + by_T)
        matrix[n, n + 1] = scale * (Y @ lost)
        if self.isothermal:
            rest[n], matrix[n] = of.T - T, 0.0
            matrix[n, n] = 1.0
        return matrix, rest

    def turn(self, start: Point, curvature: float) -> tuple[Point, float] | None:
        """The extinction, where d ln tau / dT is 0, and the curvature there, by secants from a
        point near it and its curvature; None where there is none."""
        now, step = start, -start.slope / curvature
        for _ in range(TURNS):
            step = float(np.clip(step, -FARTHEST, FARTHEST))
            if abs(step) < TURNED:
                tau = now.tau * float(np.exp(0.5 * step * now.slope))
                return Point(now.T + step, tau, now.Y), curvature
            found = self.solve(replace(now, T=now.T + step))
            if found is None or found.T < COLDEST:
                return None
            curvature = (found.slope - now.slope) / step
            now, step = found, -found.slope / curvature
            if curvature <= 0.0:  # far above the minimum, or beyond it
                step = -np.copysign(STEP, now.slope)
        return None

"""Extinction of a perfectly stirred reactor (PSR) as a judge of skeletons.

Takes a mechanism, its solver with rate multipliers, and cases; gives the relative errors of the
residence time at extinction and of the temperature there. In a steady adiabatic PSR at the
residence time tau,

    (Y_in - Y) / tau + w(T, p, Y) = 0,    sum_k Y_k h_k(T) = h_in,

with w the rates of production dY/dt. T is prescribed, and Y and tau are unknown: tau has its
minimum, the extinction, where the upper branch of the S-curve turns.
"""

from collections.abc import Callable
from dataclasses import dataclass

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.native.solver.library import Integrator
from combred.skeletal.cases import Gas, Ranges, named, states
from combred.skeletal.skeleton import Skeleton

BELOW = 10.0  # K, of the first point of the branch, below equilibrium
STEP = 20.0  # K, between points of the branch
NEWTON, CLOSE = 25, 1e-9  # iterations at most; change of Y and of ln tau at the end
FIRST_TAU, MIXED = 1e-2, 0.01  # s; the first guess: burnt gas with this share of the inflow
ABOVE = 40.0  # K, above the extinction of the detailed mechanism: where a skeleton's branch begins
FARTHEST = 100  # points of a branch
COLDEST = 1000.0  # K


@dataclass(frozen=True, eq=False)
class Inflow:
    """The gas that flows in: T [K], p [Pa], Y (n_species,)."""

    T: float
    p: float
    Y: np.ndarray


@dataclass(frozen=True, eq=False)
class Point:
    """A steady state of a reactor: T [K], tau [s], Y (n_species,)."""

    T: float
    tau: float
    Y: np.ndarray


@dataclass(frozen=True, eq=False)
class Reactor:
    """A reactor of the detailed mechanism: its inflow, a point above its extinction, and this."""

    of: Inflow
    begin: Point
    end: Point


class Branch:
    """The upper branch of one reactor with one solver.

    enthalpies: of the species [J/kg] at T [K], (n_species,).
    """

    def __init__(self, solver: Integrator, enthalpies: Callable[[float], np.ndarray], of: Inflow):
        self.solver, self.enthalpies, self.of = solver, enthalpies, of
        self.h_in = float(of.Y @ enthalpies(of.T))

    def solve(self, T: float, guess: Point) -> Point | None:
        """The steady state at T [K] by Newton's method from a guess; None where there is none."""
        Y, log_tau, h, n = guess.Y.copy(), np.log(guess.tau), self.enthalpies(T), len(guess.Y)
        matrix, right = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
        scale = 1.0 / max(abs(h).max(), 1.0)
        for _ in range(NEWTON):
            tau = np.exp(log_tau)
            rates = self.solver.rates(np.array([T]), self.of.p, Y[None])[0][0]
            right[:n] = self.of.Y - Y + tau * rates
            right[n] = scale * (self.h_in - Y @ h)
            jacobian = self.solver.jacobian(T, self.of.p, Y)[1:, 1:]
            matrix[:n, :n] = np.eye(n) - tau * jacobian
            matrix[:n, n] = -tau * rates
            matrix[n, :n] = scale * h
            try:
                change = np.linalg.solve(matrix, right)
            except np.linalg.LinAlgError:
                return None
            change *= min(1.0, 2.0 / max(abs(change[n]), 1e-300))
            Y, log_tau = np.maximum(Y + change[:n], 0.0), log_tau + change[n]
            if not (np.isfinite(log_tau) and np.isfinite(Y).all() and 0.5 < Y.sum() < 1.5):
                return None
            if np.abs(change).max() < CLOSE:
                return Point(T, float(np.exp(log_tau)), Y)
        return None

    def follow(self, start: Point, step: float) -> Point | None:
        """The extinction: from a point down in steps [K] to the least residence time, by a parabola
        ln tau (T) through the three points about it; None where the branch ends before it."""
        points = [start]
        for _ in range(FARTHEST):
            found = self.solve(points[-1].T - step, points[-1])
            if found is None or found.T < COLDEST:
                return None
            points.append(found)
            if found.tau > points[-2].tau:
                break
        if len(points) < 3 or points[-1].tau <= points[-2].tau:
            return None
        last = points[-3:]
        a, b, c = np.polyfit([one.T - last[1].T for one in last], np.log([o.tau for o in last]), 2)
        top = -b / (2.0 * a)
        return Point(last[1].T + top, float(np.exp(c + b * top + a * top**2)), last[1].Y)


class Extinctions:
    """Of adiabatic perfectly stirred reactors. chemistry: the solver for multipliers (n_reactions,)
    of the rate constants. Reactors that the detailed mechanism does not burn, or does not
    extinguish above `COLDEST`, are left out. cases: of each error, in words."""

    name = "extinction"

    def __init__(
        self,
        mechanism: Mechanism,
        chemistry: Callable[[np.ndarray], Integrator],
        n_reactions: int,
        gases: list[Gas],
        of: Ranges,
    ):
        self.chemistry = chemistry
        self.gas = mechanism.solution(transport=False)
        self.weights = mechanism.molecular_weights
        solver = chemistry(np.ones(n_reactions))
        found = [
            self._detailed(Branch(solver, self.enthalpies, Inflow(float(T), float(p), Y)))
            for T, p, Y in zip(*states(mechanism, of, gases), strict=True)
        ]
        self.reactors = [reactor for reactor in found if reactor is not None]
        words = [named(g) for g, one in zip(gases, found, strict=True) if one is not None]
        self.cases = [f"{word}, {what}" for what in ("residence time", "T") for word in words]

    def _detailed(self, branch: Branch) -> Reactor | None:
        """A reactor with the extinction of the detailed mechanism, followed down from equilibrium,
        and then again from the point at which a skeleton begins."""
        of = branch.of
        self.gas.TPY = of.T, of.p, of.Y
        try:
            self.gas.equilibrate("HP")
        except ct.CanteraError:
            return None
        burnt, T = self.gas.Y.copy(), self.gas.T - BELOW
        start = branch.solve(T, Point(T, FIRST_TAU, burnt + MIXED * (of.Y - burnt)))
        found = start and branch.follow(start, STEP)
        begin = found and branch.solve(found.T + ABOVE, found)
        again = begin and branch.follow(begin, STEP)
        return Reactor(of, begin, again) if begin and again else None

    def enthalpies(self, T: float) -> np.ndarray:
        """Enthalpies (n_species,) [J/kg] of the species at T [K]."""
        self.gas.TP = T, ct.one_atm
        return self.gas.standard_enthalpies_RT * (ct.gas_constant * T) / self.weights

    def errors(self, skeleton: Skeleton) -> np.ndarray:
        """Relative errors (n,) of the residence times at extinction, then of the temperatures;
        infinite where a skeleton does not burn near the extinction of the detailed mechanism."""
        solver, pairs = self.chemistry(skeleton.multipliers), []
        for reactor in self.reactors:
            branch = Branch(solver, self.enthalpies, reactor.of)
            Y = reactor.begin.Y * skeleton.species
            guess = Point(reactor.begin.T, reactor.begin.tau, Y / Y.sum())
            start = branch.solve(guess.T, guess)
            found = start and branch.follow(start, STEP)
            if found is None:
                pairs.append((np.inf, np.inf))
            else:
                pairs.append((found.tau / reactor.end.tau, found.T / reactor.end.T))
        return np.array(pairs).reshape(-1, 2).T.ravel() - 1.0

"""Extinction of a perfectly stirred reactor (PSR) as a judge of skeletons.

Takes a mechanism, its solver with rate multipliers, and cases; gives the relative errors of the
residence time at extinction and of the temperature there. In a steady adiabatic PSR at the
residence time tau,

    (Y_in - Y) / tau + w(T, p, Y) = 0,    sum_k Y_k h_k(T) = h_in,

with w the rates of production dY/dt. T is prescribed, and Y and tau are unknown: both branches of
the S-curve are then one curve tau(T), and its minimum is the extinction.
"""

from dataclasses import dataclass

import numpy as np

from combred.chemistry.equilibrium import equilibrium
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.thermo import Thermo
from combred.skeletal.cases import Gas, Ranges, named, states
from combred.skeletal.compiled import Chemistry
from combred.skeletal.large import Solver
from combred.skeletal.skeleton import Skeleton

BELOW = 10.0  # K, of the first point of the branch, below equilibrium
STEP = 20.0  # K, between points of the branch, until tau rises again
NEWTON, CLOSE = 25, 1e-6  # iterations at most; change of Y and of ln tau in the last of them
FIRST_TAU, MIXED = 1e-2, 0.01  # s; the first guess: burnt gas with this share of the inflow
TURNS, FARTHEST, TURNED = 12, 40.0, 1.0  # steps to the minimum; K, a step at most, and the last
COLDEST = 1000.0  # K


@dataclass(frozen=True, eq=False)
class Inflow:
    """The gas that flows in: T [K], p [Pa], Y (n_species,)."""

    T: float
    p: float
    Y: np.ndarray


@dataclass(frozen=True, eq=False)
class Point:
    """A steady state of a reactor: T [K], tau [s], Y (n_species,); slope: d ln tau / dT [1/K]."""

    T: float
    tau: float
    Y: np.ndarray
    slope: float = 0.0


@dataclass(frozen=True, eq=False)
class Reactor:
    """A reactor of the detailed mechanism: its inflow and its extinction; curvature: d^2 ln tau /
    dT^2 [1/K^2] there."""

    of: Inflow
    end: Point
    curvature: float


class Branch:
    """The steady states of one reactor with one solver, as a function of T."""

    def __init__(self, solver: Solver, thermo: Thermo, of: Inflow):
        self.solver, self.thermo, self.of = solver, thermo, of
        self.h_in = float(thermo.enthalpy(np.array([of.T]), of.Y[None])[0])

    def solve(self, T: float, guess: Point) -> Point | None:
        """The steady state at T [K] by Newton's method from a guess; None where there is none."""
        Y, log_tau, n, at = guess.Y.copy(), np.log(guess.tau), len(guess.Y), np.array([T])
        h = self.thermo.species_enthalpy(at)[0]
        matrix, right = np.zeros((n + 1, n + 1)), np.zeros((n + 1, 2))
        scale = 1.0 / max(abs(h).max(), 1.0)
        for _ in range(NEWTON):
            tau = np.exp(log_tau)
            rates = self.solver.rates(at, self.of.p, Y[None])[0][0]
            jacobian = self.solver.jacobian(T, self.of.p, Y)[1:]
            right[:n, 0] = self.of.Y - Y + tau * rates
            right[n, 0] = scale * (self.h_in - Y @ h)
            right[:n, 1] = tau * jacobian[:, 0]
            right[n, 1] = -scale * float(self.thermo.heat_capacity(at, Y[None])[0])
            matrix[:n, :n] = np.eye(n) - tau * jacobian[:, 1:]
            matrix[:n, n] = -tau * rates
            matrix[n, :n] = scale * h
            try:
                change, by_T = np.linalg.solve(matrix, right).T
            except np.linalg.LinAlgError:
                return None
            change *= min(1.0, 2.0 / max(abs(change[n]), 1e-300))
            Y, log_tau = np.maximum(Y + change[:n], 0.0), log_tau + change[n]
            if not (np.isfinite(log_tau) and np.isfinite(Y).all() and 0.5 < Y.sum() < 1.5):
                return None
            if np.abs(change).max() < CLOSE:
                return Point(T, float(np.exp(log_tau)), Y, float(by_T[n]))
        return None

    def turn(self, start: Point, curvature: float) -> tuple[Point, float] | None:
        """The extinction, where d ln tau / dT is 0, and the curvature there, by secants from a
        point near it and its curvature; None where there is none."""
        now, step = start, -start.slope / curvature
        for _ in range(TURNS):
            step = float(np.clip(step, -FARTHEST, FARTHEST))
            if abs(step) < TURNED:
                tau = now.tau * float(np.exp(0.5 * step * now.slope))
                return Point(now.T + step, tau, now.Y), curvature
            found = self.solve(now.T + step, now)
            if found is None or found.T < COLDEST:
                return None
            curvature = (found.slope - now.slope) / step
            now, step = found, -found.slope / curvature
            if curvature <= 0.0:  # far above the minimum, or beyond it
                step = -np.copysign(STEP, now.slope)
        return None


def detailed_extinctions(
    mechanism: Mechanism, detailed: Solver, gases: list[Gas], of: Ranges
) -> list[np.ndarray]:
    """Of each case: T [K] and tau [s] at extinction and the curvature there, (n, 3), NaN of
    reactors that do not burn, or do not go out above `COLDEST`; and Y (n, n_species)."""
    given, thermo = states(mechanism, of, gases), Thermo(mechanism)
    burnt = equilibrium(mechanism.solution(transport=False), *given)
    ends, composition = np.full((len(gases), 3), np.nan), given[2].copy()
    for i, (T, p, Y, hot, products) in enumerate(zip(*given, *burnt, strict=True)):
        branch = Branch(detailed, thermo, Inflow(float(T), float(p), Y))
        found = _detailed(branch, float(hot), products) if np.isfinite(hot) else None
        if found:
            ends[i] = found.end.T, found.end.tau, found.curvature
            composition[i] = found.end.Y
    return [ends, composition]


class Extinctions:
    """Of adiabatic perfectly stirred reactors; known: their `detailed_extinctions`. Reactors
    without one are left out. cases: of each error, in words."""

    name = "extinction"

    def __init__(
        self,
        mechanism: Mechanism,
        chemistry: Chemistry,
        gases: list[Gas],
        of: Ranges,
        known: list[np.ndarray],
    ):
        self.chemistry, self.thermo = chemistry, Thermo(chemistry.mechanism)
        T, p, Y = states(mechanism, of, gases)
        rows = np.flatnonzero(np.isfinite(known[0][:, 0]))
        self.reactors, left = [], chemistry.columns
        for i in rows:
            inflow = Inflow(float(T[i]), float(p[i]), Y[i, left])
            hot, tau, curvature = known[0][i]
            end = Point(float(hot), float(tau), known[1][i, left])
            self.reactors.append(Reactor(inflow, end, float(curvature)))
        words = [named(gases[i]) for i in rows]
        self.cases = [f"{word}, {what}" for what in ("residence time", "T") for word in words]

    def errors(self, skeleton: Skeleton) -> np.ndarray:
        """Relative errors (n,) of the residence times at extinction, then of the temperatures;
        infinite where a skeleton does not burn near the extinction of the detailed mechanism."""
        solver, pairs = self.chemistry(skeleton), []
        for reactor in self.reactors:
            branch, end = Branch(solver, self.thermo, reactor.of), reactor.end
            Y = end.Y * skeleton.species[self.chemistry.columns]
            start = branch.solve(end.T, Point(end.T, end.tau, Y / Y.sum()))
            found = start and branch.turn(start, reactor.curvature)
            ratios = (found[0].tau / end.tau, found[0].T / end.T) if found else (np.inf, np.inf)
            pairs.append(ratios)
        return np.array(pairs).reshape(-1, 2).T.ravel() - 1.0


def _detailed(branch: Branch, hot: float, burnt: np.ndarray) -> Reactor | None:
    """A reactor with the extinction of the detailed mechanism, whose curve is followed down from
    below equilibrium, hot [K] and burnt (n_species,), until tau rises."""
    guess = Point(hot - BELOW, FIRST_TAU, burnt + MIXED * (branch.of.Y - burnt))
    now, before = branch.solve(guess.T, guess), None
    while now and now.slope > 0.0 and now.T > COLDEST:
        now, before = branch.solve(now.T - STEP, now), now
    if not now or not before:
        return None
    found = branch.turn(now, (before.slope - now.slope) / STEP)
    return Reactor(branch.of, *found) if found else None

"""Extinction of a perfectly stirred reactor (PSR) as a judge of skeletons.

Takes a mechanism, its solver with rate multipliers, and cases; gives the relative errors of the
residence time at extinction and of the temperature there, of adiabatic reactors: the minimum of
tau(T), `combred.reactors.branch`; and the curves above it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from combred.chemistry.equilibrium import equilibrium
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.thermo import Thermo
from combred.reactors.branch import COLDEST, STEP, Branch, Inflow, Point
from combred.skeletal.cases import Gas, Ranges, distinct, named, states
from combred.skeletal.compiled import Chemistry
from combred.skeletal.large import Solver
from combred.skeletal.skeleton import Skeleton

BELOW = 10.0  # K, of the first point of the branch, below equilibrium
FIRST_TAU, MIXED = 1e-2, 0.01  # s; the first guess: burnt gas with this share of the inflow
POINTS = 16  # of a curve


@dataclass(frozen=True, eq=False)
class Reactor:
    """A reactor of the detailed mechanism: its inflow and its extinction; curvature: d^2 ln tau /
    dT^2 [1/K^2] there; curve: as of `curve_of`."""

    of: Inflow
    end: Point
    curvature: float
    curve: np.ndarray


def detailed_extinctions(
    mechanism: Mechanism, detailed: Solver, gases: list[Gas], of: Ranges
) -> list[np.ndarray]:
    """Of each case: T [K] and tau [s] at extinction and the curvature there, (n, 3), NaN of
    reactors that do not burn, or do not go out above `COLDEST`; Y (n, n_species) there; and the
    `curve_of` (n, POINTS, 2)."""
    given, thermo = states(mechanism, of, gases), Thermo(mechanism)
    burnt = equilibrium(mechanism.solution(transport=False), *given)
    ends, composition = np.full((len(gases), 3), np.nan), given[2].copy()
    curves = np.full((len(gases), POINTS, 2), np.nan)
    for i, (T, p, Y, hot, products) in enumerate(zip(*given, *burnt, strict=True)):
        branch = Branch(detailed, thermo, Inflow(float(T), float(p), Y))
        found = _detailed(branch, float(hot), products) if np.isfinite(hot) else None
        if found:
            ends[i] = found.end.T, found.end.tau, found.curvature
            composition[i], curves[i] = found.end.Y, found.curve
    return [ends, composition, curves]


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
            self.reactors.append(Reactor(inflow, end, float(curvature), known[2][i]))
        self.values = known[0][rows, 1::-1].T.ravel()  # tau [s], then T [K]
        self.gases = words = distinct(named(gases[i]) for i in rows)
        self.cases = [f"{word}, {what}" for what in ("residence time", "T") for word in words]

    def errors(self, skeleton: Skeleton) -> np.ndarray:
        """Relative errors (n,) of the residence times at extinction, then of the temperatures;
        infinite where a skeleton does not burn near the extinction of the detailed mechanism."""
        pairs = []
        for reactor, (_, end) in zip(self.reactors, self._ends(skeleton), strict=True):
            of = reactor.end
            pairs.append((end.tau / of.tau, end.T / of.T) if end else (np.inf, np.inf))
        return np.array(pairs).reshape(-1, 2).T.ravel() - 1.0

    def curves(self, skeleton: Skeleton) -> dict[str, list]:
        """Of each reactor, the `curve_of` the detailed mechanism and that of a skeleton, [] where
        it does not burn."""
        both = {}
        rows = zip(self.gases, self.reactors, self._ends(skeleton), strict=True)
        for case, of, (branch, end) in rows:
            hottest = float(np.nanmax(of.curve[:, 0]))
            reduced = curve_of(branch, end, hottest).tolist() if end else []
            both[case] = [of.curve.tolist(), reduced]
        return both

    def _ends(self, skeleton: Skeleton) -> Iterator[tuple[Branch, Point | None]]:
        """The steady states of each reactor with a skeleton, and its extinction."""
        solver = self.chemistry(skeleton)
        for reactor in self.reactors:
            branch, end = Branch(solver, self.thermo, reactor.of), reactor.end
            Y = end.Y * skeleton.species[self.chemistry.columns]
            start = branch.solve(Point(end.T, end.tau, Y / Y.sum()))
            found = start and branch.turn(start, reactor.curvature)
            yield branch, found[0] if found else None


def curve_of(branch: Branch, end: Point, hottest: float) -> np.ndarray:
    """T [K] and tau [s] of a reactor, (POINTS, 2), from its extinction to `hottest` [K]; NaN from
    the first T without a steady state."""
    found, now = np.full((POINTS, 2), np.nan), end
    for i, T in enumerate(np.linspace(end.T, hottest, POINTS).tolist()):
        point = branch.solve(replace(now, T=T))
        if point is None:
            break
        found[i], now = (T, point.tau), point
    return found


def _detailed(branch: Branch, hot: float, burnt: np.ndarray) -> Reactor | None:
    """A reactor with the extinction of the detailed mechanism, whose curve is followed down from
    below equilibrium, hot [K] and burnt (n_species,), until tau rises."""
    guess = Point(hot - BELOW, FIRST_TAU, burnt + MIXED * (branch.of.Y - burnt))
    now, before = branch.solve(guess), None
    while now and now.slope > 0.0 and now.T > COLDEST:
        now, before = branch.solve(replace(now, T=now.T - STEP)), now
    if not now or not before:
        return None
    found = branch.turn(now, (before.slope - now.slope) / STEP)
    return Reactor(branch.of, *found, curve_of(branch, found[0], guess.T)) if found else None

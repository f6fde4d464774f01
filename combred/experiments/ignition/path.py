"""Ignitions on their way: states at times that resolve the rise of T.

Takes a compiled solver and mixtures whose rise of T is roughly known; gives `Path`s, on which
maxima and stages are looked for. Time steps grow with time while the gas is quiet, and are as short
as T asks for while it rises.
"""

from dataclasses import dataclass, replace

import numpy as np

from combred.chemistry.states import Rows
from combred.native.solver.library import Integrator

# Share of the rise of T by which T changes in a step at most.
LARGEST = 1.0 / 24.0
# The same where T has just begun to rise; between both, T at most doubles its rise in a step.
SMALLEST = 1e-3
# By how much a step of T may exceed what was predicted, before it is taken again.
SAFETY = 1.5
# First time step, as a share of the time to half of the rise.
FIRST = 0.01
# A time step as a share of the time, and the ratio of two steps in turn, at most.
OF_TIME, GROWTH = 0.2, 2.0
# Share of the rise of T after which a path ends, once its maximum has passed.
END = 0.95
# Share of a maximum below which it has passed.
PAST = 0.7
# Time steps of a path at most.
MOST = 600


@dataclass(frozen=True, eq=False)
class Path:
    """Of n mixtures: states (k + 1, n, 2 + n_species), [T, p, Y], at times (k + 1, n) [s]; the
    states of a mixture whose path has ended are repeated."""

    states: np.ndarray
    times: np.ndarray

    def samples(self, species: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Times (k, n) [s] and values (k, n) of dT/dt, at the middle of each step; or of the mass
        fraction of a species, at its end. -inf after the end of a path."""
        steps = np.diff(self.times, axis=0)
        if species is None:
            middles, T = self.times[:-1] + 0.5 * steps, self.states[:, :, 0]
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.diff(T, axis=0) / steps
        else:
            middles, values = self.times[1:], self.states[1:, :, 2 + species]
        return middles, np.where(steps > 0.0, values, -np.inf)


@dataclass(frozen=True, eq=False)
class Ignition:
    """Ignitions of n mixtures: initial states (n, 2 + n_species), [T, p, Y], the time (n,) [s] to
    half of their rise of T, the rise (n,) [K], and the time [s] after which nothing is looked for.
    species: the index of one whose maximum is looked for, None for dT/dt; largest: share of the
    rise by which T changes in a step."""

    solver: Integrator
    tolerance: float
    states: np.ndarray
    half: Rows
    rise: Rows
    longest: float
    species: int | None = None
    largest: float = LARGEST

    def of(self, rows: np.ndarray) -> "Ignition":
        """Some of them."""
        return replace(self, states=self.states[rows], half=self.half[rows], rise=self.rise[rows])

    def later(self, states: np.ndarray, dt: Rows) -> np.ndarray:
        """The states dt (n,) [s] later, NaN where the solver fails."""
        T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
        solution = self.solver.attempt(T, p, Y, dt, self.tolerance)
        rows = np.column_stack([solution.T, solution.p, solution.Y])
        return np.where(solution.error[:, None] <= 1.0, rows, np.nan)

    def path(self) -> Path:
        """The path of each until `END` of its rise, and until its maximum has passed."""
        n, first = len(self.half), FIRST * self.half
        states, times = [self.states], [np.zeros(n)]
        live, dt = np.arange(n), first.copy()
        coldest, top = self.states[:, 0].copy(), np.full(n, -np.inf)
        while len(live) and len(states) <= MOST:
            before, t = states[-1][live], times[-1][live]
            limit = self._limit(before[:, 0] - coldest[live], live)
            ends, dt[live] = self._step(before, np.minimum(dt[live], self.longest - t), limit)
            states.append(states[-1].copy())
            times.append(times[-1].copy())
            states[-1][live], times[-1][live] = ends, t + dt[live]
            change = ends[:, 0] - before[:, 0]
            values = change / dt[live] if self.species is None else ends[:, 2 + self.species]
            top[live] = np.fmax(top[live], values)
            coldest[live] = np.fmin(coldest[live], ends[:, 0])
            hot = ends[:, 0] > self.states[live, 0] + END * self.rise[live]
            ended = hot & (values < PAST * top[live]) | (times[-1][live] >= self.longest)
            ended |= np.isnan(ends[:, 0])
            # The next step, by which T would change by its limit, at the rate of this one.
            limit = self._limit(ends[:, 0] - coldest[live], live)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(change > 0.0, limit / change, np.inf)
            longest = np.maximum(first[live], OF_TIME * times[-1][live])
            dt[live] = np.minimum(dt[live] * np.clip(ratio, 0.0, GROWTH), longest)
            live = live[~ended]
        return Path(np.array(states), np.array(times))

    def _limit(self, risen: Rows, rows: np.ndarray) -> Rows:
        """The largest change of T in a step (n,) [K], of mixtures whose T has risen so much."""
        rise = self.rise[rows]  # which the largest T on the path may exceed
        share = self.largest / LARGEST
        return np.clip(share * risen, SMALLEST * rise, self.largest * np.fmax(rise, risen))

    def _step(self, before: np.ndarray, dt: Rows, limit: Rows) -> tuple[np.ndarray, Rows]:
        """The states at the ends of steps, and the steps [s]: dt (n,), or shorter where T would
        rise by more than its limit (n,) [K]."""
        ends = self.later(before, dt)
        steep = np.flatnonzero(ends[:, 0] - before[:, 0] > SAFETY * limit)
        if len(steep):
            T, p, Y = before[steep, 0], before[steep, 1], before[steep, 2:]
            shorter = self.solver.time_to(T, p, Y, T + limit[steep], dt[steep], self.tolerance)
            dt = dt.copy()
            dt[steep] = np.where(shorter > 0.0, np.fmin(shorter, dt[steep]), 0.5 * dt[steep])
            ends[steep] = self.later(before[steep], dt[steep])
        return ends, dt

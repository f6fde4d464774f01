"""When is dT/dt, or the mass fraction of a species, largest in an ignition?

Takes a compiled solver, and mixtures whose delays are roughly known; gives the times of the
maxima, looked for in short steps around the ignition.
"""

from dataclasses import dataclass, replace

import numpy as np

from combred.chemistry.states import Rows, Tolerance
from combred.native.solver.library import Integrator

MARGIN = 1.75  # the time over which a delay is computed at last, in delays
BEFORE, SLOW = 100.0, 0.3  # K above the initial T, where the search for a maximum begins, unless
# `IGNITED` is more than this share of the delay later: then at the initial state
OF_RISE, GROWTH, MOST = 6.0, 1.06, 90  # first steps until `IGNITED`; growth of a step; of all steps
SHRINK, DOWN, UP = 0.85, 40, 1.1  # steps to the steepest rise, for a peak; growth after it
PAST, HIGHER = 0.7, 1e-3  # share of a maximum at which it has passed; by how much a peak is higher
FINER, SHARP = 12, 5e-3  # steps around a maximum; the longest of them, in delays
RISE = 100.0  # K, in a step to the peak of a species, which may be as narrow as the rise of T
EARLY, AFTER = 60, 12  # steps until T has risen by `BEFORE`, if a peak is there, and after that


@dataclass(frozen=True)
class Way:
    """Of n states [T, p, Y] through a maximum of dT/dt, or of the mass fraction of a species. hot
    (n,) [K]: the T before which no maximum has passed."""

    solver: Integrator
    tolerance: Tolerance
    species: int | None
    hot: Rows

    def later(self, states: np.ndarray, dt: Rows) -> np.ndarray:
        """The states dt (n,) [s] later, NaN where the solver fails."""
        T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
        found = self.solver.attempt(T, p, Y, dt, self.tolerance)
        after = np.column_stack([found.T, found.p, found.Y])
        return np.where(found.error[:, None] <= 1.0, after, np.nan)

    def sample(self, before: np.ndarray, after: np.ndarray, dt: Rows) -> Rows:
        """The quantity in a step (dT/dt), or at its end."""
        if self.species is None:
            return (after[:, 0] - before[:, 0]) / dt
        return after[:, 2 + self.species]

    def march(
        self,
        states: np.ndarray,
        t: Rows,
        dt: Rows,
        growth: float,
        most: int,
        passes: bool = False,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """States (k + 1, n, 2 + n_species) and times (k + 1, n) [s] in at most `most` steps from
        the time t, and times and samples (k, n) of the quantity. Steps dt [s] grow. passes: a state
        stays where it is after the maximum has passed, and all end when none moves. Steps to
        the peak of a species are halved where T rises by `RISE`."""
        path, times, at, samples = [states], [t], [], []
        largest, live = np.full(len(t), -np.inf), np.arange(len(t))
        while len(live) and len(path) <= most:
            after, s, dt = path[-1].copy(), times[-1].copy(), dt.copy()
            rows = live
            while len(rows):
                after[rows] = self.later(path[-1][rows], dt[rows])
                steep = after[rows, 0] > path[-1][rows, 0] + RISE
                rows = rows[steep & (self.species is not None)]
                dt[rows] *= 0.5
            s[live] += dt[live]
            sample, middle = np.full((2, len(t)), -np.inf)
            sample[live] = self.sample(path[-1][live], after[live], dt[live])
            middle[live] = s[live] - (0.5 * dt[live] if self.species is None else 0.0)
            largest = np.fmax(largest, sample)
            if passes:
                past = (sample[live] < PAST * largest[live]) & (after[live, 0] > self.hot[live])
                live = live[~past]
            for column, new in zip(
                (path, times, at, samples), (after, s, middle, sample), strict=True
            ):
                column.append(new)
            dt = growth * dt
        return np.array(path), np.array(times), np.array(at), np.array(samples)


def maximum(way: Way, states: np.ndarray, delay: Rows, early: bool = False) -> Rows:
    """The times (n,) [s] of the maxima of states [T, p, Y] (n, 2 + n_species), whose T has risen by
    `IGNITED` after `delay` (n,) [s]. Infinite where there is no maximum, NaN where the solver
    fails. early: the maximum of a species is before T has risen by `BEFORE`."""
    initial = states
    T, every = states[:, 0], np.arange(len(states))
    t = way.solver.time_to(
        T, states[:, 1], states[:, 2:], T + BEFORE, MARGIN * delay, way.tolerance
    )
    t = np.fmin(t, delay)  # NaN where the solver fails
    dt = np.maximum((delay - t) / OF_RISE, SHARP * delay)
    near = np.flatnonzero((delay - t <= SLOW * delay) & (t > 0.0) & (not early))
    states, start = states.copy(), np.zeros(len(t))
    states[near], start[near] = way.later(states[near], t[near]), t[near]
    if early:
        path, times, at, samples = way.march(states, start, t / EARLY, 1.0, EARLY + AFTER)
    elif way.species is not None:  # a peak is as narrow as the ignition
        steep = maximum(replace(way, species=None), initial, delay)
        steep = np.where(np.isfinite(steep) & (steep > start), steep, np.maximum(delay, start))
        dt = np.maximum(steep - start, SHARP * delay) * (1.0 - SHRINK)
        before = way.march(states, start, dt, SHRINK, DOWN)
        begin, dt = (before[0][-1], before[1][-1]), dt * SHRINK**DOWN
        after = way.march(*begin, dt, UP, MOST + DOWN, passes=True)
        path, times = (np.concatenate([before[k], after[k][1:]]) for k in (0, 1))
        at, samples = (np.concatenate([before[k], after[k]]) for k in (2, 3))
    else:
        path, times, at, samples = way.march(states, start, dt, GROWTH, MOST, passes=True)
    i = samples.argmax(axis=0)
    none, passed = (i == len(samples) - 1) & (not early), np.zeros(0, int)
    if way.species is not None:
        first, end = path[0, :, 2 + way.species], path[-1, :, 2 + way.species]
        none |= (end > (1.0 - HIGHER) * samples[i, every]) & (not early)
        passed = np.flatnonzero((first >= samples[0]) & (i == 0) & (start > 0.0) & ~none)
        none |= (start == 0.0) & (first >= (1.0 - HIGHER) * samples[i, every])
        if len(passed):
            of = replace(way, hot=way.hot[passed])
            earlier = maximum(of, initial[passed], delay[passed], early=True)
    found, rows = np.empty(len(t)), every
    while True:
        first = np.maximum(i - (way.species is None), 0)
        last = np.minimum(first + 3 - (way.species is not None), len(times) - 1)
        column = np.arange(len(rows))
        found[rows] = _vertex(at, samples, i)
        states, start = path[first, column], times[first, column]
        dt = (times[last, column] - start) / FINER
        coarse = np.flatnonzero(dt > SHARP * delay[rows] / FINER)
        if not len(coarse):
            found = np.where(none, np.inf, found)
            if len(passed):
                found[passed] = earlier
            return found
        rows, states, start, dt = rows[coarse], states[coarse], start[coarse], dt[coarse]
        path, times, at, samples = way.march(states, start, dt, 1.0, FINER)
        i = samples.argmax(axis=0)


def _vertex(at: np.ndarray, samples: np.ndarray, i: np.ndarray) -> Rows:
    """The times (n,) of the maxima of parabolas through three samples (k, n), of which the middle
    ones, i (n,), are the largest; of a sample without neighbours its own time."""
    every = np.arange(samples.shape[1])
    rows = [np.clip(i + k, 0, len(at) - 1) for k in (-1, 0, 1)]
    (a, b, c), (x, y, z) = ([table[row, every] for row in rows] for table in (at, samples))
    with np.errstate(all="ignore"):
        p, q = (b - a) * (y - z), (b - c) * (y - x)
        vertex = b - 0.5 * ((b - a) * p - (b - c) * q) / (p - q)
    return np.where(np.isfinite(vertex) | np.isnan(y), vertex, b)

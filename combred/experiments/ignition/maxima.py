"""When is dT/dt, or the mass fraction of a species, largest in an ignition?

Takes a compiled solver, and mixtures whose delays are roughly known; gives the times of the
maxima, looked for in short steps around the ignition.
"""

from collections.abc import Callable
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
# Steps before the rise: their number, the first one's share of that time, growth, and the most.
EARLY, FIRST, OF_EARLY, MOST_EARLY = 60, 1e-3, 1.15, 160

Stop = Callable[[np.ndarray, Rows, Rows, Rows, Rows], np.ndarray]


@dataclass(frozen=True, eq=False)
class Steps:
    """Time steps of n states: the first ones (n,) [s], their growth, how many at most, and the
    longest (n,) [s]."""

    first: Rows
    growth: float
    most: int
    longest: Rows | float = np.inf


@dataclass(frozen=True, eq=False)
class Track:
    """Of n states the path (k + 1, n, 2 + n_species) at times (k + 1, n) [s], and samples (k, n) of
    a quantity at the times `at` (k, n)."""

    path: np.ndarray
    times: np.ndarray
    at: np.ndarray
    samples: np.ndarray

    def joined(self, later: "Track") -> "Track":
        """This one and one that begins at its end."""
        return Track(
            np.concatenate([self.path, later.path[1:]]),
            np.concatenate([self.times, later.times[1:]]),
            np.concatenate([self.at, later.at]),
            np.concatenate([self.samples, later.samples]),
        )


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

    def march(self, states: np.ndarray, t: Rows, steps: Steps, stop: Stop | None = None) -> Track:
        """The track from the time t (n,) [s]. stop: of the states that go on, by their rows, T,
        times, samples and the largest samples so far, those that stay where they are. Steps to the
        peak of a species are halved where T rises by `RISE`."""
        path, times, at, samples = [states], [t], [], []
        largest, live, dt = np.full(len(t), -np.inf), np.arange(len(t)), steps.first
        while len(live) and len(path) <= steps.most:
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
            if stop:
                live = live[~stop(live, after[live, 0], s[live], sample[live], largest[live])]
            for column, new in zip(
                (path, times, at, samples), (after, s, middle, sample), strict=True
            ):
                column.append(new)
            dt = np.minimum(steps.growth * dt, steps.longest)
        return Track(*map(np.array, (path, times, at, samples)))

    def past(self, rows: np.ndarray, T: Rows, _: Rows, sample: Rows, largest: Rows) -> np.ndarray:
        """Where a maximum has passed, as `march` stops."""
        return (sample < PAST * largest) & (T > self.hot[rows])


def maximum(way: Way, states: np.ndarray, delay: Rows) -> Rows:
    """The times (n,) [s] of the maxima of states [T, p, Y] (n, 2 + n_species), whose T has risen by
    `IGNITED` after `delay` (n,) [s]: of a species, the largest until it has fallen to `PAST` of
    that after the ignition. Infinite where there is no maximum, or the initial mass fraction is the
    largest; NaN where the solver fails."""
    initial, T = states, states[:, 0]
    t = way.solver.time_to(
        T, states[:, 1], states[:, 2:], T + BEFORE, MARGIN * delay, way.tolerance
    )
    t = np.fmin(t, delay)  # NaN where the solver fails
    near = np.flatnonzero((delay - t <= SLOW * delay) & (t > 0.0))
    states, start = states.copy(), np.zeros(len(t))
    states[near], start[near] = way.later(states[near], t[near]), t[near]
    if way.species is None:
        dt = np.maximum((delay - t) / OF_RISE, SHARP * delay)
        track = way.march(states, start, Steps(dt, GROWTH, MOST), way.past)
        found, _, i = _largest(way, track, delay)
        return np.where(i == len(track.samples) - 1, np.inf, found)
    # A peak is as narrow as the ignition.
    steep = maximum(replace(way, species=None), initial, delay)
    steep = np.where(np.isfinite(steep) & (steep > start), steep, np.maximum(delay, start))
    dt = np.maximum(steep - start, SHARP * delay) * (1.0 - SHRINK)
    before = way.march(states, start, Steps(dt, SHRINK, DOWN))
    rest = Steps(dt * SHRINK**DOWN, UP, MOST + DOWN)
    track = before.joined(way.march(before.path[-1], before.times[-1], rest, way.past))
    end = start + 2.0 * dt  # within which a peak is found by the one or the other
    early = way.march(
        initial, np.zeros(len(t)), Steps(FIRST * end, OF_EARLY, MOST_EARLY, end / EARLY),
        lambda rows, T, time, *_: time >= end[rows],
    )  # fmt: skip
    (found, top, _), (sooner, of_early, _) = (_largest(way, x, delay) for x in (track, early))
    found, top = np.where(of_early > top, sooner, found), np.fmax(of_early, top)
    first, last = initial[:, 2 + way.species], track.path[-1, :, 2 + way.species]
    found = np.where(np.fmax(first, last) >= (1.0 - HIGHER) * top, np.inf, found)
    return np.where(np.isnan(of_early + top + last), np.nan, found)


def _largest(way: Way, track: Track, delay: Rows) -> tuple[Rows, Rows, np.ndarray]:
    """Of the largest sample of each state: the time (n,) [s] by shorter steps around it, the sample
    (n,) and its number."""
    every = np.arange(len(delay))
    found, rows, number = np.empty(len(delay)), every, track.samples.argmax(axis=0)
    top, i = track.samples[number, every], number
    while True:
        first = np.maximum(i - (way.species is None), 0)
        last = np.minimum(first + 3 - (way.species is not None), len(track.times) - 1)
        column = np.arange(len(rows))
        found[rows] = _vertex(track.at, track.samples, i)
        states, start = track.path[first, column], track.times[first, column]
        dt = (track.times[last, column] - start) / FINER
        coarse = np.flatnonzero(dt > SHARP * delay[rows] / FINER)
        if not len(coarse):
            return found, top, number
        rows, states, start, dt = rows[coarse], states[coarse], start[coarse], dt[coarse]
        track = way.march(states, start, Steps(dt, 1.0, FINER))
        i = track.samples.argmax(axis=0)


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

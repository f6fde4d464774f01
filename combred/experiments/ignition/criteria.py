"""Ignition delays of many mixtures at once, by the usual criteria.

Takes a compiled solver and mixtures; gives their delays. A delay that is the time to a temperature
is one call of the solver; one at a maximum is looked for in short steps around the ignition.
"""

import functools
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from combred.chemistry.equilibrium import equilibrium
from combred.chemistry.states import (
    Real,
    Rows,
    Tolerance,
    require_columns,
    require_real,
    require_states,
    states_of,
)
from combred.chemistry.stepper import Stepper
from combred.experiments.ignition.rollout import IGNITED
from combred.native.solver.library import Integrator

LONGEST = 10.0  # s
SHORTEST = 1e-5  # s, the first time within which a delay is looked for
LONGER = 10.0  # the next, as often as needed: steps are shorter where the whole time is
MARGIN = 1.75  # the time over which a delay is computed at last, in delays
BEFORE, SLOW = 100.0, 0.3  # K above the initial T, where the search for a maximum begins, unless
# `IGNITED` is more than this share of the delay later: then at the initial state
OF_RISE, GROWTH, MOST = 6.0, 1.06, 90  # first steps until `IGNITED`; growth of a step; of all steps
SHRINK, DOWN, UP = 0.85, 40, 1.1  # steps to the steepest rise, for a peak; growth after it
PAST, HIGHER = 0.7, 1e-3  # share of a maximum at which it has passed; by how much a peak is higher
FINER, SHARP = 12, 5e-3  # steps around a maximum; the longest of them, in delays
BLOCK = 1024  # mixtures whose states are kept on their way
SAMPLES = 60  # steps of a delay in which stages are looked for
STAGE, LULL = 20.0, 0.3  # K, of a first stage; dT/dt after it, a share of that in it
REALS = float, int, np.floating, np.integer
SPECIES = re.compile(r"peak (\S+)")


def ignition_delay(
    solver: Integrator,
    T: Rows,
    p: Real,
    Y: Rows,
    criterion: str | float = "max dT/dt",
    longest: float = LONGEST,
    tolerance: Tolerance = None,
    threads: int = 1,
) -> Rows:
    """The ignition delays (n,) [s] of mixtures T (n,) [K], p [Pa], one for all or (n,), and Y (n,
    n_species), in adiabatic reactors of the solver, which is `combred.solver(...)`: at constant
    pressure, or at constant volume with `volume=True`.

    criterion: "max dT/dt" is the time at which T rises fastest; a number, that at which T has risen
    by so many kelvin; "half rise", by half the way to equilibrium; "peak OH", or of another
    species, that of its largest mass fraction; "first stage", of the largest dT/dt before a lull,
    where there are two stages. Infinite where the mixture does not ignite within `longest` [s], or
    has no such stage or peak; for maxima and stages, T has to rise by 400 K. NaN where the solver
    fails. tolerance: of the solver, as in `advance`; threads: how many share the mixtures.

    Raises ValueError for another criterion, and for states that are not valid.
    """
    states, kind = states_of(T, p, Y), _kind(solver, criterion)
    require_columns(states.shape, 2 + len(solver.library.species))
    require_states(states, "mixtures")
    if not isinstance(threads, int | np.integer) or threads < 1:
        raise ValueError(f"threads={threads!r}: give a whole number of at least 1")
    if np.ndim(longest) or not 0.0 < require_real("longest", longest) < np.inf:
        raise ValueError(f"longest={longest!r}: give a positive time [s]")
    find = functools.partial(_delays, solver, kind, longest, tolerance)
    if threads == 1:
        return find(states)
    with ThreadPoolExecutor(threads) as pool:
        parts = pool.map(find, np.array_split(states, min(4 * threads, max(len(states), 1))))
        return np.concatenate(list(parts))


def _kind(solver: Integrator, criterion: str | float) -> str | float | int:
    """A criterion, or for the peak of a species its index. Raises ValueError for another."""
    if isinstance(criterion, str):
        if criterion in ("max dT/dt", "half rise", "first stage"):
            return criterion
        if named := SPECIES.fullmatch(criterion):
            names = [name.lower() for name in solver.library.species]
            if named[1].lower() in names:
                return names.index(named[1].lower())
            raise ValueError(f"criterion={criterion!r}: the mechanism has no species {named[1]}")
    elif isinstance(criterion, REALS) and not isinstance(criterion, bool) and criterion > 0.0:
        return float(criterion)
    raise ValueError(
        f"criterion={criterion!r}: give 'max dT/dt', 'half rise', 'first stage', 'peak OH' (any "
        "species), or the rise of T [K], which is positive"
    )


def _delays(
    solver: Integrator,
    kind: str | float | int,
    longest: float,
    tolerance: Tolerance,
    states: np.ndarray,
) -> Rows:
    """The delays of states [T, p, Y] (n, 2 + n_species)."""
    begin = T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    if kind == "half rise":
        half = 0.5 * (T + _burnt(solver, *begin))
        return times_to(solver, begin, half, longest, tolerance)
    if isinstance(kind, float):
        return times_to(solver, begin, T + kind, longest, tolerance)
    delay = _search(solver, begin, T + IGNITED, longest, tolerance)
    ignites = np.flatnonzero(np.isfinite(delay))
    if not len(ignites):
        return delay
    found = delay.copy()
    if kind == "first stage":
        begin = T[ignites], p[ignites], Y[ignites]
        mark = first_stage(solver, begin, begin[0] + IGNITED, delay[ignites], tolerance)
        found[ignites] = times_to(solver, begin, mark, longest, tolerance)
    else:
        species = kind if isinstance(kind, int) else None
        for some in np.array_split(ignites, -(-len(ignites) // BLOCK)):
            way = _Way(solver, tolerance, species, T[some] + IGNITED)
            found[some] = _maximum(way, states[some], delay[some])
    return found


def _burnt(solver: Integrator, T: Rows, p: Rows, Y: Rows) -> Rows:
    """T (n,) [K] at equilibrium."""
    if not hasattr(solver, "mechanism"):
        raise ValueError("criterion='half rise' takes a combred.solver, which has a mechanism")
    gas = solver.mechanism.solution(transport=False)
    return equilibrium(gas, T, p, Y, "UV" if solver.volume else "HP")[0]


# -- times to a temperature ------------------------------------------------------------------------


def times_to(
    solver: Integrator,
    begin: tuple[Rows, Rows, Rows],
    until: Rows,
    longest: float = LONGEST,
    tolerance: Tolerance = None,
) -> Rows:
    """The times (n,) [s] at which states begin = T, p, Y pass the temperatures `until` (n,) [K];
    infinite where they do not within `longest` [s]. As `Integrator.time_to`, but each is computed
    in a call whose time is about its own, which decides how accurate it is."""
    times = _search(solver, begin, until, longest, tolerance)
    found = np.flatnonzero(np.isfinite(times) & (times > 0.0))
    if len(found):
        (T, p, Y), limits = (x[found] for x in begin), MARGIN * times[found]
        times[found] = solver.time_to(T, p, Y, until[found], limits, tolerance)
    return times


def _search(
    solver: Integrator,
    begin: tuple[Rows, Rows, Rows],
    until: Rows,
    longest: float,
    tolerance: Tolerance,
) -> Rows:
    """`times_to`, each of the first call in which it is found."""
    times, limit = np.full(len(until), np.inf), min(SHORTEST, longest)
    late = np.flatnonzero(np.isfinite(until))
    while len(late):
        T, p, Y = (x[late] for x in begin)
        times[late] = solver.time_to(T, p, Y, until[late], limit, tolerance)
        late = late[np.isinf(times[late])]
        if limit >= longest:
            break
        limit = min(LONGER * limit, longest)
    return times


# -- times of a maximum ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Way:
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
        self, states: np.ndarray, t: Rows, dt: Rows, growth: float, most: int, passes: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """States (k + 1, n, 2 + n_species) and times (k + 1, n) [s] in at most `most` steps from
        the time t, and times and samples (k, n) of the quantity. Steps dt [s] grow. passes: a state
        stays where it is after the maximum has passed, and all end when none moves."""
        path, times, at, samples = [states], [t], [], []
        largest, live = np.full(len(t), -np.inf), np.arange(len(t))
        while len(live) and len(path) <= most:
            after, s = path[-1].copy(), times[-1].copy()
            after[live] = self.later(after[live], dt[live])
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


def _maximum(way: _Way, states: np.ndarray, delay: Rows, early: bool = False) -> Rows:
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
        path, times, at, samples = way.march(states, start, t / SAMPLES, 1.0, SAMPLES + 1, False)
    elif way.species is not None:  # a peak is as narrow as the ignition
        steep = _maximum(replace(way, species=None), initial, delay)
        steep = np.where(np.isfinite(steep) & (steep > start), steep, np.maximum(delay, start))
        dt = np.maximum(steep - start, SHARP * delay) * (1.0 - SHRINK)
        before = way.march(states, start, dt, SHRINK, DOWN, False)
        begin, dt = (before[0][-1], before[1][-1]), dt * SHRINK**DOWN
        after = way.march(*begin, dt, UP, MOST + DOWN, passes=True)
        path, times = (np.concatenate([before[k], after[k][1:]]) for k in (0, 1))
        at, samples = (np.concatenate([before[k], after[k]]) for k in (2, 3))
    else:
        path, times, at, samples = way.march(states, start, dt, GROWTH, MOST, passes=True)
    i = samples.argmax(axis=0)
    none, passed = i == len(samples) - 1, np.zeros(0, int)
    if way.species is not None:
        first, end = path[0, :, 2 + way.species], path[-1, :, 2 + way.species]
        none |= (end > (1.0 - HIGHER) * samples[i, every]) & (not early)
        passed = np.flatnonzero((first >= samples[0]) & (i == 0) & (start > 0.0) & ~none)
        none |= (start == 0.0) & (first >= (1.0 - HIGHER) * samples[i, every])
        if len(passed):
            of = replace(way, hot=way.hot[passed])
            earlier = _maximum(of, initial[passed], delay[passed], early=True)
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
        path, times, at, samples = way.march(states, start, dt, 1.0, FINER, passes=False)
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


# -- two stages ------------------------------------------------------------------------------------


def first_stage(
    solver: Stepper,
    begin: tuple[np.ndarray, np.ndarray, np.ndarray],
    half: np.ndarray,
    delay: np.ndarray,
    tolerance: Tolerance = None,
) -> np.ndarray:
    """The T (n,) [K] of a first stage: where dT/dt is largest before a lull, in which it is below
    `LULL` of that; NaN where T rises by less than `STAGE` before it, or there is no lull."""
    T, p, Y = begin
    dt, found, marched = delay / SAMPLES, np.full(len(T), np.nan), [T]
    for _ in range(SAMPLES):
        after = solver.attempt(T, p, Y, dt, tolerance)
        T, p, Y = after.T, after.p, after.Y
        marched.append(T)
    rows = np.array(marched)
    T = marched[0]
    for i in range(len(T)):
        path = rows[: int((rows[:, i] < half[i]).sum()) + 1, i]
        rise = np.diff(path)
        lull = (rise < LULL * np.maximum.accumulate(rise)) & (path[:-1] > T[i] + STAGE)
        if lull[:-1].any():
            k = int(np.argmax(rise[: int(np.argmax(lull))]))
            mark = 0.5 * (path[k] + path[k + 1])
            found[i] = mark if mark > T[i] else np.nan  # pyrolysis cools the gas at first
    return found

"""When is dT/dt, or the mass fraction of a species, largest in an ignition? Is there a first stage?

Takes ignitions; gives the times of their maxima, by shorter steps around the largest sample of a
path.
"""

from dataclasses import replace

import numpy as np

from combred.chemistry.states import Rows
from combred.experiments.ignition.path import Ignition, Path

# Steps around a maximum, in place of three of a coarser path.
FINER = 12
# Tolerance of these steps, in doubles: floats would be seen in their differences.
SHARP = 1e-5
# Share of a time by which finer steps move a maximum at last.
CLOSE = 1e-4
# Share of the time to half of the rise below which a maximum is at the beginning.
SOONEST = 1e-6
# Share of the largest sample above which another local maximum of a path may be the largest one:
# samples are means over steps.
RIVAL = 0.9
# Local maxima of a path that are looked at.
MOST_RIVALS = 3
# Share by which a peak is higher than the mass fraction at the beginning and at the end.
HIGHER = 1e-3
# K by which T has to rise in a first stage, and the same as a share of the rise, if that is less.
STAGE, OF_RISE = 20.0, 0.05
# Share of the rise by which T changes in a step of a path on which stages are looked for.
OF_STAGES = 0.01
# Share of the largest dT/dt so far, below which there is a lull.
LULL = 0.3
# Ratio of dT/dt after a lull to the smallest in it, from which on it has risen again.
AGAIN = 2.0
# The same as a share of the largest dT/dt before the lull: noise of burnt gas is below it.
NOISE = 0.02


def maximum(ignition: Ignition) -> Rows:
    """The times (n,) [s] of the largest dT/dt, or of the largest mass fraction of the species until
    it has fallen to `PAST` of that after the ignition. 0 where T rises fastest at the beginning.
    Infinite where there is no maximum, or where the mass fraction is as large at the beginning or
    at the end; NaN where the solver fails."""
    path, species = ignition.path(), ignition.species
    values, columns = path.samples(species)[1], np.arange(len(ignition.half))
    failed = np.isnan(values).any(axis=0)
    values = np.where(np.isnan(values), -np.inf, values)
    i = values.argmax(axis=0)
    last = (values > -np.inf).sum(axis=0) - 1
    times, largest = vertices(ignition, path, i)
    for rivals in _rivals(values, i):
        rows = np.flatnonzero(rivals >= 0)
        if len(rows):
            part = Path(path.states[:, rows], path.times[:, rows])
            later, tops = vertices(ignition.of(rows), part, rivals[rows])
            higher = rows[tops > largest[rows]]
            times[higher], largest[higher] = later[tops > largest[rows]], tops[tops > largest[rows]]
    times[i == last] = np.inf
    if species is not None:
        top, Y = values[i, columns], path.states[:, :, 2 + species]
        times[np.fmax(Y[0], Y[-1]) >= (1.0 - HIGHER) * top] = np.inf
    times[failed] = np.nan
    return times


def _rivals(values: np.ndarray, i: np.ndarray) -> list[np.ndarray]:
    """Samples (n,) of other local maxima than i (n,), of values (k, n), that are above `RIVAL` of
    the largest: the largest first, -1 where there are no more."""
    columns = np.arange(values.shape[1])
    around = np.full((1, values.shape[1]), -np.inf)
    before, after = np.vstack([around, values[:-1]]), np.vstack([values[1:], around])
    local = (values > before) & (values >= after) & (values > RIVAL * values[i, columns])
    local[i, columns] = False
    heights = np.where(local, values, -np.inf)
    rivals = []
    for _ in range(MOST_RIVALS - 1):
        j = heights.argmax(axis=0)
        rivals.append(np.where(heights[j, columns] > -np.inf, j, -1))
        heights[j, columns] = -np.inf
    return rivals


def vertices(ignition: Ignition, path: Path, i: np.ndarray) -> tuple[Rows, Rows]:
    """The times (n,) [s] and values (n,) of the maxima next to the samples i (n,) of a path, by
    steps that become shorter until a maximum moves by less than `CLOSE`; 0 s of a dT/dt that is
    largest at the beginning."""
    times, rows = np.full(len(i), np.nan), np.arange(len(i))
    largest = np.full(len(i), -np.inf)
    slope = ignition.species is None
    sharp = replace(ignition, tolerance=min(ignition.tolerance, SHARP))
    while True:
        middles, values = path.samples(ignition.species)
        vertex, columns = _vertex(middles, values, i), np.arange(len(rows))
        first = np.maximum(i - slope, 0)
        last = np.minimum(first + 3 - (not slope), len(path.times) - 1)
        start, end = path.times[first, columns], path.times[last, columns]
        moved = np.abs(vertex - times[rows])
        times[rows], largest[rows] = vertex, values[i, columns]
        early = end < SOONEST * ignition.half[rows]
        times[rows[early & slope]] = 0.0
        unsure = np.isfinite(vertex) & ~(moved <= CLOSE * vertex)  # NaN where the solver fails
        coarse = np.flatnonzero(~early & unsure)
        if not len(coarse):
            return times, largest
        begin = path.states[first, columns][coarse]
        rows, start, dt = rows[coarse], start[coarse], (end - start)[coarse] / FINER
        states, marks = [begin], [start]
        for _ in range(FINER):
            states.append(sharp.later(states[-1], dt))
            marks.append(marks[-1] + dt)
        path = Path(np.array(states), np.array(marks))
        values = path.samples(ignition.species)[1]
        i = np.where(np.isnan(values), -np.inf, values).argmax(axis=0)


# -- two stages ------------------------------------------------------------------------------------


def first_stage(ignition: Ignition) -> tuple[Rows, Rows]:
    """The times (n,) [s] of the largest dT/dt before a lull after which dT/dt rises again, and T
    (n,) [K] at them. Infinite and NaN where there is one stage; NaN where the solver fails."""
    path = replace(ignition, largest=OF_STAGES).path()
    n = len(ignition.half)
    times, T = np.full(n, np.inf), np.full(n, np.nan)
    failed = np.isnan(path.states[-1, :, 0])
    peaks = [
        steepest_before_lull(path.times[:, i], path.states[:, i, 0], ignition.rise[i])
        for i in range(n)
    ]
    two = np.flatnonzero([peak >= 0 for peak in peaks] & ~failed)
    if len(two):
        part = Path(path.states[:, two], path.times[:, two])
        times[two] = vertices(ignition.of(two), part, np.array(peaks)[two])[0]
        T[two] = [np.interp(times[i], path.times[:, i], path.states[:, i, 0]) for i in two]
    times[failed] = np.nan
    return times, T


def steepest_before_lull(t: np.ndarray, T: np.ndarray, rise: float) -> int:
    """The number of the interval between times t (m,) [s] in which T (m,) [K] rises fastest before
    a lull, after which dT/dt rises again; -1 where there is none. rise [K]: that of the ignition.

    In a lull dT/dt is below `LULL` of its largest value so far. T has to rise by `STAGE` before it
    and after it."""
    keep = np.flatnonzero(np.diff(t, prepend=-np.inf) > 0.0)
    least, slopes = min(STAGE, OF_RISE * rise), np.diff(T[keep]) / np.diff(t[keep])
    ends = T[keep][1:]
    # Radicals that recombine at the beginning change T by less.
    slopes_before = np.where(np.abs(ends - T[0]) > 0.25 * least, slopes, -np.inf)
    largest = np.maximum.accumulate(slopes_before)
    lull = (slopes < LULL * largest) & (T[keep][:-1] > T[0] + least)
    if not lull.any():
        return -1
    begin = int(np.argmax(lull))
    peak = int(np.argmax(slopes_before[:begin]))
    smallest = np.minimum.accumulate(slopes[begin:])
    rises = slopes[begin:] > np.maximum(AGAIN * smallest, NOISE * slopes[peak])
    warmer = ends[begin:].max() > ends[begin] + least
    above = ends[peak] > T[0]  # gas that pyrolysis has cooled is warmed at first
    return int(keep[peak]) if rises.any() and warmer and above else -1


def _vertex(middles: np.ndarray, samples: np.ndarray, i: np.ndarray) -> Rows:
    """The times (n,) of the maxima of parabolas through three samples (k, n), of which the middle
    ones, i (n,), are the largest; of a sample without neighbours its own time."""
    columns = np.arange(samples.shape[1])
    rows = [np.clip(i + k, 0, len(middles) - 1) for k in (-1, 0, 1)]
    (a, b, c), (x, y, z) = ([table[row, columns] for row in rows] for table in (middles, samples))
    with np.errstate(all="ignore"):
        p, q = (b - a) * (y - z), (b - c) * (y - x)
        vertex = b - 0.5 * ((b - a) * p - (b - c) * q) / (p - q)
    return np.where(np.isfinite(vertex) | np.isnan(y), vertex, b)

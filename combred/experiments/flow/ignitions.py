"""Ignitions: premixed gas, or a mixture of it with another stream, until it has burnt.

Takes streams; gives states for `flow.states`, which are dense where the gas reacts
fast: they are uniform in a path length.
"""

import numpy as np

from combred.experiments.flow.streams import Streams, apart, within_range

HOT, HOTTER = 0.1, 700.0  # share of ignitions that are hotter than their range, and by so many K
DILUTED, DILUTION = 0.3, 0.6  # share of ignitions of a mixture; largest mass share of its stream
STATES, ROWS = 16, 11.0  # of an ignition, of which some are left out (`apart`): about so many
LONGEST, PATH = 0.5, 550.0  # s and path length, by which an ignition ends
FIRST_STEP = 1e-10  # s
SEGMENT, LARGEST = 18.0, 45.0  # path length of a step: wanted, and above which it is repeated
FACTOR = 0.2, 4.0  # smallest and largest factor on a step
MOST_STEPS = 400  # of an ignition, repeated ones too
# Path length, per unit of: the largest change of any ln(Y + FLOOR), the change of ln T, that of
# ln(t + START), and t. It is about the number of steps of CVODE at a relative tolerance of 1e-8, a
# fit to ignitions of DRM19, GRI-Mech 3.0 and hydrogen.
OF_Y, FLOOR, OF_T = 10.7, 1e-8, 480.0
OF_LN_t, START, OF_t = 3.3, 1e-9, 800.0  # START [s], OF_t [1/s]


def ignitions(streams: Streams, count: int) -> tuple[np.ndarray, np.ndarray]:
    """States [T, p, Y] (n, 2 + n_species) of ignitions, about `count` of them, and their time steps
    dt (n,) [s]: the first state of each, and others uniform in the path length."""
    initial = fresh_gases(streams, int(np.ceil(count / ROWS)))
    paths = Paths(streams, initial[within_range(initial)])
    shape = len(paths.begin), STATES
    along = np.sort(paths.length[:, None] * streams.rng.random(shape), axis=1)
    dt = streams.log_uniform(streams.settings.dt, shape)
    times = paths.times(along)
    along[:, 0] = times[:, 0] = 0.0
    i, j = np.nonzero(apart(times, dt) & (paths.length[:, None] > 0.0))
    states = paths.at(i, along[i, j])
    inside = within_range(states)
    return states[inside], dt[i, j][inside]


class Paths:
    """The paths of ignitions from the states `begin` (m, 2 + n_species), with their lengths (m,).

    Their segments lie one after the other: a state, its time [s], the step [s] and the path length
    of each (`march`), and the sum of these lengths at its end.
    """

    def __init__(self, streams: Streams, begin: np.ndarray):
        self.streams, self.begin = streams, begin
        which, self.states, self.t, self.step, self.lengths = march(streams, begin)
        self.length = np.bincount(which, self.lengths, len(begin))
        self.start, self.ends = np.cumsum(self.length) - self.length, np.cumsum(self.lengths)

    def times(self, along: np.ndarray) -> np.ndarray:
        """Times (m, k) [s] at the path lengths `along` (m, k)."""
        segment, offset = self._segments(self.start[:, None] + along)
        return self.t[segment] + offset

    def at(self, index: np.ndarray, along: np.ndarray) -> np.ndarray:
        """States (n, 2 + n_species) of the paths `which` (n,) at path lengths `along` (n,)."""
        states, late = self.begin[index], along > 0.0
        segment, offset = self._segments((self.start[index] + along)[late])
        states[late] = self.streams.react(self.states[segment], offset)
        return states

    def _segments(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The segments at some points of all paths, and the times [s] since their beginnings."""
        segment = np.searchsorted(self.ends, point).clip(0, len(self.ends) - 1)
        left = ((self.ends[segment] - point) / self.lengths[segment]).clip(0.0, 0.999)
        return segment, self.step[segment] * (1.0 - left)


def fresh_gases(streams: Streams, n: int) -> np.ndarray:
    """States [T, p, Y] (n, 2 + n_species) that ignitions begin with."""
    rng, (coldest, hottest) = streams.rng, streams.settings.T0
    p = streams.log_uniform(streams.settings.p, n)
    hot = rng.random(n) < HOT
    T = rng.uniform(np.where(hot, hottest, coldest), np.where(hot, hottest + HOTTER, hottest))
    Y = streams.premixed(n)
    h, diluted = streams.thermo.enthalpy(T, Y), np.flatnonzero(rng.random(n) < DILUTED)
    share, (other_h, other_Y) = rng.uniform(0.0, DILUTION, len(diluted)), streams.draw(p[diluted])
    h[diluted] += share * (other_h - h[diluted])
    Y[diluted] += share[:, None] * (other_Y - Y[diluted])
    states = streams.states(h, p, Y)
    states[:, 0] = np.where(np.isin(np.arange(n), diluted), states[:, 0], T)
    return states


def march(streams: Streams, initial: np.ndarray) -> tuple[np.ndarray, ...]:
    """The segments of the paths from the states `begin` (m, 2 + n_species): index (n,) of the
    trajectory, ascending; state (n, 2 + n_species), time t (n,) [s] and step (n,) [s] at the
    beginning of each; path length (n,)."""
    current, m = initial.copy(), len(initial)
    t, step, path, active = np.zeros(m), np.full(m, FIRST_STEP), np.zeros(m), np.arange(m)
    segments: list[tuple[np.ndarray, ...]] = []
    for _ in range(MOST_STEPS):
        before, tau = current[active], step[active]
        reacted = streams.react(before, tau)
        length = path_length(before, reacted, t[active], tau)
        good = length < LARGEST
        advanced = active[good]
        segments.append((advanced, before[good], t[advanced], tau[good], length[good]))
        current[advanced], t[advanced], path[advanced] = (
            reacted[good],
            t[advanced] + tau[good],
            path[advanced] + length[good],
        )
        step[active] = tau * (SEGMENT / length).clip(*FACTOR)
        failed = active[~np.isfinite(length)]  # the path ends with the state before
        active = np.setdiff1d(active[(t[active] < LONGEST) & (path[active] < PATH)], failed)
        if not len(active):
            break
    index, *columns = (np.concatenate(column) for column in zip(*segments, strict=True))
    order = np.argsort(index, kind="stable")
    return index[order], *(values[order] for values in columns)


def path_length(
    before: np.ndarray, reacted: np.ndarray, t: np.ndarray, step: np.ndarray
) -> np.ndarray:
    """The path length (n,) of steps [s] at times t (n,) [s] between two states (n, 2 + n_species)
    each; NaN where a state is NaN."""
    change = np.log((reacted[:, 2:] + FLOOR) / (before[:, 2:] + FLOOR))
    of_T = np.abs(np.log(reacted[:, 0] / before[:, 0]))
    of_t = np.log((t + step + START) / (t + START))
    return OF_Y * np.abs(change).max(1) + OF_T * of_T + OF_LN_t * of_t + OF_t * step

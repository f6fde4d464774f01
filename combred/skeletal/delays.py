"""Ignition delays as a judge of skeletons.

Takes a mechanism, its solver with rate multipliers, and cases; gives the relative errors of the
delays of a skeleton. A delay is the time at half the rise of T to its equilibrium; where the
detailed mechanism ignites in two stages, the time of the first stage is judged, too: that at which
its T is where T rises fastest before the second.
"""

from collections.abc import Callable

import numpy as np

from combred.chemistry.equilibrium import equilibrium
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.stepper import Stepper
from combred.skeletal.cases import Gas, Ranges, named, states
from combred.skeletal.skeleton import Skeleton

TOLERANCE = 1e-3  # of the solver, whose delays are then within .006 %
STEPS = 8  # of a march, in a delay of the detailed mechanism
LATEST = 1.75  # delays of the detailed mechanism: one that has not ignited then has failed
SECANTS = 5  # within the step in which a mark is passed
FIRST, GROWTH = 1e-7, 4.0  # s; the scale of a delay, in search of it
LONGEST = 10.0  # s
SEARCHED = 60  # steps of each scale
SAMPLES = 60  # steps of a delay in which stages are looked for
STAGE, LULL = 20.0, 0.3  # K, of a first stage; dT/dt after it, a share of that in it


class Delays:
    """Of ignitions of a mechanism. chemistry: the solver for multipliers (n_reactions,) of its rate
    constants. Cases that do not ignite within `LONGEST` are left out. cases: of each error, in
    words; delay, first (n_cases,) [s]: of the detailed mechanism, first is NaN where there is one
    stage."""

    name = "ignition delay"

    def __init__(
        self,
        mechanism: Mechanism,
        chemistry: Callable[[np.ndarray], Stepper],
        n_reactions: int,
        gases: list[Gas],
        of: Ranges,
    ):
        self.chemistry = chemistry
        detailed = chemistry(np.ones(n_reactions))
        T, p, Y = states(mechanism, of, gases)
        burnt, _ = equilibrium(mechanism.solution(transport=False), T, p, Y)
        half, delay = 0.5 * (T + burnt), np.full(len(T), np.inf)
        scale = FIRST
        while not np.isfinite(delay).all() and scale < LONGEST:
            late = np.flatnonzero(~np.isfinite(delay) & np.isfinite(half))
            steps = np.full(len(late), scale)
            begin = T[late], p[late], Y[late]
            delay[late] = time_to(detailed, begin, half[late], steps, SEARCHED)
            scale *= GROWTH
        kept = np.flatnonzero(np.isfinite(delay))
        self.T, self.p, self.Y, self.half, delay = (x[kept] for x in (T, p, Y, half, delay))
        self.stage = first_stage(detailed, (self.T, self.p, self.Y), self.half, delay)
        self.dt = delay / STEPS
        self.delay, self.first = self._times(detailed, 3 * STEPS)
        words = [named(gases[i]) for i in kept]
        two = np.flatnonzero(np.isfinite(self.first))
        self.cases = [*words, *(f"{words[i]}, first stage" for i in two)]

    def _times(self, solver: Stepper, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Delays and times of the first stage."""
        first = np.full(len(self.T), np.nan)
        delay = time_to(solver, (self.T, self.p, self.Y), self.half, self.dt, most)
        two = np.flatnonzero(np.isfinite(self.stage))
        if len(two):
            begin = self.T[two], self.p[two], self.Y[two]
            first[two] = time_to(solver, begin, self.stage[two], self.dt[two], most)
        return delay, first

    def errors(self, skeleton: Skeleton) -> np.ndarray:
        """Relative errors (n,) of the delays, then of the first stages; infinite where a mixture
        ignites after more than `LATEST` delays of the detailed mechanism, or not at all."""
        delay, first = self._times(self.chemistry(skeleton.multipliers), round(LATEST * STEPS))
        two = np.isfinite(self.first)
        return np.concatenate([delay / self.delay, first[two] / self.first[two]]) - 1.0


def time_to(
    solver: Stepper,
    begin: tuple[np.ndarray, np.ndarray, np.ndarray],
    wanted: np.ndarray,
    dt: np.ndarray,
    most: int,
) -> np.ndarray:
    """The times (n,) [s] at which T reaches `wanted` (n,) [K], marched from the states T (n,), p
    (n,), Y (n, n_species) in at most `most` steps dt (n,) [s], and by secants inside the step that
    passes it; infinite where it is not reached, or a state cannot be advanced."""
    T, p, Y = begin
    live, found = np.arange(len(T)), np.full(len(T), np.inf)
    for step in range(most):
        after = solver.attempt(T, p, Y, dt[live], TOLERANCE)
        hit = after.T > wanted[live]
        if hit.any():
            rows = live[hit]
            inside = _inside(
                solver, (T[hit], p[hit], Y[hit]), wanted[rows], (dt[rows], after.T[hit])
            )
            found[rows] = step * dt[rows] + inside
        going = ~hit & np.isfinite(after.error)
        live, T, p, Y = live[going], after.T[going], p[going], after.Y[going]
        if not len(live):
            break
    return found


def _inside(
    solver: Stepper,
    begin: tuple[np.ndarray, np.ndarray, np.ndarray],
    wanted: np.ndarray,
    end: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """The times (n,) [s] after which states pass a temperature within a step, by secants that stay
    in their bracket; end: dt [s] and T [K] at the end of the step."""
    (T, p, Y), (high, T_high) = begin, end
    low, T_low = np.zeros(len(T)), T
    for _ in range(SECANTS):
        share = np.clip((wanted - T_low) / (T_high - T_low), 0.05, 0.95)
        middle = low + share * (high - low)
        there = solver.attempt(T, p, Y, middle, TOLERANCE).T
        above = there > wanted
        high, T_high = np.where(above, middle, high), np.where(above, there, T_high)
        low, T_low = np.where(above, low, middle), np.where(above, T_low, there)
    return low + (wanted - T_low) / (T_high - T_low) * (high - low)


def first_stage(
    solver: Stepper,
    begin: tuple[np.ndarray, np.ndarray, np.ndarray],
    half: np.ndarray,
    delay: np.ndarray,
) -> np.ndarray:
    """The T (n,) [K] of a first stage: where dT/dt is largest before a lull, in which it is below
    `LULL` of that; NaN where T rises by less than `STAGE` before it, or there is no lull."""
    T, p, Y = begin
    dt, found = delay / SAMPLES, np.full(len(T), np.nan)
    marched, state = [T], (T, Y)
    for _ in range(SAMPLES):
        after = solver.attempt(state[0], p, state[1], dt, TOLERANCE)
        state = after.T, after.Y
        marched.append(after.T)
    rows = np.array(marched)
    for i in range(len(T)):
        path = rows[: int((rows[:, i] < half[i]).sum()) + 1, i]
        rise = np.diff(path)
        lull = (rise < LULL * np.maximum.accumulate(rise)) & (path[:-1] > T[i] + STAGE)
        if lull[:-1].any():
            k = int(np.argmax(rise[: int(np.argmax(lull))]))
            found[i] = 0.5 * (path[k] + path[k + 1])
    return found

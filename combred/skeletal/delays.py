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
from combred.native.solver.library import Integrator
from combred.skeletal.cases import Gas, Ranges, named, states
from combred.skeletal.skeleton import Skeleton

TOLERANCE = 1e-3  # of the solver, whose delays are then within .02 %
LATEST = 1.75  # delays of the detailed mechanism: one that has not ignited then has failed
LONGEST = np.geomspace(1e-5, 10.0, 7)  # s: where a delay is looked for, one after another
SAMPLES = 60  # steps of a delay in which stages are looked for
STAGE, LULL = 20.0, 0.3  # K, of a first stage; dT/dt after it, a share of that in it


class Delays:
    """Of ignitions of a mechanism. chemistry: the solver for multipliers (n_reactions,) of its rate
    constants. Cases that do not ignite within the last of `LONGEST` are left out. cases: of each
    error, in words; delay (n_cases,), first (n_two,) [s]: of the detailed mechanism, of all cases,
    and of those that ignite in two stages."""

    name = "ignition delay"

    def __init__(
        self,
        mechanism: Mechanism,
        chemistry: Callable[[np.ndarray], Integrator],
        n_reactions: int,
        gases: list[Gas],
        of: Ranges,
    ):
        self.chemistry = chemistry
        detailed = chemistry(np.ones(n_reactions))
        T, p, Y = states(mechanism, of, gases)
        burnt, _ = equilibrium(mechanism.solution(transport=False), T, p, Y)
        half, delay = 0.5 * (T + burnt), np.full(len(T), np.inf)
        for longest in LONGEST:
            late = np.flatnonzero(~np.isfinite(delay) & np.isfinite(half))
            begin = T[late], p[late], Y[late]
            delay[late] = detailed.time_to(*begin, half[late], longest, TOLERANCE)
        kept = np.flatnonzero(np.isfinite(delay))
        self.T, self.p, self.Y, self.half, self.delay = (x[kept] for x in (T, p, Y, half, delay))
        self.stage = first_stage(detailed, (self.T, self.p, self.Y), self.half, self.delay)
        self.two = np.flatnonzero(np.isfinite(self.stage))
        self.delay, self.first = self._times(detailed)
        words = [named(gases[i]) for i in kept]
        self.cases = [*words, *(f"{words[i]}, first stage" for i in self.two)]

    def _times(self, solver: Integrator) -> tuple[np.ndarray, np.ndarray]:
        """Delays (n_cases,) and times of the first stages of those cases that have one."""
        T, p, Y, two, longest = self.T, self.p, self.Y, self.two, LATEST * self.delay
        delay = solver.time_to(T, p, Y, self.half, longest, TOLERANCE)
        if not len(two):
            return delay, np.empty(0)
        begin = T[two], p[two], Y[two]
        return delay, solver.time_to(*begin, self.stage[two], longest[two], TOLERANCE)

    def errors(self, skeleton: Skeleton) -> np.ndarray:
        """Relative errors (n,) of the delays, then of the first stages; infinite where a mixture
        ignites after more than `LATEST` delays of the detailed mechanism, or not at all."""
        delay, first = self._times(self.chemistry(skeleton.multipliers))
        return np.concatenate([delay / self.delay, first / self.first]) - 1.0


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

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
from combred.experiments.ignition.criteria import first_stage, times_to
from combred.native.solver.library import Integrator
from combred.skeletal.cases import Gas, Ranges, named, states
from combred.skeletal.skeleton import Skeleton

TOLERANCE = 1e-3  # of the solver, whose delays are then within .02 %
LATEST = 1.75  # delays of the detailed mechanism: one that has not ignited then has failed


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
        half = 0.5 * (T + burnt)
        delay = times_to(detailed, (T, p, Y), half, tolerance=TOLERANCE)
        kept = np.flatnonzero(np.isfinite(delay))
        self.T, self.p, self.Y, self.half, self.delay = (x[kept] for x in (T, p, Y, half, delay))
        self.stage = first_stage(
            detailed, (self.T, self.p, self.Y), self.half, self.delay, TOLERANCE
        )
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

"""Ignition delays as a judge of skeletons.

Takes a mechanism, its solver with rate multipliers, and cases; gives the relative errors of the
delays of a skeleton. A delay is the time at half the rise of T to its equilibrium; where the
detailed mechanism ignites in two stages, the time of the first stage is judged, too: that at which
its T is where T rises fastest before the second.
"""

from typing import cast

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.experiments.ignition.criteria import LONGEST, MARGIN, times_to
from combred.experiments.ignition.criteria import TOLERANCE as PATHS
from combred.experiments.ignition.maxima import first_stage
from combred.experiments.ignition.path import Ignition
from combred.experiments.ignition.rise import equilibrium_T, half_way, or_largest_T
from combred.native.solver.library import Integrator
from combred.skeletal.cases import Gas, Ranges, named, states
from combred.skeletal.compiled import TOLERANCE, Chemistry
from combred.skeletal.large import Detailed, Solver
from combred.skeletal.skeleton import Skeleton

LATEST = 1.75  # delays of the detailed mechanism: one that has not ignited then has failed


def detailed_delays(
    mechanism: Mechanism, detailed: Solver, gases: list[Gas], of: Ranges
) -> list[np.ndarray]:
    """Of each case (n,): T [K] at half its rise, the delay [s], T [K] of a first stage, and its
    time [s]; infinite delays of cases that do not ignite, NaN without a first stage."""
    begin = T, p, Y = states(mechanism, of, gases)
    burnt = equilibrium_T(detailed, *begin)
    hottest = or_largest_T(detailed, begin, burnt, LONGEST, TOLERANCE)
    half = half_way(T, hottest)
    delay = times_to(cast(Integrator, detailed), begin, half, tolerance=TOLERANCE)
    stage, first = np.full((2, len(T)), np.nan)
    ignites = np.flatnonzero(np.isfinite(delay))
    if len(ignites):
        rows = np.column_stack(begin)[ignites]
        rise = (hottest - T)[ignites]
        if isinstance(detailed, Detailed):
            stage[ignites] = detailed.first_stages(rows, rise, MARGIN * delay[ignites])
        else:
            how = detailed, PATHS, rows, delay[ignites], rise, LONGEST
            stage[ignites] = first_stage(Ignition(*how))[1]
    two = np.flatnonzero(np.isfinite(stage))
    if len(two):
        longest = LATEST * delay[two]
        first[two] = detailed.time_to(T[two], p[two], Y[two], stage[two], longest, TOLERANCE)
    return [half, delay, stage, first]


class Delays:
    """Of ignitions of a mechanism; known: their `detailed_delays`. Cases that do not ignite are
    left out. cases: of each error, in words; values (n_errors,) [s]: delays of the detailed
    mechanism, then times of its first stages."""

    name = "ignition delay"

    def __init__(
        self,
        mechanism: Mechanism,
        chemistry: Chemistry,
        gases: list[Gas],
        of: Ranges,
        known: list[np.ndarray],
    ):
        self.chemistry = chemistry
        half, delay, stage, first = known
        ignites, two = (np.flatnonzero(np.isfinite(times)) for times in (delay, first))
        rows = np.concatenate([ignites, two])
        self.T, self.p, Y = (x[rows] for x in states(mechanism, of, gases))
        self.Y = Y[:, chemistry.columns]
        self.until = np.concatenate([half[ignites], stage[two]])
        self.values, self.longest = (
            np.concatenate([delay[ignites], first[two]]),
            LATEST * delay[rows],
        )
        self.cases = [named(gases[i]) for i in ignites]
        self.cases += [f"{named(gases[i])}, first stage" for i in two]

    def errors(self, skeleton: Skeleton) -> np.ndarray:
        """Relative errors (n,) of the delays, then of the first stages; infinite where a mixture
        ignites after more than `LATEST` delays of the detailed mechanism, or not at all."""
        solver, begin = self.chemistry(skeleton), (self.T, self.p, self.Y)
        return solver.time_to(*begin, self.until, self.longest, TOLERANCE) / self.values - 1.0

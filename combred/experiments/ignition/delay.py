"""The ignition delay of a rollout: the time at which T has reached half of its rise.

A rollout may take a dozen steps to ignite, and its T then jumps from step to step by hundreds of
kelvin. Interpolation between the steps makes an error of .2 % one of .03 to 1 %. So CVODE continues
the rollout from the last state before half the rise. `IgnitionDelays` are ignitions that are
compared by their delay alone, for which no state has to be stored.
"""

import contextlib
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import FIRST, IntegrationError, Reactor
from combred.chemistry.stepper import Advance
from combred.experiments.experiment import ALONE, Experiment, OnProgress, silent
from combred.experiments.ignition.rise import half_to_equilibrium
from combred.experiments.ignition.rollout import Rollout, advance_until, mixtures
from combred.processes.workers import Processes

RTOL, ATOL = 1e-8, 1e-16  # of CVODE, of a rollout
STRICT = 1e-9, 1e-18  # of delays alone


def ignition_delay(mechanism: Mechanism, rollout: Rollout, burnt_T: float) -> float:
    """The delay [s] of a rollout: T is then the mean of its initial value and of burnt_T [K].

    NaN where T does not get there. The end of the rollout's own step where CVODE gets there later,
    or not at all: a rollout may jump from cold gas to burnt gas.
    """
    half = 0.5 * (rollout.T[0] + burnt_T)
    above = np.flatnonzero(rollout.T > half)
    if len(above) == 0 or above[0] == 0:
        return float("nan")
    last = int(above[0]) - 1
    begin, end = float(rollout.t[last]), float(rollout.t[last + 1])
    reactor = Reactor(mechanism, RTOL, ATOL)
    try:
        now = rollout.T[last], rollout.case.p, rollout.Y[last]
        return begin + time_to(reactor, *now, half, end - begin)
    except IntegrationError:
        return end


def time_to(
    reactor: Reactor, T: float, p: float, Y: np.ndarray, wanted: float, longest: float
) -> float:
    """The time [s] after which CVODE's T exceeds `wanted` [K], from the state T [K], p [Pa], Y
    (n_species,); `longest` where it takes longer. Between CVODE's steps by a parabola t(T) through
    three of them, where T rises. Raises IntegrationError where CVODE fails."""
    reactor.start(T, p, Y)
    steps = [(0.0, T), (FIRST, reactor.advance(FIRST)[0])]
    while steps[-1][1] <= wanted:
        if steps[-1][0] > longest:
            return longest
        steps.append(reactor.step())
    t, rising = np.array(steps[-3:]).T
    if len(t) == 3 and np.all(np.diff(rising) > 0):
        found = float(np.polyval(np.polyfit(rising - wanted, t, 2), 0.0))
        if t[-2] <= found <= t[-1]:
            return min(found, longest)
    return min(float(np.interp(wanted, rising[-2:], t[-2:])), longest)


# -- delays alone ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class IgnitionDelays(Experiment[float]):
    """Delays [s] of the `Case`s, at half the rise of T to equilibrium, in at most `longest` steps
    dt [s]; one that is longer or cannot be computed is NaN for CVODE, infinite for another
    `Advance`."""

    dt: float
    longest: int

    name: ClassVar = "ignition delays"
    kind: ClassVar = float

    @cached_property
    def beginnings(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The beginnings of n cases: T (n,) [K], p (n,) [Pa], Y (n, n_species); and (n,) [K], half
        of the rise to equilibrium, as `half_to_equilibrium`."""
        T, p = np.array([case.T0 for case in self.cases]), np.array([c.p for c in self.cases])
        Y = mixtures(self.mechanism, self.cases, self.mixture.fuel, self.mixture.oxidizer)
        return T, p, Y, half_to_equilibrium(self.mechanism, T, p, Y)

    def reference(self, processes: Processes = ALONE) -> list[float]:
        """CVODE's delays [s], computed in this process."""
        reactor, exact = Reactor(self.mechanism, *STRICT), [np.nan] * len(self.cases)
        for i, (T, p, Y, half) in enumerate(zip(*self.beginnings, strict=True)):
            with contextlib.suppress(IntegrationError):
                exact[i] = time_to(reactor, T, p, Y, half, self.longest * self.dt)
            processes.on_progress(i + 1, len(self.cases))
        return exact

    def follow(
        self, advance: Advance, references: list[float], on_progress: OnProgress = silent
    ) -> list[float]:
        """The delays [s] of `advance`; infinite, too, where the reference is NaN."""
        T, p, Y, half = self.beginnings
        reactor, delays = Reactor(self.mechanism, *STRICT), np.full(len(T), np.inf)

        def visit(step: int, live: np.ndarray, before: tuple, now: tuple) -> np.ndarray:
            passed = now[0] > half[live]
            for row in np.flatnonzero(passed):
                i, rest = live[row], self.dt
                with contextlib.suppress(IntegrationError):
                    state = before[0][row], p[i], before[1][row]
                    rest = time_to(reactor, *state, half[i], self.dt)
                delays[i] = (step - 1) * self.dt + rest
            on_progress(step, self.longest)
            return ~passed & np.isfinite(now[0]) & (step < self.longest)

        advance_until(advance, self.dt, (T, p, Y), np.flatnonzero(np.isfinite(references)), visit)
        return delays.tolist()

    def compare(self, found: list[float], references: list[float]) -> list[float]:
        """The relative error of each delay, with its sign."""
        return [delay / reference - 1.0 for delay, reference in zip(found, references, strict=True)]

"""Ignitions, compared by their delay alone, which no state has to be stored for.

The delay is the time at half the rise of T to its equilibrium. The reference is one integration by
CVODE. An `Advance` marches in steps of dt, as in a flow code, and CVODE continues the last state
before half the rise (`combred.experiments.ignition.delay`).
"""

import contextlib
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from combred.chemistry.equilibrium import equilibrium
from combred.chemistry.reactor import Advance, IntegrationError, Reactor
from combred.experiments.experiment import ALONE, Experiment, OnProgress, silent
from combred.experiments.ignition.delay import time_to
from combred.experiments.ignition.rollout import advance_until, mixtures
from combred.processes.workers import Processes

RTOL, ATOL = 1e-9, 1e-18  # of CVODE


class Beginnings(NamedTuple):
    """The beginnings of n ignitions: T (n,) [K], p (n,) [Pa], Y (n, n_species); half (n,) [K]: the
    mean of T and of that at equilibrium, NaN where Cantera finds none."""

    T: np.ndarray
    p: np.ndarray
    Y: np.ndarray
    half: np.ndarray


@dataclass(frozen=True)
class IgnitionDelays(Experiment[float]):
    """Delays [s] of the `Case`s, in at most `longest` steps dt [s]; a delay that is longer or that
    cannot be computed is NaN for CVODE, infinite for another `Advance`."""

    dt: float
    longest: int

    name: ClassVar = "ignition delays"
    kind: ClassVar = float

    @cached_property
    def beginnings(self) -> Beginnings:
        """The beginnings of the cases."""
        T, p = np.array([case.T0 for case in self.cases]), np.array([c.p for c in self.cases])
        Y = mixtures(self.mechanism, self.cases, self.mixture.fuel, self.mixture.oxidizer)
        burnt, _ = equilibrium(self.mechanism.solution(transport=False), T, p, Y)
        return Beginnings(T, p, Y, 0.5 * (T + burnt))

    def reference(self, processes: Processes = ALONE) -> list[float]:
        """CVODE's delays [s], computed in this process."""
        reactor, exact = Reactor(self.mechanism, RTOL, ATOL), [np.nan] * len(self.cases)
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
        reactor, delays = Reactor(self.mechanism, RTOL, ATOL), np.full(len(T), np.inf)

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

"""Stirred reactors, one for each pressure, compared by their means in time.

Takes cases and an `Advance`; gives a `StirredRun` of each case
(`combred.experiments.stirred.reactor`), and errors for validation.json
(`combred.experiments.stirred.errors`). Fuel and oxidizer flow in cold and separate, beside burnt
gas: the chemistry sees what premixed ignitions and flames do not have, mixtures of fuel, air and
burnt gas.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import Advance
from combred.config import ValidationSettings
from combred.experiments.experiment import ALONE, Experiment, OnProgress, State, silent
from combred.experiments.stirred.errors import compare_all
from combred.experiments.stirred.particles import piloted_streams
from combred.experiments.stirred.reactor import FINISHED, StirredCase, StirredRun, stir
from combred.native.solver.library import PRECISE, Solver
from combred.processes.workers import Processes

# Mixing is fast enough for methane in air to burn at 1 and 20 atm, and slow enough that T and CO do
# not become steady.
CASE = StirredCase(residence=2e-3, mixing=1e-4, pairing=1e-4, dt=1e-5, steps=160, particles=40)


def cases(pressures: list[float]) -> list[StirredCase]:
    """`CASE` at each of the pressures [Pa]."""
    return [replace(CASE, p=p) for p in pressures]


@dataclass(frozen=True)
class StirredReactors(Experiment[StirredRun]):
    """The `StirredCase`s, with `piloted_streams` of the mixture."""

    name: ClassVar = "stirred reactors"
    kind: ClassVar = StirredRun

    @classmethod
    def of(cls, mechanism: Mechanism, mixture: Mixture, settings: ValidationSettings) -> Self:
        """`CASE` at the pressures of `settings`."""
        return cls(mechanism, mixture, cases(settings.p))

    def stir(self, advance: Advance, on_progress: OnProgress = silent) -> list[StirredRun]:
        """The runs of `advance`, one after the other; on_progress(steps done, steps of all)."""
        runs, done, steps = [], 0, sum(case.steps for case in self.cases)
        for case in self.cases:
            streams = piloted_streams(self.mechanism, self.mixture, p=case.p)

            def update(step: int, _: int, before: int = done) -> None:
                on_progress(before + step, steps)

            runs.append(stir(self.mechanism, advance, streams, case, on_progress=update))
            done += case.steps
        return runs

    def reference(self, processes: Processes = ALONE) -> list[StirredRun]:
        """The solver's runs, at the tolerance `PRECISE`, in this process. Raises ValueError where
        the solver fails."""
        runs = self.stir(Solver(self.mechanism, PRECISE), processes.on_progress)
        for run in runs:
            if run.outcome != FINISHED:
                raise ValueError(
                    f"the solver failed in the stirred reactor of {self.mixture.fuel} and "
                    f"{self.mixture.oxidizer} at {run.case}, so that there is no reference: "
                    "choose another pressure"
                )
        return runs

    def follow(
        self, advance: Advance, references: list[StirredRun], on_progress: OnProgress = silent
    ) -> list[StirredRun]:
        """The runs of `advance`, from the same particles and with the same random events."""
        return self.stir(advance, on_progress)

    def compare(self, found: list[StirredRun], references: list[StirredRun]) -> list[dict]:
        """As `combred.experiments.stirred.errors.compare_all`."""
        return compare_all(self.mechanism, found, references, self.mixture)

    def end(self, run: StirredRun) -> State:
        """The particles at the end of a run, and its time step."""
        return run.particles_T, run.case.p, run.particles_Y, run.case.dt

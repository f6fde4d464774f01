"""Stirred reactors, one for each pressure, compared by their means in time.

Takes cases and an `Advance`; gives a `StirredRun` of each case
(`combred.experiments.stirred.reactor`), and errors for validation.json. Fuel and oxidizer flow in
cold and separate, beside burnt gas: the chemistry sees what premixed ignitions and flames do not
have, mixtures of fuel, air and burnt gas.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.states import Real, Rows
from combred.chemistry.stepper import Advance
from combred.config.fields import require
from combred.experiments.cells import WENT_OUT
from combred.experiments.experiment import ALONE, Experiment, OnProgress, State, silent
from combred.experiments.stirred.particles import piloted_streams
from combred.experiments.stirred.reactor import FINISHED, StirredCase, StirredRun, stir
from combred.native.solver.library import PRECISE, Solver
from combred.processes.workers import Processes

# Mixing is fast enough for methane in air to burn at 1 and 20 atm, and slow enough that T and CO do
# not become steady.
CASE = StirredCase(residence=2e-3, mixing=1e-4, pairing=1e-4, dt=1e-5, steps=160, particles=40)
FLOOR = 0.01  # of the largest value of the reference: smaller values are not compared relatively


def cases(pressures: list[float]) -> list[StirredCase]:
    """`CASE` at each of the pressures [Pa]."""
    return [replace(CASE, p=p) for p in pressures]


@dataclass(frozen=True)
class StirredReactors(Experiment[StirredRun]):
    """The `StirredCase`s, with `piloted_streams` of the mixture."""

    name: ClassVar = "stirred reactors"
    kind: ClassVar = StirredRun

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
        """The errors of each case, a row each: its pressure ("case" in words, "p" [Pa]), its
        outcome, and "errors", the `differences` of the mean T and the mean mass fraction of
        `intermediate`. A run has gone out (`WENT_OUT`) where its last mean T is nearer to that of
        the same reactor without reactions than to that of the reference."""
        species = intermediate(self.mechanism, references, self.mixture)
        inert = self.stir(_Inert())
        return [
            {
                "case": str(reference.case),
                "p": reference.case.p,
                "outcome": outcome_of(run, reference, without),
                "errors": differences(self.mechanism, run, reference, species),
            }
            for run, reference, without in zip(found, references, inert, strict=True)
        ]

    def end(self, run: StirredRun) -> State:
        """The particles at the end of a run, and its time step."""
        return run.particles_T, run.case.p, run.particles_Y, run.case.dt


class _Inert:
    """An `Advance` without reactions."""

    def advance(self, T: Rows, p: Real, Y: Rows, dt: Real) -> tuple[Rows, Rows]:
        return T, Y


def outcome_of(run: StirredRun, reference: StirredRun, inert: StirredRun) -> str:
    """The outcome of a run, `WENT_OUT` as of `StirredReactors.compare`; inert: the same reactor
    without reactions."""
    T, burning, cold = (float(one.T[-1]) for one in (run, reference, inert))
    out = run.outcome == FINISHED and abs(T - cold) < abs(T - burning)
    return WENT_OUT if out else run.outcome


# -- errors ----------------------------------------------------------------------------------------


def differences(
    mechanism: Mechanism, run: StirredRun, reference: StirredRun, species: tuple[str, ...]
) -> dict[str, dict[str, float]]:
    """The differences of the mean T and of the mean mass fractions of `species` in time: for "T"
    and each species the largest and the mean relative difference, and the time [s] of the largest.

    Relative to the value of `reference` at the same time, or to `FLOOR` of its largest value where
    that is more. A run that became not finite has infinite differences. Raises ValueError where the
    runs are not of the same case.
    """
    require(run.case == reference.case, f"{run.case!r} and {reference.case!r} cannot be compared")
    found = {}
    for name in ("T", *species):
        column = None if name == "T" else mechanism.index(name)
        value, true = (r.T if column is None else r.Y[:, column] for r in (run, reference))
        off = np.abs(value - true) / np.maximum(true, FLOOR * np.nanmax(true))
        off = np.where(np.isfinite(off), off, np.inf)
        found[name] = {
            "largest": float(off.max()),
            "mean": float(off.mean()),
            "at": float(reference.t[off.argmax()]),
        }
    return found


def intermediate(
    mechanism: Mechanism, references: list[StirredRun], mixture: Mixture
) -> tuple[str, ...]:
    """The species, not of fuel and oxidizer, whose mean exceeds that of the
    burnt gas by most moles, as CO for methane; () where there is none."""
    excess = np.mean([run.Y.max(axis=0) - run.Y[0] for run in references], axis=0)
    gas = mechanism.solution(transport=False)
    for composition in (mixture.fuel, mixture.oxidizer):
        gas.X = composition
        excess[gas.X > 0.0] = 0.0
    most = int(np.argmax(excess / mechanism.molecular_weights))
    return (mechanism.species_names[most],) if excess[most] > 0.0 else ()

"""The stirred reactors of a validation: one for each pressure, and their errors against the
generated solver in doubles.

Takes pressures, a mixture and an `Advance`; gives a `StirredRun` for each case, and plain numbers
for validation.json. Fuel and oxidizer flow in cold and separate, beside burnt gas: the chemistry
sees what premixed ignitions and flames do not have, mixtures of fuel, air and burnt gas.
"""

from collections.abc import Callable
from dataclasses import replace

import cantera as ct
import numpy as np

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.stepper import Advance
from combred.config import ValidationSettings
from combred.experiments.stirred.errors import compare
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


def follow(
    mechanism: Mechanism,
    solver: Advance,
    mixture: Mixture,
    todo: list[StirredCase],
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> list[StirredRun]:
    """The runs of the cases `todo` with `solver`, one after the other, with `piloted_streams` of
    the mixture. on_progress(steps done, steps of all cases)."""
    runs, done, steps = [], 0, sum(case.steps for case in todo)
    for case in todo:
        streams = piloted_streams(mechanism, mixture, p=case.p)

        def update(step: int, _: int, before: int = done) -> None:
            on_progress(before + step, steps)

        runs.append(stir(mechanism, solver, streams, case, on_progress=update))
        done += case.steps
    return runs


def reference(
    mechanism: Mechanism,
    settings: ValidationSettings,
    mixture: Mixture,
    processes: Processes,
    todo: list[StirredCase] | None = None,
) -> list[StirredRun]:
    """The solver's runs, at the tolerance `PRECISE`, of the cases `todo` (default: those of
    `settings`), in this process. Raises ValueError where the solver fails."""
    todo = cases(settings.p) if todo is None else todo
    runs = follow(mechanism, Solver(mechanism, PRECISE), mixture, todo, processes.on_progress)
    for run in runs:
        if run.outcome != FINISHED:
            raise ValueError(
                f"the solver failed in the stirred reactor of {mixture.fuel} and "
                f"{mixture.oxidizer} at {pressure(run.case)}, so that there is no reference: "
                "choose another pressure"
            )
    return runs


def pressure(case: StirredCase) -> str:
    """The pressure of a case in words."""
    return f"{case.p / ct.one_atm:g} atm"


def compare_all(
    mechanism: Mechanism,
    runs: list[StirredRun],
    references: list[StirredRun],
    mixture: Mixture,
) -> list[dict]:
    """The errors of `runs` against the `references`, a row for each case: its pressure ("case"
    in words, "p" [Pa]), its outcome, and "errors", the result of `errors.compare` for the
    mean T and the mean mass fraction of `intermediate`."""
    species = intermediate(mechanism, references, mixture)
    return [
        {
            "case": pressure(reference.case),
            "p": reference.case.p,
            "outcome": run.outcome,
            "errors": compare(mechanism, run, reference, species),
        }
        for run, reference in zip(runs, references, strict=True)
    ]


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

"""The step `validate`: ignitions of every stage, and of the generated solver at the tolerance of
surrogates, against CVODE; their flames and stirred reactors against the solver in doubles; this
against CVODE; and the time per state.

Takes `Data` and the surrogates of all stages; writes validation.h5, flames.h5, stirred.h5 and
validation.json, and hands on the numbers.
"""

import numpy as np

from combred.chemistry.agreement import largest_difference, spread
from combred.experiments.ignition import errors as ignition_errors
from combred.experiments.premixed import errors as flame_errors
from combred.experiments.premixed.flame import Flame
from combred.experiments.stirred import cases as stirred_cases
from combred.experiments.stirred.reactor import StirredRun
from combred.files.records import digest, read_record, write_record
from combred.native.solver.library import PRECISE, Solver
from combred.pipeline import artefacts
from combred.pipeline.console import console, progress
from combred.pipeline.run import Run
from combred.pipeline.steps.cases import FLAMES, IGNITIONS, STIRRED, answers, holds
from combred.pipeline.steps.sample import Data
from combred.pipeline.tables import print_validation
from combred.surrogate.surrogate import Surrogate
from combred.validation import timing

TIMED = 4096  # states that times are measured on
SOLVER = "solver"  # its name in validation.json, and of its group in the other files


def validate(run: Run, data: Data, surrogates: list[Surrogate]) -> dict:
    """The errors of every stage and of the solver in ignitions, flames and stirred reactors, and
    their times."""
    networks = digests(run)
    behind = f"tolerance {Surrogate.TOLERANCE:g}"
    of = {SOLVER: behind, **networks}
    rollouts, flames = artefacts.ignitions(run), artefacts.flames(run)
    stirred = artefacts.stirred(run)
    others = {"flame_inputs": flames.inputs, "stirred_inputs": stirred.inputs}
    numbers = read_record(run.path("validation.json"))
    known = numbers.get("inputs") == rollouts.inputs and numbers.get("networks") == networks
    same = known and numbers.get("solver_inputs") == behind
    same = same and all(numbers.get(key, {}) == inputs for key, inputs in others.items())
    files = {IGNITIONS: rollouts, FLAMES: flames, STIRRED: stirred}
    if same and all(holds(run, kind, file, of) for kind, file in files.items()):
        console.print("validation: reused")
        print_validation(numbers)
        return numbers
    names: dict[str, Surrogate | Solver] = {SOLVER: Solver(run.mechanism, Surrogate.TOLERANCE)}
    names |= {f"stage{i}": surrogate for i, surrogate in enumerate(surrogates)}
    groups = answers(run, IGNITIONS, rollouts, names, of)
    burnt = answers(run, FLAMES, flames, names, of) if flames.inputs else {}
    mixed = answers(run, STIRRED, stirred, names, of) if stirred.inputs else {}
    results = {
        name: ignition_errors.compare(run.mechanism, groups[name], groups["reference"])
        for name in names
    }
    for name, result in results.items():
        if burnt:
            result["flame"] = flame_errors.compare(run.mechanism, burnt[name], burnt["reference"])
        if mixed:
            result["stirred"] = stirred_cases.compare_all(
                run.mechanism, mixed[name], mixed["reference"], run.mixture
            )
    for i, surrogate in enumerate(surrogates):
        network = surrogate.network
        results[f"stage{i}"] |= {"weights": network.n_weights, "widths": network.widths}
    numbers = {
        "inputs": rollouts.inputs,
        **others,
        "reference_difference": reference_difference(
            run, burnt.get("reference", []), mixed.get("reference", [])
        ),
        "networks": networks,
        "solver_inputs": behind,
        SOLVER: results.pop(SOLVER),
        "stages": results,
        "timing": numbers["timing"] if known else measure_times(run, data, surrogates),
    }
    write_record(run.path("validation.json"), numbers)
    print_validation(numbers)
    return numbers


def reference_difference(run: Run, flames: list[Flame], stirred: list[StirredRun]) -> dict:
    """By kind of reference, the largest difference of the solver from CVODE in one more step of
    256 cells or particles of the last states (`combred.chemistry.agreement`). Raises ValueError
    where it is too large."""
    ends = {
        "flames": [(f.T, f.case.p, f.Y, run.settings.validation.dt) for f in flames],
        "stirred": [(r.particles_T, r.case.p, r.particles_Y, r.case.dt) for r in stirred],
    }
    solver, found = Solver(run.mechanism, PRECISE), {}
    for kind, states in ends.items():
        if states:
            gas = [np.column_stack(np.broadcast_arrays(T, p, dt)) for T, p, _, dt in states]
            T, p, dt = spread(np.concatenate(gas)).T
            Y = spread(np.concatenate([Y for _, _, Y, _ in states]).clip(min=0.0))
            after = solver.advance(T, p, Y, dt)
            found[kind], _ = largest_difference(run.mechanism, (T, p, Y), dt, after)
    return found


def digests(run: Run) -> dict[str, str]:
    """The digest of the network of every stage, by name."""
    stages = range(run.settings.stage + 1)
    return {f"stage{stage}": digest(run.weights(stage)) for stage in stages}


def load_validation(run: Run) -> dict:
    """The numbers of validation.json. Raises FileNotFoundError where they are of other networks."""
    numbers = read_record(run.path("validation.json"))
    if numbers.get("networks") != digests(run):
        stage = run.settings.stage
        raise FileNotFoundError(
            f"stage {stage} has not been validated: run `python -m combred.pipeline "
            f"stage={stage} only=validate`; a network is exported with its measured accuracy"
        )
    return numbers


def measure_times(run: Run, data: Data, surrogates: list[Surrogate]) -> dict:
    """Time per state of CVODE and of every stage, on unperturbed states of states.h5."""
    states = data.table.draw(data.table.usual, TIMED, run.settings.seed).state()
    with progress("time per state") as bar:
        return timing.compare_times(
            run.mechanism,
            dict(enumerate(surrogates)),
            states,
            run.settings.validation.dt,
            on_progress=bar,
        )

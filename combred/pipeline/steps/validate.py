"""The step `validate`: ignitions of every stage, by its network alone and with the solver behind
it, and of the generated solver at the tolerance of surrogates, against CVODE; their flames and
stirred reactors against the solver in doubles; this against CVODE; and the time per state.

Takes `Data` and the surrogates of all stages; writes validation.h5, flames.h5, stirred.h5 and
validation.json, and hands on the numbers.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

from rich.markup import escape

from combred.chemistry.agreement import require_small
from combred.config.validation import ValidationSettings
from combred.experiments.accuracy import ALONE, BEHIND, NAMES, has_both
from combred.experiments.experiment import Experiment
from combred.experiments.ignition.experiment import Ignitions
from combred.experiments.premixed.experiment import PremixedFlames
from combred.experiments.premixed.flame import FlameMarch
from combred.experiments.stirred.experiment import StirredReactors, cases
from combred.experiments.storage import Answers
from combred.files.records import digest, read_record, write_record
from combred.native.solver.library import Solver
from combred.pipeline import artefacts
from combred.pipeline.ahead import compiling_ahead
from combred.pipeline.artefacts import Artefact
from combred.pipeline.console import console, progress
from combred.pipeline.resolved import of_settings
from combred.pipeline.run import Run
from combred.pipeline.steps.sample import Data
from combred.pipeline.tables import print_validation
from combred.surrogates import timing
from combred.surrogates.library.behind import with_solver
from combred.surrogates.library.choice import fastest
from combred.surrogates.model.surrogate import Surrogate

TIMED = 4096  # states that times are measured on
SOLVER = "solver"  # its name in validation.json, and of its group in the other files
USUAL_FLAMES = ValidationSettings().flame_phi  # a run goes on without them where they fail
# By the key of the errors of an experiment: the key of its inputs.
FIELDS = {"ignition": "inputs", "flame": "flame_inputs", "stirred": "stirred_inputs"}
SETTINGS: dict[type[Experiment], str] = {
    Ignitions: ", ".join(f"validation.{x}" for x in ("T0", "p", "phi", "dt", "burnt_time")),
    PremixedFlames: "validation.flame_phi ([]: no flames), .flame_T, .p",
    StirredReactors: "validation.p",
}


def validate(run: Run, data: Data, surrogates: list[Surrogate]) -> dict:
    """The errors of every stage, of its network alone and with the solver behind it, and of the
    solver in ignitions, flames and stirred reactors, and their times."""
    networks, behind = digests(run), f"tolerance {Surrogate.TOLERANCE:g}"
    of_networks = {group(name, key): of for name, of in networks.items() for key in NAMES}
    every = answers(run, {SOLVER: behind, **of_networks})
    inputs = {FIELDS[key]: every[key].inputs if key in every else {} for key in FIELDS}
    numbers = read_record(run.path("validation.json"))
    known = numbers.get("inputs") == inputs["inputs"] and numbers.get("networks") == networks
    timed = known and has_both(numbers)
    same = timed and numbers.get("solver_inputs") == behind
    same = same and all(numbers.get(key, {}) == value for key, value in inputs.items())
    if same and all(one.complete for one in every.values()):
        console.print("validation: reused")
        print_validation(numbers)
        return numbers
    solvers: dict[str, Callable[[], Any]] = {
        SOLVER: partial(Solver, run.mechanism, Surrogate.TOLERANCE)
    }
    for i, surrogate in enumerate(surrogates):
        solvers[group(f"stage{i}", ALONE)] = partial(fastest, surrogate, alone=True)
        solvers[group(f"stage{i}", BEHIND)] = cache(partial(with_solver, surrogate))
    with compiling_ahead(surrogates):
        for key, one in list(every.items()):
            try:
                refer(run, one)
            except ValueError as error:
                if key != "flame" or run.settings.validation.flame_phi != USUAL_FLAMES:
                    raise
                console.print(f"  [bold yellow]no flame is validated:[/] {escape(str(error))}")
                inputs[FIELDS[key]] = {}
                del every[key]
                continue
            one.ask(solvers, progress)
    stages: dict[str, dict] = {}
    for i, surrogate in enumerate(surrogates):
        network, name = surrogate.network, f"stage{i}"
        stages[name] = {"weights": network.n_weights, "widths": network.widths}
        stages[name] |= {key: errors(every, group(name, key)) for key in NAMES}
        both = solvers[group(name, BEHIND)]()
        given = every["ignition"].runs["reference"], stages[name][BEHIND]
        stages[name]["left_to_solver"] = timing.share_in_ignitions(both, *given)
    numbers = {
        **inputs,
        "reference_difference": reference_difference(every),
        "networks": networks,
        "solver_inputs": behind,
        SOLVER: errors(every, SOLVER),
        "stages": stages,
        "timing": numbers["timing"] if timed else measure_times(run, data, surrogates),
    }
    write_record(run.path("validation.json"), numbers)
    print_validation(numbers)
    return numbers


# -- experiments -----------------------------------------------------------------------------------


def answers(run: Run, solvers: dict[str, str]) -> dict[str, Answers]:
    """The experiments that are asked for, by the key of their errors, and what is known of their
    answers; solvers: what tells one from another, by name."""
    given = run.mechanism, run.mixture, run.settings.validation
    flames, march = PremixedFlames.of(*given), FlameMarch(cells=given[2].flame_cells)
    files: dict[str, tuple[Experiment, Artefact]] = {
        "ignition": (Ignitions.of(*given), artefacts.ignitions(run)),
        "flame": (replace(flames, march=march), artefacts.flames(run)),
        "stirred": (StirredReactors(*given[:2], cases(given[2].p)), artefacts.stirred(run)),
    }
    return {
        key: Answers(file.path, experiment, file.inputs, solvers)
        for key, (experiment, file) in files.items()
        if file.inputs
    }


def refer(run: Run, one: Answers) -> list:
    """The reference of an experiment. Raises ValueError, with its settings, where there is none."""
    with of_settings(SETTINGS[type(one.experiment)]):
        return one.refer(run.workers, progress)


def errors(every: dict[str, Answers], name: str) -> dict:
    """The errors of a solver: in ignitions, and in the other experiments by their key."""
    found = {key: one.compare(name) for key, one in every.items()}
    return found.pop("ignition") | found


def reference_difference(every: dict[str, Answers]) -> dict[str, float]:
    """By file of references of the solver, their largest difference from CVODE. Raises ValueError
    where it is too large."""
    found = {}
    for key, one in every.items():
        if key != "ignition":
            off = one.experiment.differences_from_cvode(one.runs["reference"])
            found[one.path.stem], _ = require_small(one.experiment.mechanism, off)
    return found


# -- numbers ---------------------------------------------------------------------------------------


def group(stage: str, key: str) -> str:
    """The group of a network's answers in the files: "stage2", and `ALONE` or `BEHIND`."""
    return f"{stage}_{key}"


def digests(run: Run) -> dict[str, str]:
    """The digest of the network of every stage, by name."""
    stages = range(run.settings.stage + 1)
    return {f"stage{stage}": digest(run.weights(stage)) for stage in stages}


def load_validation(run: Run) -> dict:
    """The numbers of validation.json. Raises FileNotFoundError where they are of other networks."""
    numbers = read_record(run.path("validation.json"))
    if numbers.get("networks") != digests(run) or not has_both(numbers):
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

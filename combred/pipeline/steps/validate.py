"""The step `validate`: ignitions, flames and stirred reactors of every stage against CVODE, and the
time per state.

Takes `Data` and the surrogates of all stages; writes validation.h5, flames.h5, stirred.h5 and
validation.json, and hands on the numbers.
"""

from combred.pipeline import artefacts
from combred.pipeline.console import print_validation, progress, say
from combred.pipeline.run import Run
from combred.pipeline.steps.cases import FLAMES, IGNITIONS, STIRRED, answers, holds
from combred.pipeline.steps.sample import Data
from combred.records import digest, read_record, write_record
from combred.simulation import flame_errors, ignition_errors, stirred_cases
from combred.surrogate.surrogate import Surrogate
from combred.validation import timing

TIMED = 4096  # states that times are measured on


def validate(run: Run, data: Data, surrogates: list[Surrogate]) -> dict:
    """The errors of every stage in ignitions, flames and stirred reactors, and its times."""
    names = {f"stage{i}": surrogate for i, surrogate in enumerate(surrogates)}
    networks = digests(run)
    rollouts, flames = artefacts.ignitions(run), artefacts.flames(run)
    stirred = artefacts.stirred(run)
    others = {"flame_inputs": flames.inputs, "stirred_inputs": stirred.inputs}
    numbers = read_record(run.path("validation.json"))
    known = numbers.get("inputs") == rollouts.inputs and numbers.get("networks") == networks
    same = known and all(numbers.get(key, {}) == inputs for key, inputs in others.items())
    files = {IGNITIONS: rollouts, FLAMES: flames, STIRRED: stirred}
    if same and all(holds(run, kind, file, networks) for kind, file in files.items()):
        say(run, "validation: reused")
        print_validation(numbers)
        return numbers
    groups = answers(run, IGNITIONS, rollouts, names, networks)
    burnt = answers(run, FLAMES, flames, names, networks) if flames.inputs else {}
    mixed = answers(run, STIRRED, stirred, names, networks) if stirred.inputs else {}
    stages = {}
    for name, surrogate in names.items():
        stages[name] = ignition_errors.compare(run.mechanism, groups[name], groups["cvode"])
        stages[name]["weights"] = surrogate.network.n_weights
        stages[name]["widths"] = surrogate.network.widths
        if burnt:
            stages[name]["flame"] = flame_errors.compare(run.mechanism, burnt[name], burnt["cvode"])
        if mixed:
            found = stirred_cases.compare_all(run.mechanism, mixed[name], mixed["cvode"])
            stages[name]["stirred"] = found
    numbers = {
        "inputs": rollouts.inputs,
        **others,
        "networks": networks,
        "stages": stages,
        "timing": numbers["timing"] if known else measure_times(run, data, surrogates),
    }
    write_record(run.path("validation.json"), numbers)
    print_validation(numbers)
    return numbers


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
            run.settings.chemistry,
            states,
            run.settings.validation.dt,
            on_progress=bar,
        )

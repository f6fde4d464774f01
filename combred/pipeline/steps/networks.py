"""The networks of a run on disk: loaded, if they were made with the settings of now.

Each network's file says what it was made from; train.json and reduce.json hold the numbers of the
report.
"""

from combred.files.records import ANOTHER_RUN, digest, read_record, require_same, write_record
from combred.pipeline import artefacts
from combred.pipeline.run import Run
from combred.pipeline.start import starting_point
from combred.pipeline.steps.sample import load_data
from combred.surrogate.storage import load_surrogate, made_from
from combred.surrogate.surrogate import Surrogate


def load_surrogates(run: Run) -> list[Surrogate]:
    """The surrogates of stages 0, 1, ... up to the one asked for, from the run folder.

    Raises FileNotFoundError where one is missing, ValueError where it has other settings.
    """
    return [load_first(run), *(load_reduced(run, i) for i in range(1, run.settings.stage + 1))]


def load_reduced(run: Run, stage: int) -> Surrogate:
    """The surrogate of a stage after stage 0. Raises ValueError where it has other settings."""
    surrogate = load_stage(run, stage)
    artefacts.reduced_network(run, stage).require(stored_inputs(run, stage))
    return surrogate


def load_first(run: Run) -> Surrogate:
    """The surrogate of stage 0. Raises ValueError where it was made with other settings.

    A network that was trained here, with these settings, is also what start=shipped accepts.
    """
    surrogate = load_stage(run, 0)
    stored = stored_inputs(run, 0)
    if "shipped" not in stored:
        artefacts.trained_network(run).require(stored)
        return surrogate
    name, why_not = start_of(run)
    then = stored["shipped"]
    if then == name and stored["digest"] == artefacts.shipped_digest(name):
        artefacts.shipped_network(run, name).require(stored)
        return surrogate
    if name:
        now = f"{name} of this version, another network"
    else:
        now = f"one that is trained ({why_not})"
    raise ValueError(
        f"{run.weights(0)} is {then}, which came with combred; now asked for is {now}. Give the "
        "settings of before again, name another run with run=NAME, or move stage*.safetensors "
        f"(and search/, if there) in {run.folder} away: the states stay."
    )


def stored_inputs(run: Run, stage: int) -> dict:
    """What the network of a stage was made from, as its file says."""
    stored = made_from(run.weights(stage))
    if stored is None:
        raise ValueError(
            f"{run.weights(stage)} does not say what it was made from: it is of no run, or of "
            "combred 0.2. Name another run with run=NAME, or move it away."
        )
    return stored


def load_stage(run: Run, stage: int) -> Surrogate:
    """The surrogate of a stage as it is on disk."""
    return load_surrogate(run.weights(stage), run.mechanism)


def start_of(run: Run) -> tuple[str, str]:
    """The name of the shipped model that is stage 0, "" where it is trained here; and why."""
    if run.settings.start == "scratch":
        return "", "start=scratch"
    return starting_point(run.settings, run.mechanism)


def read_entry(run: Run, stage: int) -> dict:
    """The record of a stage in reduce.json, {} if there is none."""
    entries = read_record(run.path("reduce.json")).get("stages", [])
    return next((entry for entry in entries if entry["stage"] == stage), {})


def write_entry(run: Run, stage: int, entry: dict) -> None:
    """Put the record of a stage into reduce.json; those of other stages stay."""
    entries = read_record(run.path("reduce.json")).get("stages", [])
    others = [other for other in entries if other["stage"] != stage]
    entries = sorted([*others, entry], key=lambda one: one["stage"])
    write_record(run.path("reduce.json"), {"stages": entries})


def require_same_settings(run: Run) -> None:
    """ValueError if any file of the run folder is damaged, or was made with other settings.

    Asked before a command does anything: a run folder belongs to its settings.
    """
    if artefacts.states(run).path.exists():
        load_data(run)
        require_record(run, "sample.json", artefacts.states(run).inputs)
    for stage in range(run.settings.reduction.stages + 1):
        if not run.weights(stage).exists():
            return  # the stages after it are made anew, or refused by their parent's digest
        if stage:
            load_reduced(run, stage)
            require_record(run, "reduce.json", stored_inputs(run, stage), stage)
        else:
            load_first(run)
            require_record(run, "train.json", stored_inputs(run, 0), 0)


def require_record(run: Run, name: str, inputs: dict, stage: int | None = None) -> None:
    """ValueError if a record is there and is damaged, or is not of the file that was made from
    `inputs`; and if the training metrics of its stage are not those that its training wrote."""
    stored = read_entry(run, stage) if stage else read_record(run.path(name))
    if stored:
        require_same(run.path(name), stored.get("inputs", {}), inputs, ANOTHER_RUN)
    if stage is None:
        return
    numbers, metrics = stored.get("retraining", stored), run.metrics(stage)
    if metrics.is_file() and digest(metrics) != numbers.get("metrics", digest(metrics)):
        raise ValueError(
            f"{metrics} is not what the training of stage {stage} wrote. Move it away: the network "
            "stays."
        )

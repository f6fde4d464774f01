"""The results in the folder of a run, read if they were made with the settings of now.

Takes a `Run`; gives what its steps have made. Each function refuses files of other settings.
"""

from pathlib import Path

from combred.files.records import ANOTHER_RUN, digest, read_record, require_same
from combred.pipeline import artefacts
from combred.pipeline.artefacts import NetworkArtefact
from combred.pipeline.run import Run
from combred.pipeline.start import starting_point
from combred.pipeline.steps.networks import load, load_network, read_entry, stored_inputs
from combred.pipeline.steps.sample import Data, read_data
from combred.surrogate.surrogate import Surrogate


def load_data(run: Run) -> Data:
    """The data of a run. Raises ValueError where they were made with other settings."""
    files = artefacts.states(run), artefacts.sensitive(run)
    return read_data(*files, run.mechanism, run.settings.seed)


def load_surrogates(run: Run) -> list[Surrogate]:
    """The surrogates of stages 0, 1, ... up to the one asked for, from the run folder.

    Raises FileNotFoundError where one is missing, ValueError where it has other settings.
    """
    later = range(1, run.settings.stage + 1)
    return [
        load_first(run),
        *(load_network(artefacts.reduced_network(run, i), run.mechanism) for i in later),
    ]


def load_first(run: Run) -> Surrogate:
    """The surrogate of stage 0. Raises ValueError where it was made with other settings.

    A network that was trained here, with these settings, is also what start=shipped accepts.
    """
    path = run.weights(0)
    surrogate, stored = load(path, run.mechanism), stored_inputs(path)
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
        f"{path} is {then}, which came with combred; now asked for is {now}. Give the "
        "settings of before again, name another run with run=NAME, or move stage*.safetensors "
        f"(and search/, if there) in {run.folder} away: the states stay."
    )


def start_of(run: Run) -> tuple[str, str]:
    """The name of the shipped model that is stage 0, "" where it is trained here; and why."""
    if run.settings.start == "scratch":
        return "", "start=scratch"
    return starting_point(run.settings, run.mechanism)


def require_same_settings(run: Run) -> None:
    """ValueError if any file of the run folder is damaged, or was made with other settings.

    Asked before a command does anything: a run folder belongs to its settings.
    """
    states = artefacts.states(run)
    if states.path.exists():
        load_data(run)
        record = run.path("sample.json")
        require_record(record, read_record(record), states.inputs)
    for stage in range(run.settings.reduction.stages + 1):
        if not run.weights(stage).exists():
            return  # the stages after it are made anew, or refused by their parent's digest
        if stage:
            artefact = artefacts.reduced_network(run, stage)
            load_network(artefact, run.mechanism)
            stored = read_entry(artefact)
        else:
            load_first(run)
            made = stored_inputs(run.weights(0))
            artefact = NetworkArtefact(run.weights(0), made, 0)
            stored = read_record(artefact.record)
        require_record(artefact.record, stored, artefact.inputs)
        require_metrics(artefact, stored)


def require_record(path: Path, stored: dict, inputs: dict) -> None:
    """ValueError if a record is there, and is not of the file that was made from `inputs`."""
    if stored:
        require_same(path, stored.get("inputs", {}), inputs, ANOTHER_RUN)


def require_metrics(artefact: NetworkArtefact, stored: dict) -> None:
    """ValueError if the training metrics of a stage are not those that its training wrote, as its
    record says."""
    numbers, metrics = stored.get("retraining", stored), artefact.metrics
    if metrics.is_file() and digest(metrics) != numbers.get("metrics", digest(metrics)):
        raise ValueError(
            f"{metrics} is not what the training of stage {artefact.stage} wrote. Move it away: "
            "the network stays."
        )

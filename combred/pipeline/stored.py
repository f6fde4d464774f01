"""The results in the folder of a run, read if they were made with the settings of now.

Takes a `Run`; gives what its steps have made. Each function refuses files of other settings.
"""

from combred.files.records import ANOTHER_RUN, read_record, require_same
from combred.pipeline import artefacts
from combred.pipeline.files import NetworkArtefact, stored_inputs
from combred.pipeline.run import Run
from combred.pipeline.start import starting_point
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
    reduced = (artefacts.reduced_network(run, i).load(run.mechanism) for i in later)
    return [load_first(run), *reduced]


def load_first(run: Run) -> Surrogate:
    """The surrogate of stage 0. Raises ValueError where it was made with other settings."""
    return stored_first(run).load(run.mechanism)


def stored_first(run: Run) -> NetworkArtefact:
    """The network of stage 0 that is there. Raises ValueError where it is a shipped one that does
    not fit; one that was trained here, with these settings, is also what start=shipped accepts."""
    stored = stored_inputs(run.weights(0))
    if "shipped" not in stored:
        return artefacts.trained_network(run)
    name, why_not = start_of(run)
    then = stored["shipped"]
    if then == name and stored["digest"] == artefacts.shipped_digest(name):
        return artefacts.shipped_network(run, name)
    if name:
        now = f"{name} of this version, another network"
    else:
        now = f"one that is trained ({why_not})"
    raise ValueError(
        f"{run.weights(0)} is {then}, which came with combred; now asked for is {now}. Give the "
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
    states, record = artefacts.states(run), run.path("sample.json")
    if states.path.exists():
        load_data(run)
        if stored := read_record(record):
            require_same(record, stored.get("inputs", {}), states.inputs, ANOTHER_RUN)
    for stage in range(run.settings.reduction.stages + 1):
        if not run.weights(stage).exists():
            return  # the stages after it are made anew, or refused by their parent's digest
        network = artefacts.reduced_network(run, stage) if stage else stored_first(run)
        network.load(run.mechanism)
        network.require_numbers()

"""The networks of a run on disk. Each file says what it was made from; train.json and reduce.json
hold the numbers of the report."""

from pathlib import Path

from combred.chemistry.mechanism import Mechanism
from combred.files.records import read_record, write_record
from combred.pipeline.artefacts import NetworkArtefact
from combred.pipeline.resolved import of_run
from combred.surrogate.storage import load_surrogate, made_from
from combred.surrogate.surrogate import Surrogate


def load_network(artefact: NetworkArtefact, mechanism: Mechanism) -> Surrogate:
    """The surrogate of a stage. Raises ValueError where it was made with other settings."""
    surrogate = load(artefact.path, mechanism)
    artefact.require(stored_inputs(artefact.path))
    return surrogate


def load(path: Path, mechanism: Mechanism) -> Surrogate:
    """The surrogate of a file of a run. Raises as `load_surrogate`."""
    with of_run("`python -m combred.pipeline stage=N` makes it; run=NAME names another run."):
        return load_surrogate(path, mechanism)


def stored_inputs(path: Path) -> dict:
    """What the network of a stage was made from, as its file says."""
    stored = made_from(path)
    if stored is None:
        raise ValueError(
            f"{path} does not say what it was made from: it is of no run, or of combred 0.2. Name "
            "another run with run=NAME, or move it away."
        )
    return stored


def read_entry(artefact: NetworkArtefact) -> dict:
    """The record of a reduced network in reduce.json, {} if there is none."""
    entries = read_record(artefact.record).get("stages", [])
    return next((entry for entry in entries if entry["stage"] == artefact.stage), {})


def write_entry(artefact: NetworkArtefact, entry: dict) -> None:
    """Put the record of a reduced network into reduce.json; those of other stages stay."""
    entries = read_record(artefact.record).get("stages", [])
    others = [other for other in entries if other["stage"] != artefact.stage]
    entries = sorted([*others, entry], key=lambda one: one["stage"])
    write_record(artefact.record, {"stages": entries})

"""The files of a run: each says what it was made from, and is refused where that is another.

Takes paths and inputs, which `combred.pipeline.artefacts` knows; gives what the files hold. The
numbers of trainings and reductions lie in train.json and reduce.json, for the report.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from combred.chemistry.mechanism import Mechanism
from combred.files.records import ANOTHER_RUN, digest, read_record, require_same, write_record
from combred.pipeline.resolved import of_run
from combred.surrogates.files.storage import load_surrogate, made_from, save_surrogate
from combred.surrogates.model.surrogate import Surrogate


@dataclass(frozen=True)
class Artefact:
    """A file of a run at `path`; `inputs`: all that its content depends on, as plain JSON."""

    path: Path
    inputs: dict

    def __post_init__(self):
        # As JSON gives it back: tuples as lists, keys as text.
        object.__setattr__(self, "inputs", json.loads(json.dumps(self.inputs)))

    def require(self, stored: dict | None) -> None:
        """ValueError, with what differs, if the file was made with other inputs.

        stored: the inputs that the file, or the record beside it, was written with; None where
        they are unknown, as of states that were not made by the pipeline.
        """
        if stored is not None:
            require_same(self.path, stored, self.inputs, ANOTHER_RUN)


@dataclass(frozen=True)
class NetworkArtefact(Artefact):
    """The network of a `stage`, and the files beside it."""

    stage: int

    @property
    def merged(self) -> Path:
        """The network between its reduction and the end of its retraining."""
        return self.path.with_suffix(".merged.safetensors")

    @property
    def metrics(self) -> Path:
        """The training metrics, JSON lines; a checkpoint lies beside."""
        return self.path.with_suffix(".jsonl")

    @property
    def record(self) -> Path:
        """The file of the numbers."""
        return self.path.with_name("reduce.json" if self.stage else "train.json")

    def load(self, mechanism: Mechanism) -> Surrogate:
        """The surrogate. Raises ValueError where it was made with other settings."""
        with of_run("`python -m combred.pipeline stage=N` makes it; run=NAME names another run."):
            surrogate = load_surrogate(self.path, mechanism)
        self.require(stored_inputs(self.path))
        return surrogate

    def save(self, surrogate: Surrogate, merged: bool = False) -> None:
        """Write the surrogate, or that of before its retraining."""
        path = self.merged if merged else self.path
        save_surrogate(path, surrogate, surrogate.mechanism, inputs=self.inputs)

    def numbers(self) -> dict:
        """The numbers of this stage, {} if there are none."""
        stored = read_record(self.record)
        if not self.stage:
            return stored
        return next((row for row in stored.get("stages", []) if row["stage"] == self.stage), {})

    def write_numbers(self, numbers: dict) -> None:
        """Store the numbers of this stage; those of other stages stay."""
        numbers = {"inputs": self.inputs, **numbers}
        if self.stage:
            rows = read_record(self.record).get("stages", [])
            rows = [*(row for row in rows if row["stage"] != self.stage), numbers]
            numbers = {"stages": sorted(rows, key=lambda row: row["stage"])}
        write_record(self.record, numbers)

    def require_numbers(self) -> None:
        """ValueError if the numbers are there and are not of this network, or if the training
        metrics are not those that its training wrote."""
        stored = self.numbers()
        if stored:
            require_same(self.record, stored.get("inputs", {}), self.inputs, ANOTHER_RUN)
        told = stored.get("retraining", stored).get("metrics")
        if told and self.metrics.is_file() and digest(self.metrics) != told:
            raise ValueError(
                f"{self.metrics} is not what the training of stage {self.stage} wrote. Move it "
                "away: the network stays."
            )


def stored_inputs(path: Path) -> dict:
    """What a network was made from, as its file says."""
    stored = made_from(path)
    if stored is None:
        raise ValueError(
            f"{path} does not say what it was made from: it is of no run, or of combred 0.2. Name "
            "another run with run=NAME, or move it away."
        )
    return stored

"""A run folder, read once for its report.

Takes the files of numbers in the folder; gives a `Folder`. Only validation.json is required. Other
files that are missing are empty here, and the report says that they are missing.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import h5py

from combred.chemistry.mechanism import Mechanism
from combred.files.records import digest, read_json
from combred.simulation.premixed.flame import Flame
from combred.simulation.stirred.reactor import StirredRun
from combred.validation.storage import read_runs


@dataclass(frozen=True)
class Folder:
    """The artefacts of a run: the contents of its JSON files, and flames and stirred reactors by
    the name of their group: "reference", "solver", "stage0" and so on.

    `reductions`: the records of reduce.json by stage, from 1.
    """

    path: Path
    mechanism: Mechanism
    settings: dict
    sample: dict
    train: dict
    reductions: dict[int, dict]
    validation: dict
    export: dict
    card: dict
    flames: dict[str, list[Flame]]
    stirred: dict[str, list[StirredRun]]

    @property
    def stages(self) -> list[int]:
        """The validated stages: 0 is the trained network, the last one the result."""
        return sorted(int(name.removeprefix("stage")) for name in self.validation["stages"])

    @property
    def last(self) -> int:
        """The last validated stage."""
        return self.stages[-1]

    @property
    def shown(self) -> list[int]:
        """The stages in figures and tables of cases: the first and the last."""
        return list(dict.fromkeys((self.stages[0], self.last)))

    def measured(self, stage: int) -> dict:
        """The results of a stage in validation.json."""
        return self.validation["stages"][f"stage{stage}"]

    @property
    def solver(self) -> dict:
        """The results of the generated solver in validation.json."""
        return self.validation["solver"]

    @property
    def inputs(self) -> dict:
        """The inputs of the validation: cases, tolerances of CVODE, dt [s], mixture."""
        return self.validation["inputs"]

    @property
    def fuels(self) -> list[str]:
        """The species of the fuel that the mechanism has."""
        parts = str(self.inputs.get("fuel", "")).split(",")
        names = [part.split(":")[0].strip() for part in parts]
        return [name for name in names if name in self.mechanism.species_names]

    @property
    def timing(self) -> dict:
        """The times of validation.json and their conditions."""
        return self.validation["timing"]

    @property
    def times(self) -> dict[str, float]:
        """Median time per state [s] by name: "CVODE rtol ...", "solver, ...", "stage 0"."""
        return {name: time["median"] for name, time in self.timing["times"].items()}

    def weights(self, stage: int) -> Path:
        """The file with the weights of a stage."""
        return self.path / f"stage{stage}.safetensors"

    @cached_property
    def outdated(self) -> list[int]:
        """Stages whose weights in the folder differ from those that were validated."""
        known = self.validation["networks"]
        return [
            stage
            for stage in self.stages
            if self.weights(stage).is_file()
            and known[f"stage{stage}"] != digest(self.weights(stage))
        ]

    @cached_property
    def versions(self) -> dict[str, str]:
        """Versions of the software that made the folder, from the card and states.h5."""
        found = dict(self.card.get("versions", {}))
        states = self.path / "states.h5"
        if states.is_file():
            with h5py.File(states, "r") as file:
                found |= json.loads(file.attrs.get("versions", "{}"))
        return found


def read_folder(path: Path, mechanism: Mechanism) -> Folder:
    """Read a run folder.

    Raises FileNotFoundError, with the command to type, if it has not been validated; ValueError if
    a file is damaged.
    """
    path = Path(path)
    validation = read_json(path / "validation.json")
    if not validation.keys() >= {"stages", "solver"}:
        raise FileNotFoundError(
            f"{path / 'validation.json'} lacks results of the stages or of the solver: run "
            "`python -m combred.pipeline only=validate` with the settings of this run"
        )
    flames, inputs = read_runs(path / "flames.h5", mechanism, Flame)
    if inputs.get("cases") != validation.get("flame_inputs") or not inputs:
        flames = {}  # of other settings: the report then shows the table alone
    stirred, inputs = read_runs(path / "stirred.h5", mechanism, StirredRun)
    if inputs.get("cases") != validation.get("stirred_inputs") or not inputs:
        stirred = {}  # likewise
    entries = read_json(path / "reduce.json").get("stages", [])
    return Folder(
        path=path,
        mechanism=mechanism,
        settings=read_json(path / "settings.json"),
        sample=read_json(path / "sample.json"),
        train=read_json(path / "train.json"),
        reductions={e["stage"]: e for e in entries if f"stage{e['stage']}" in validation["stages"]},
        validation=validation,
        export=read_json(path / "export.json"),
        card=read_json(path / "surrogate.json"),
        flames=flames,
        stirred=stirred,
    )

"""A run folder, read once for its report.

Takes the files of numbers in the folder; gives a `Folder`. Only validation.json is required. Other
files that are missing are empty here, and the report says that they are missing.
"""

import json
from functools import cached_property
from pathlib import Path

from combred.chemistry.mechanism import Mechanism
from combred.experiments.premixed.flame import Flame
from combred.experiments.stirred.reactor import StirredRun
from combred.experiments.storage import Run, read_runs
from combred.files.hdf5 import opened
from combred.files.records import digest, read_json
from combred.report.style import looks


class Folder:
    """The artefacts of a run: the contents of its JSON files, and flames and stirred reactors by
    the name of their group: "reference", "solver", "stage0" and so on.

    `reductions`: the records of reduce.json by stage, from 1. Raises FileNotFoundError, with the
    command to type, if the run has not been validated; ValueError if a file is damaged.
    """

    def __init__(self, path: Path, mechanism: Mechanism):
        self.path, self.mechanism = Path(path), mechanism
        self.validation = self.read("validation")
        if not self.validation.keys() >= {"stages", "solver"}:
            raise FileNotFoundError(
                f"{self.path / 'validation.json'} lacks results of the stages or of the solver: "
                "run `python -m combred.pipeline only=validate` with the settings of this run"
            )
        self.settings, self.sample, self.train = map(self.read, ("settings", "sample", "train"))
        self.export, self.card = self.read("export"), self.read("surrogate")
        entries = self.read("reduce").get("stages", [])
        known = self.validation["stages"]
        self.reductions = {e["stage"]: e for e in entries if f"stage{e['stage']}" in known}
        self.flames = self.runs("flames.h5", "flame_inputs", Flame)
        self.stirred = self.runs("stirred.h5", "stirred_inputs", StirredRun)

    def read(self, name: str) -> dict:
        """The content of a JSON file, {} if there is none."""
        return read_json(self.path / f"{name}.json")

    def runs(self, name: str, inputs: str, kind: type[Run]) -> dict[str, list[Run]]:
        """The groups of a file of runs; {} where they are not those of validation.json, or lack one
        that is shown: the report then has the table alone."""
        groups, made_with = read_runs(self.path / name, self.mechanism, kind)
        known = bool(made_with) and made_with.get("cases") == self.validation.get(inputs)
        return groups if known and groups.keys() >= looks(self.shown).keys() else {}

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
    def compared(self) -> dict[str, dict]:
        """The results of the solver and of the stages that are shown, by name."""
        return {"solver": self.solver} | {f"stage {i}": self.measured(i) for i in self.shown}

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

    @cached_property
    def outdated(self) -> list[int]:
        """Stages whose weights in the folder differ from those that were validated."""
        known = self.validation["networks"]
        files = {stage: self.path / f"stage{stage}.safetensors" for stage in self.stages}
        return [
            i for i, file in files.items() if file.is_file() and known[file.stem] != digest(file)
        ]

    @cached_property
    def versions(self) -> dict[str, str]:
        """Versions of the software that made the folder, from the card and states.h5."""
        found = dict(self.card.get("versions", {}))
        states = self.path / "states.h5"
        if states.is_file():
            with opened(states) as file:
                found |= json.loads(file.attrs.get("versions", "{}"))
        return found

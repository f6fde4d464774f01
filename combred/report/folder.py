"""A run folder, read once for its report.

Takes the files of numbers in the folder; gives a `Folder`. Only validation.json is required. Other
files that are missing are empty here, and the report says that they are missing.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from combred.chemistry.mechanism import Mechanism
from combred.experiments.accuracy import ALONE, BEHIND, has_both, named
from combred.experiments.ignition.rollout import Rollout
from combred.experiments.premixed.flame import Flame
from combred.experiments.stirred.reactor import StirredRun
from combred.experiments.storage import read_runs
from combred.files.records import read_json
from combred.report.formats import atmospheres, several

# Of the runs in a file.
KINDS: dict[str, type] = {"validation.h5": Rollout, "flames.h5": Flame, "stirred.h5": StirredRun}


class Folder:
    """The artefacts of a run: the contents of its JSON files, and the curves of its HDF5 files.

    `stages`: the results of each validated network by its stage, 0 the trained one; `last`: the
    last stage, the result; `compared`: the results of what figures and tables of cases show, the
    solver, the networks of the first and the last stage alone, and the last one with the solver
    behind it, by name; `groups`: their groups in the HDF5 files; `reductions`: the records of
    reduce.json by stage. Raises FileNotFoundError, with the command to type, if the run has not
    been validated; ValueError if a file is damaged.
    """

    def __init__(self, path: Path, mechanism: Mechanism):
        self.path, self.mechanism = Path(path), mechanism
        self.validation = self.read("validation")
        there = self.validation.keys() >= {"stages", "solver"}
        if not (there and has_both(self.validation)):
            raise FileNotFoundError(
                f"{self.path / 'validation.json'} lacks results of the stages or of the solver: "
                "run `python -m combred.pipeline only=validate` with the settings of this run"
            )
        self.settings, self.sample, self.train = map(self.read, ("settings", "sample", "train"))
        self.export, self.card = self.read("export"), self.read("surrogate")
        self.card = self.card or self.read("rejected")
        self.stages = stages(self.validation)
        self.last = max(self.stages)
        shown = dict.fromkeys([(min(self.stages), ALONE), (self.last, ALONE), (self.last, BEHIND)])
        self.compared = {"solver": self.validation["solver"]}
        self.groups = {name: name for name in ("reference", "solver")}
        for i, key in shown:
            name = named(i, key)
            self.compared[name], self.groups[name] = self.stages[i][key], f"stage{i}_{key}"
        entries = self.read("reduce").get("stages", [])
        self.reductions = {e["stage"]: e for e in entries if e["stage"] in self.stages}
        self.shipped = self.train.get("shipped", "")
        self.inputs, self.timing = self.validation["inputs"], self.validation["timing"]

    def read(self, name: str) -> dict:
        """The content of a JSON file, {} if there is none."""
        return read_json(self.path / f"{name}.json")

    def curves(
        self, name: str, inputs: str, species: Iterable[str], only: int | None = None
    ) -> dict[str, list[dict]]:
        """T and mass fractions of some species of the reference and of all that is compared: over
        x [m], of flames, or over t [s]. {} where the file is missing, is not that of
        validation.json, or lacks a result. Raises ValueError if it is damaged, or of another
        mechanism.

        name: of the file; inputs: the key of its inputs in validation.json; only: the index of a
        case, None: all.
        """
        found, made_with = read_runs(self.path / name, self.mechanism, KINDS[name])
        same = made_with.get("cases") == self.validation.get(inputs)
        if not same or not found.keys() >= set(self.groups.values()):
            return {}
        chosen = slice(None) if only is None else slice(only, only + 1)
        columns = {one: self.mechanism.index(one) for one in species}
        return {
            key: [curve_of(run, columns) for run in found[group][chosen]]
            for key, group in self.groups.items()
        }


def cases(numbers: dict) -> str:
    """The ignitions in words: all combinations of T0, phi and p; numbers: of validation.json."""
    rows = numbers["solver"]["cases"]
    T0, phi, p = (list(dict.fromkeys(row[key] for row in rows)) for key in ("T0", "phi", "p"))
    in_atm = several([float(atmospheres(value)) for value in p], "atm")
    return f"T0 {several(T0, 'K')}, phi {several(phi)}, p {in_atm}"


def stages(numbers: dict) -> dict[int, dict]:
    """The results of validation.json by stage, in order."""
    found = {int(name.removeprefix("stage")): of for name, of in numbers["stages"].items()}
    return dict(sorted(found.items()))


def curve_of(run: Any, columns: dict[str, int]) -> dict:
    """ "T" [K] and "Y", mass fractions by the names of `columns`, of a flame over its "x" [m], 0 at
    its front, or of an ignition or a stirred reactor over "t" [s]."""
    curve = {"T": run.T, "Y": {name: run.Y[:, k] for name, k in columns.items()}}
    return curve | ({"x": run.x - run.front_x} if isinstance(run, Flame) else {"t": run.t})

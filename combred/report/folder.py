"""A run folder, read once for its report.

Takes the files of numbers in the folder; gives a `Folder`. Only validation.json is required. Other
files that are missing are empty here, and the report says that they are missing.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import h5py
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.files.hdf5 import UNREADABLE, opened
from combred.files.records import read_json
from combred.report.formats import atmospheres, several


class Folder:
    """The artefacts of a run: the contents of its JSON files, and the curves of its HDF5 files.

    `stages`: the results of each validated network by its stage, 0 the trained one; `last`: the
    last stage, the result; `compared`: the results of what figures and tables of cases show, the
    solver, the first and the last stage, by name; `reductions`: the records of reduce.json by
    stage. Raises FileNotFoundError, with the command to type, if the run has not been validated;
    ValueError if a file is damaged.
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
        self.stages = stages(self.validation)
        self.last = max(self.stages)
        shown = {f"stage {i}": self.stages[i] for i in (min(self.stages), self.last)}
        self.compared = {"solver": self.validation["solver"], **shown}
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
        validation.json, or lacks a result. Raises ValueError if it is damaged.

        name: of the file; inputs: the key of its inputs in validation.json; only: the index of a
        case, None: all.
        """
        path, groups = self.path / name, ("reference", *self.compared)
        if not path.exists():
            return {}
        try:
            with opened(path) as file:
                cases = json.loads(file.attrs["inputs"]).get("cases")
                names = list(file.attrs["species"])
                found = {k: file.get(k.replace(" ", "")) for k in groups}
                same = names == list(self.mechanism.species_names)
                if not same or cases != self.validation.get(inputs) or None in found.values():
                    return {}
                columns = {k: names.index(k) for k in species}
                chosen = slice(None) if only is None else slice(only, only + 1)
                return {
                    k: [read_curve(of[i], columns) for i in sorted(of)[chosen]]
                    for k, of in found.items()
                }
        except UNREADABLE as error:
            raise ValueError(
                f"{path} cannot be used ({error}): move it away and validate again"
            ) from error

    @property
    def cases(self) -> str:
        """The ignitions in words: all combinations of T0, phi and p."""
        rows = self.compared["solver"]["cases"]
        T0, phi, p = (list(dict.fromkeys(row[key] for row in rows)) for key in ("T0", "phi", "p"))
        in_atm = several([float(atmospheres(value)) for value in p], "atm")
        return f"T0 {several(T0, 'K')}, phi {several(phi)}, p {in_atm}"


def stages(numbers: dict) -> dict[int, dict]:
    """The results of validation.json by stage, in order."""
    found = {int(name.removeprefix("stage")): of for name, of in numbers["stages"].items()}
    return dict(sorted(found.items()))


def read_curve(run: h5py.Group, columns: dict[str, int]) -> dict:
    """ "T" [K] and "Y", mass fractions by the names of `columns`, of a flame over its "x" [m], 0
    where T is halfway between unburnt and adiabatic, or of a stirred reactor over "t" [s]."""
    of = run.get("profile", run)
    T, Y = of["T"][...], of["Y"][...]
    curve = {"T": T, "Y": {name: Y[:, k] for name, k in columns.items()}}
    if of is run:
        return curve | {"t": run["t"][...]}
    x, half = run["x"][...], 0.5 * (of["case"].attrs["T"] + of.attrs["burnt_T"])
    i = int(np.argmax(T > half))  # 0: there is no front
    return curve | {"x": x - (np.interp(half, T[i - 1 : i + 1], x[i - 1 : i + 1]) if i else np.nan)}

"""A run folder of plain numbers, and the page of a report as its reader sees it.

`make_run` writes the files of a run from relative errors; the tests of `tests/pipeline` draw the
reports of finished runs.
"""

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.experiments.accuracy import ALONE, BEHIND, named
from combred.experiments.premixed.flame import Flame
from combred.experiments.premixed.grid import FlameCase, Profile
from combred.experiments.stirred.reactor import StirredCase, StirredRun
from combred.experiments.storage import write_runs
from combred.files.records import write_json

DT, ATM = 1e-6, 101325.0
WORSE_ALONE = 3.0
CASES = [(T0, ATM, phi) for T0 in (1500.0, 1700.0) for phi in (0.6, 1.4)]
FUELS = {"drm19.yaml": "CH4:1", "h2o2.yaml": "H2:1"}
TIMES = {"CVODE rtol 1e-08 atol 1e-16": 6e-4, "CVODE rtol 1e-06 atol 1e-10": 2e-4}
THREE = [[0.02, 0.01, -0.03, 0.005], [0.04, 0.01, -0.05, 0.01], [0.06, -0.02, 0.10, 0.015]]
WIDTHS = [[23, 24, 12, 23], [23, 12, 12, 23], [23, 6, 12, 23]]
SETTINGS = {
    "seed": 0, "profile": "default", "network": {"kinetics": False},
    "sampling": {"sampler": "premixed", "ignitions": 1200, "T0": [900.0, 2300.0],
                 "phi": [0.25, 4.0], "p": [0.3 * ATM, 60 * ATM], "dt": [DT, DT]},
}  # fmt: skip
CARD = {
    "dt": [DT, DT], "network": {"kinetics": False}, "tolerance": 0.01, "versions": {"torch": "2"},
    "training": {"command": "python -m combred.pipeline"},
    "range": {"T": [300.0, 2500.0], "p": [ATM, ATM], "Y": {"CO": [0.0, 0.1]}},
}  # fmt: skip


def summary(errors: list[float]) -> dict[str, float]:
    """Median and worst, with a failed case, NaN, as infinite."""
    sizes = np.where(np.isfinite(errors), np.abs(errors), np.inf)
    return {"median": float(np.median(sizes)), "worst": float(sizes.max())}


def ignition_rows(lateness: list[float], cases: list[tuple] = CASES) -> list[dict]:
    """The rows of ignitions; lateness: the relative error of each delay, NaN: no ignition."""
    return [
        {"case": f"{T0:.0f} K, phi {phi:g}, {p / ATM:g} atm", "T0": T0, "p": p, "phi": phi,
         "ignited": bool(np.isfinite(late)), "reference_delay": 0.3 / T0, "burnt_T_error": 3.0,
         "delay": 0.3 / T0 * (1 + late), "delay_error": abs(late)}
        for (T0, p, phi), late in zip(cases, lateness, strict=True)
    ]  # fmt: skip


def ignition_errors(late: list[float], cases: list[tuple]) -> dict:
    """The errors of a chemistry, as validation.json has them."""
    rows = ignition_rows(late, cases)
    worst = int(np.argmax(np.nan_to_num(np.abs(late), nan=np.inf)))
    return {
        "cases": rows, "delay_error": summary(late), "burnt_T_error": {"worst": 3.0},
        "worst_case": rows[worst]["case"], "all_ignite": bool(np.isfinite(late).all()),
    }  # fmt: skip


def flame_rows(errors: list[float]) -> list[dict]:
    """The rows of flames at phi 0.6, 0.8, ...; errors: of the speeds, NaN: went out."""
    return [
        {"case": f"300 K, phi {0.6 + 0.2 * i:g}, 1 atm",
         "outcome": "steady" if np.isfinite(e) else "went out", "speed": 0.4 * (1 + e),
         "reference_speed": 0.4, "reference_thickness": 4e-4, "speed_error": abs(e),
         "thickness_error": abs(e), "profile_T_error": 1e3 * abs(e), "peak_errors": {"CO": abs(e)}}
        for i, e in enumerate(errors)
    ]  # fmt: skip


def stirred_rows(errors: list[float]) -> list[dict]:
    """The rows of stirred reactors at 1, 2, ... atm; errors: NaN: became not finite."""
    return [
        {"case": f"{i} atm", "outcome": "finished" if np.isfinite(e) else "not finite",
         "errors": {name: {"largest": np.nan_to_num(e, nan=np.inf), "mean": 0.5 * e}
                    for name in ("T", "CO")}}
        for i, e in enumerate(errors, start=1)
    ]  # fmt: skip


def make_run(
    folder: Path,
    mechanism: Mechanism,
    lateness: list[list[float]],
    cases: list[tuple] = CASES,
    whole: bool = True,
) -> Path:
    """A run folder; `lateness`: of each stage with the solver behind it, the relative delay error
    in each case; the network alone has `WORSE_ALONE` times as much. whole: with the records of
    sampling, training, reductions and the export."""
    folder.mkdir(parents=True, exist_ok=True)
    results, names = {}, [f"stage{i}" for i in range(len(lateness))]
    for name, widths, late in zip(names, WIDTHS, lateness, strict=False):
        weights = sum((n + 1) * m for n, m in zip(widths, widths[1:], strict=False))
        alone = [WORSE_ALONE * error for error in late]
        both = {ALONE: ignition_errors(alone, cases), BEHIND: ignition_errors(late, cases)}
        results[name] = {"widths": widths, "weights": weights, "left_to_solver": 0.25, **both}
    times = TIMES | {"solver, tolerance 0.01": 2e-6}
    for i in range(len(lateness)):
        times |= {named(i, ALONE): 0.8e-5 / (1 + i), named(i, BEHIND): 1e-5 / (1 + i)}
    chemistry = {"rtol": 1e-9, "atol": 1e-18}
    fuel = FUELS[mechanism.name]
    write_json(folder / "validation.json", {
        "inputs": {"dt": DT, "fuel": fuel, "oxidizer": "O2:1, N2:3.76", "chemistry": chemistry},
        "solver": ignition_errors([1e-4] * len(cases), cases), "stages": results,
        "timing": {"machine": "a processor", "batch": 4096, "states": "states of a test",
                   "times": {name: {"median": value} for name, value in times.items()},
                   "solved": {f"stage {i}": 0.25 for i in range(len(lateness))}},
    })  # fmt: skip
    if whole:
        cut = {"layer": 1, "threshold": 0.9, "trace": [{"largest_group": 2}], "output_error": 0.01,
               "compensation": "least_squares", "retraining": {"seconds": 30.0}}  # fmt: skip
        stages = [cut | {"stage": i} for i in range(1, len(lateness))]
        counts = {"rows": 1200, "failed_rows": 3, "rows_per_sampler": {"ignition": 1200}}
        for name, record in {
            "settings": SETTINGS, "sample": {"seconds": 12.0, **counts}, "surrogate": CARD,
            "train": {"seconds": 90.0}, "reduce": {"stages": stages},
            "export": {"stage": len(lateness) - 1},
        }.items():  # fmt: skip
            write_json(folder / f"{name}.json", record)
    return folder


def change(folder: Path, **changes) -> dict:
    """Change keys of validation.json; the numbers."""
    numbers = json.loads((folder / "validation.json").read_text()) | changes
    write_json(folder / "validation.json", numbers)
    return numbers


def plant_runs(folder: Path, mechanism: Mechanism, kind: str, errors: list[list[float]]) -> None:
    """Flames or stirred reactors ("flame", "stirred") in a run folder, with their curves; errors:
    of the solver and of each stage with the solver behind it, those of each case; the network alone
    has twice as much."""
    numbers = change(folder, reference_difference={"flames": 2e-6, "stirred": 2e-6})
    case = {"particles": 40, "dt": 1e-5, "residence": 2e-3, "mixing": 1e-4}
    numbers[f"{kind}_inputs"] = {"cases": [case] * len(errors[0])}
    results, planted = {"solver": (numbers["solver"], errors[0])}, {}
    for (name, stage), its in zip(numbers["stages"].items(), errors[1:], strict=True):
        results[f"{name}_{BEHIND}"] = stage[BEHIND], its
        results[f"{name}_{ALONE}"] = stage[ALONE], [2.0 * error for error in its]
    for name, (result, its) in results.items():
        rows = flame_rows(its)
        lost = next((row["outcome"] for row in rows if row["outcome"] != "steady"), "steady")
        flame = {"cases": rows, "speed_error": summary(its), "outcome": lost}
        result[kind] = flame if kind == "flame" else stirred_rows(its)
        planted[name] = its
    write_json(folder / "validation.json", numbers)
    planted["reference"] = [0.0] * len(errors[0])
    groups = {name: [a_run(kind, mechanism, e) for e in its] for name, its in planted.items()}
    file = folder / f"{kind if kind == 'stirred' else 'flames'}.h5"
    write_runs(file, groups, mechanism, {"cases": numbers[f"{kind}_inputs"]})


def a_run(kind: str, mechanism: Mechanism, error: float) -> Flame | StirredRun:
    """A flame or a stirred reactor whose T is wrong by a share; NaN: one that went out."""
    at, Y = np.linspace(0.0, 4e-3, 9), np.full((9, mechanism.n_species), 0.1)
    T = np.linspace(300.0, 2300.0, 9) * (1 + error)
    if kind == "stirred":
        return StirredRun(StirredCase(), at, T, Y, T, Y, "finished")
    T = np.nan_to_num(T, nan=300.0)
    profile = Profile(FlameCase(300.0, ATM, 1.0), 1e-3, Y[0], 2300.0, T, Y, 0.4)
    return Flame(profile, at, at, "steady", at, at, 0.4, 0.4, 4e-4)


class Page(HTMLParser):
    """A page's tags with their attributes, its tables as rows of words, and its text without
    tags."""

    def __init__(self, path: Path):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.tables: list[list[list[str]]] = []
        self.inside, self.source = False, path.read_text(encoding="utf-8")
        self.feed(self.source)
        plain = re.sub("<[^>]+>", "", re.sub(r'base64,[^"]*', "", self.source))
        self.text = re.sub(r"\s+", " ", html.unescape(plain).replace("\u00a0", " "))

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data):
        if self.inside:
            self.tables[-1][-1][-1] += data.replace("\u00a0", " ")

    def all(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.tags if name == tag]

    def row(self, name: str) -> list[str]:
        """The cells beside a row's head, in the first table that has it."""
        return next(r[1:] for table in self.tables for r in table if r and r[0] == name)

    def table(self, head: str) -> list[list[str]]:
        """The table with a column."""
        return next(table for table in self.tables if head in table[0])


def number(cell: str) -> float:
    """A written number: 6.31 %, +2.0 %, 1,616, 8.07 µs."""
    return float(cell.replace("−", "-").replace(",", "").split(" ")[0])

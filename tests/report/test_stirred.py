"""The section on stirred reactors."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from run_folder import ATM, number, read_page, text_of

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.experiments.stirred.experiment import StirredReactors, cases
from combred.experiments.stirred.reactor import FINISHED, NOT_FINITE, StirredRun
from combred.experiments.storage import read_runs, write_runs
from combred.files.records import write_json
from combred.report.flows import draw_stirred
from combred.report.folder import Folder
from combred.report.writing import write_report


def planted_stirred(mechanism: Mechanism, case, error: float) -> StirredRun:
    """T oscillates around 1700 K and CO grows; the relative error of both grows in time up to
    `error`; NaN: the run became not finite halfway."""
    late = np.linspace(0.0, 1.0, case.steps + 1)
    off = 1 + late * np.nan_to_num(error)
    if np.isnan(error):
        off[late > 0.5] = np.nan
    Y = np.zeros((len(late), mechanism.n_species))
    Y[:, mechanism.index("CO")] = 0.01 * (1 + late) * off
    T = (1700 + 100 * np.sin(9 * late)) * off
    outcome = NOT_FINITE if np.isnan(error) else FINISHED
    particles = T[: case.particles], Y[: case.particles]
    return StirredRun(case, case.dt * case.steps * late, T, 0 * T, Y, *particles, outcome)


def plant_stirred(
    folder: Path, mechanism: Mechanism, p: list[float], errors: list[list[float]]
) -> None:
    """Stirred reactors at the pressures p [Pa] in a run folder; `errors`: of each stage and
    pressure, the largest relative error of mean T and CO; that of the solver is 1e-4."""
    todo = cases(p)
    groups = {"reference": [planted_stirred(mechanism, case, 0.0) for case in todo]}
    validation = json.loads((folder / "validation.json").read_text())
    validation["stirred_inputs"] = {"cases": [asdict(case) for case in todo]}
    validation["reference_difference"] = {"stirred": 2e-6}
    results = {"solver": validation["solver"], **validation["stages"]}
    for (name, result), its_errors in zip(results.items(), [[1e-4] * len(p), *errors], strict=True):
        pairs = zip(todo, its_errors, strict=True)
        groups[name] = [planted_stirred(mechanism, *pair) for pair in pairs]
        reactors = StirredReactors(mechanism, Mixture("CH4:1", "O2:1, N2:3.76"), todo)
        result["stirred"] = reactors.compare(groups[name], groups["reference"])
    write_json(folder / "validation.json", validation)
    inputs = {"cases": validation["stirred_inputs"], "networks": {}}
    write_runs(folder / "stirred.h5", groups, mechanism, inputs)


STIRRED = [[0.05, 0.02], [0.06, 0.03], [0.01, np.nan]]  # of three stages at 1 and 20 atm


def test_stirred_reactors_are_shown_where_there_are_some(whole, drm19, tmp_path, rendered):
    folder = shutil.copytree(whole, tmp_path / "run")
    assert "Stirred" not in text_of(folder)
    plant_stirred(folder, drm19, [ATM, 20 * ATM], STIRRED)
    write_report(folder, drm19)
    text = text_of(folder)
    assert "Stirred reactor" in text and "and the stirred reactors above" in text
    assert "40 particles" in text and "residence time is 2 ms" in text
    assert (folder / "figures/stirred.png").is_file()
    rows = next(t for t in read_page(folder).tables if "mean CO, largest" in t[0])[1:]
    lines = ["solver", "stage 0", "stage 2"]
    assert [row[0] for row in rows] == ["1 atm", *lines, "20 atm", *lines]
    # The relative error grows linearly in time: its average is half of the largest.
    for at, largest in ((1, 0.01), (2, 5.0), (3, 1.0), (6, 2.0)):
        found = [number(cell) for cell in rows[at][1:]]
        assert found == pytest.approx([largest, 0.5 * largest] * 2, abs=0.006)
    assert rows[7][1:] == ["not finite"] * 4


def test_the_three_worst_pressures_are_drawn(whole, drm19, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "run")
    pressures = [ATM, 2 * ATM, 5 * ATM, 20 * ATM]
    plant_stirred(folder, drm19, pressures, [[0.1] * 4] * 2 + [[0.03, 0.01, np.nan, 0.02]])
    figure = draw_stirred(Folder(folder, drm19))
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[:3] == ["1 atm", "5 atm", "20 atm"]
    assert [len(axes.lines) for axes in figure.axes] == [3] * 6
    labels = [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()]
    assert labels == ["mean T [K]", "mean Y(CO) [-]"]


@pytest.mark.parametrize("why", ["missing", "of other settings", "lacks a stage"])
def test_stirred_reactors_that_cannot_be_drawn_are_named(whole, drm19, tmp_path, rendered, why):
    folder = shutil.copytree(whole, tmp_path / "run")
    plant_stirred(folder, drm19, [ATM], [[0.01], [0.02], [0.03]])
    file, validation = folder / "stirred.h5", json.loads((folder / "validation.json").read_text())
    if why == "missing":
        file.unlink()
    elif why == "of other settings":
        validation["stirred_inputs"]["cases"][0]["seed"] = 7
        write_json(folder / "validation.json", validation)
    else:
        groups, inputs = read_runs(file, drm19, StirredRun)
        del groups["stage2"]
        write_runs(file, groups, drm19, inputs)
    write_report(folder, drm19)
    assert not (folder / "figures/stirred.png").exists()
    assert "stirred.h5 is missing" in text_of(folder)
    table = next(t for t in read_page(folder).tables if "mean CO, largest" in t[0])
    assert number(table[-1][1]) == pytest.approx(3.0, abs=0.006)

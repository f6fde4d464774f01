"""The section on flames."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from run_folder import AIR, number, read_page

from combred.chemistry.mechanism import Mechanism
from combred.files.records import write_json
from combred.report.folder import read_folder
from combred.report.writing import write_report
from combred.simulation import outcome as flame_outcome
from combred.simulation.premixed.flame import Flame
from combred.simulation.premixed.grid import FlameCase, Profile
from combred.validation.premixed import errors as flame_errors
from combred.validation.storage import (
    write_flames,
)


def planted_flame(mechanism: Mechanism, case: FlameCase, error: float) -> Flame:
    """A smooth flame whose speed has the relative error `error`; NaN: it went out."""
    gas, unburnt = mechanism.solution(), mechanism.mixture("CH4:1", AIR, case.phi)
    gas.TPY = case.T, case.p, unburnt
    gas.equilibrate("HP")
    x = np.linspace(0.0, 4e-3, 80)
    s = 0.5 * (1 + np.tanh((x - 2e-3) / 2e-4 * (1 + np.nan_to_num(error))))
    T, Y = case.T + s * (gas.T - case.T), unburnt + s[:, None] * (gas.Y - unburnt)
    profile = Profile(case, 1e-5, unburnt, gas.T, T, Y, 0.4)
    out = flame_outcome.WENT_OUT if np.isnan(error) else flame_outcome.STEADY
    numbers = (0.4 * (1 + error), 0.4 * (1 + error), 4e-4 / (1 + error), out)
    return Flame(profile, x, *(np.ones(10) for _ in range(3)), *numbers)


def plant_flames(folder: Path, mechanism: Mechanism, errors: list[list[float]]) -> None:
    """Flames in a run folder; `errors`: of each stage, the relative error of each speed."""
    cases = [FlameCase(300.0, 101325.0, phi) for phi in (0.6, 0.8, 1.0, 1.4)]
    groups = {"reference": [planted_flame(mechanism, case, 0.0) for case in cases]}
    validation = json.loads((folder / "validation.json").read_text())
    validation["flame_inputs"] = {"validation": {"flame_phi": [0.6, 0.8, 1.0, 1.4]}}
    for stage, stage_errors in enumerate(errors):
        pairs = zip(cases, stage_errors, strict=True)
        groups[f"stage{stage}"] = [planted_flame(mechanism, *pair) for pair in pairs]
        result = flame_errors.compare(mechanism, groups[f"stage{stage}"], groups["reference"])
        validation["stages"][f"stage{stage}"]["flame"] = result
    write_json(folder / "validation.json", validation)
    inputs = {"cases": validation["flame_inputs"], "networks": {}}
    write_flames(folder / "flames.h5", groups, mechanism, inputs)


FLAMES = [[0.01, 0.02, -0.03, 0.04], [0.01, 0.02, -0.03, 0.01], [0.011, np.nan, -0.052, 0.024]]


def test_flames_are_shown_where_there_are_flames(whole, drm19, tmp_path, rendered):
    rendered.add("flames")
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    assert "Flames" not in (folder / "report.md").read_text()
    plant_flames(folder, drm19, FLAMES)
    write_report(folder, drm19)
    page, text = read_page(folder), (folder / "report.md").read_text()
    assert (folder / "figures/flames.png").is_file() and "## Flames" in text
    row = page.row("300 K, phi 1, 1 atm")
    assert number(row[0]) == pytest.approx(0.4) and number(row[1]) == pytest.approx(0.379, abs=1e-3)
    errors = [cell.replace("\u00a0", " ") for cell in row[2:4]]
    assert errors == ["−5.20 %", "−3.00 %"]  # of the last stage and of stage 0
    assert page.row("300 K, phi 0.8, 1 atm")[1] == flame_outcome.WENT_OUT
    shown = read_folder(folder, drm19)
    assert [len(flames) for flames in shown.flames.values()] == [4, 4, 4, 4]


def test_flames_of_other_settings_are_not_drawn(whole, drm19, tmp_path, rendered):
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    plant_flames(folder, drm19, FLAMES)
    validation = json.loads((folder / "validation.json").read_text())
    validation["flame_inputs"] = {"validation": {"flame_phi": [2.0]}}
    write_json(folder / "validation.json", validation)
    write_report(folder, drm19)
    assert not (folder / "figures/flames.png").exists()
    assert "flames.h5 is missing" in (folder / "report.md").read_text()

"""The section on flames."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from run_folder import AIR, number, read_page, text_of

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.experiments import cells
from combred.experiments.premixed.experiment import PremixedFlames
from combred.experiments.premixed.flame import Flame
from combred.experiments.premixed.grid import FlameCase, Profile
from combred.experiments.storage import write_runs
from combred.files.records import write_json
from combred.report.folder import Folder
from combred.report.writing import write_report


def planted_flame(mechanism: Mechanism, case: FlameCase, error: float) -> Flame:
    """A smooth flame whose speed has the relative error `error`; NaN: it went out."""
    gas, unburnt = mechanism.solution(), mechanism.mixture("CH4:1", AIR, case.phi)
    gas.TPY = case.T, case.p, unburnt
    gas.equilibrate("HP")
    x = np.linspace(0.0, 4e-3, 80)
    s = 0.5 * (1 + np.tanh((x - 2e-3) / 2e-4 * (1 + np.nan_to_num(error))))
    T, Y = case.T + s * (gas.T - case.T), unburnt + s[:, None] * (gas.Y - unburnt)
    profile = Profile(case, 1e-5, unburnt, gas.T, T, Y, 0.4)
    out = cells.WENT_OUT if np.isnan(error) else cells.STEADY
    numbers = (0.4 * (1 + error), 0.4 * (1 + error), 4e-4 / (1 + error), out)
    return Flame(profile, x, *(np.ones(10) for _ in range(3)), *numbers)


def plant_flames(folder: Path, mechanism: Mechanism, errors: list[list[float]]) -> None:
    """Flames in a run folder; `errors`: of the solver and of each stage, the relative error of each
    speed."""
    cases = [FlameCase(300.0, 101325.0, phi) for phi in (0.6, 0.8, 1.0, 1.4)]
    flames = PremixedFlames(mechanism, Mixture("", ""), cases, 1e-6)
    groups = {"reference": [planted_flame(mechanism, case, 0.0) for case in cases]}
    validation = json.loads((folder / "validation.json").read_text())
    validation["flame_inputs"] = {"validation": {"flame_phi": [0.6, 0.8, 1.0, 1.4]}}
    validation["reference_difference"] = {"flames": 2e-6}
    results = {"solver": validation["solver"], **validation["stages"]}
    for (name, result), its_errors in zip(results.items(), errors, strict=True):
        pairs = zip(cases, its_errors, strict=True)
        groups[name] = [planted_flame(mechanism, *pair) for pair in pairs]
        result["flame"] = flames.compare(groups[name], groups["reference"])
    write_json(folder / "validation.json", validation)
    inputs = {"cases": validation["flame_inputs"], "networks": {}}
    write_runs(folder / "flames.h5", groups, mechanism, inputs)


FLAMES = [
    [2e-4] * 4,
    [0.01, 0.02, -0.03, 0.04], [0.01, 0.02, -0.03, 0.01], [0.011, np.nan, -0.052, 0.024],
]  # fmt: skip


def test_flames_head_the_report_where_there_are_flames(whole, drm19, tmp_path, rendered):
    rendered.add("flames")
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    assert "Flames" not in text_of(folder)
    plant_flames(folder, drm19, FLAMES)
    write_report(folder, drm19)
    page, text = read_page(folder), (folder / "report.html").read_text()
    assert (folder / "figures/flames.png").is_file() and text.index("flames.h5") < text.index(
        "<h2>"
    )
    heads, *rows = page.tables[0]
    assert [row[heads.index("flame speed error")] for row in rows[-4:]] == [
        "0.02\u00a0%", "4.00\u00a0%", "3.00\u00a0%", "no flame",
    ]  # fmt: skip
    table = next(t for t in page.tables if t[0][1:3] == ["speed", "thickness"])
    names = [row[0] for row in table[1:]]
    lines = ["solver", "stage 0", "stage 2"]
    assert names[:4] == ["300 K, phi 0.6, 1 atm: 0.400\u00a0m/s, 0.400 mm", *lines]
    at_phi_1 = [row[1] for row in table[10:13]]
    assert at_phi_1 == ["+0.02\u00a0%", "−3.00\u00a0%", "−5.20\u00a0%"]
    assert table[8][1:] == [cells.WENT_OUT, "–", "–", "–"]
    assert "over one more step it differs from CVODE by 0.0002 % of the change" in text_of(folder)
    assert number(table[3][2]) == pytest.approx(100 * (1 - 1 / 1.01), abs=0.01)
    shown = Folder(folder, drm19)
    assert [len(flames) for flames in shown.flames.values()] == [4] * 5


def test_flames_of_other_settings_are_not_drawn(whole, drm19, tmp_path, rendered):
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    plant_flames(folder, drm19, FLAMES)
    validation = json.loads((folder / "validation.json").read_text())
    validation["flame_inputs"] = {"validation": {"flame_phi": [2.0]}}
    write_json(folder / "validation.json", validation)
    write_report(folder, drm19)
    assert not (folder / "figures/flames.png").exists()
    assert "flames.h5 is missing" in text_of(folder)

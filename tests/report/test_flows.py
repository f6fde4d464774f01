"""Flames and stirred reactors: their tables and figures, and what a run lacks of them."""

import shutil

import h5py
import numpy as np
import pytest
from run_folder import Page, a_run, change, number, plant_runs

from combred.experiments.accuracy import ALONE, BEHIND, named
from combred.experiments.storage import write_runs
from combred.files.hdf5 import seal
from combred.report.flows import curve_picture
from combred.report.histories import differences, history
from combred.report.run import write_report

NAN = float("nan")
LINES = ["solver", named(0, ALONE), named(2, ALONE), named(2, BEHIND)]
FLAMES = [
    [2e-4] * 4,
    [0.01, 0.02, -0.03, 0.04], [0.01, 0.02, -0.03, 0.01], [0.011, NAN, -0.052, 0.024],
]  # fmt: skip
STIRRED = [[1e-4, 1e-4], [0.05, 0.02], [0.06, 0.03], [0.01, NAN]]
PLANTED = {"flame": FLAMES, "stirred": STIRRED}
FILES = {"flame": "flames", "stirred": "stirred"}


def test_flames_are_shown_where_there_are_some(whole, drm19):
    assert "Flames" not in Page(whole / "report.html").text
    plant_runs(whole, drm19, "flame", FLAMES)
    write_report(whole, drm19)
    page = Page(whole / "report.html")
    assert (whole / "figures/flames.png").is_file()
    heads, *rows = page.tables[0]
    speeds = [row[heads.index("flame speed")] for row in rows]
    stages = ["8.00 %", "4.00 %", "6.00 %", "3.00 %", "went out", "went out"]
    assert speeds == ["–", "–", "0.02 %", *stages]
    heads, *rows = page.table("thickness")
    assert heads == ["", "outcome", "speed", "thickness", "T, largest", "peaks, largest"]
    assert [row[0] for row in rows[:5]] == ["300 K, phi 0.6, 1 atm: 0.400 m/s, 0.400 mm", *LINES]
    assert [row[2] for row in rows[11:15]] == ["+0.02 %", "−6.00 %", "−10.4 %", "−5.20 %"]
    assert rows[8][1:] == rows[9][1:] == ["went out", "–", "–", "–", "–"]
    assert rows[14][4:] == ["52.0 K", "5.20 %"]
    assert "stage 2, network alone: 300 K, phi 0.8, 1 atm: went out." in page.text
    assert "differs from CVODE by at most 0.0002 % of the change" in page.text


def test_stirred_reactors_are_shown_where_there_are_some(whole, drm19):
    plant_runs(whole, drm19, "stirred", STIRRED)
    write_report(whole, drm19)
    page = Page(whole / "report.html")
    assert "40 particles" in page.text and "residence time is 2 ms" in page.text
    assert (whole / "figures/stirred.png").is_file()
    heads, *rows = page.table("CO, largest")
    assert heads[2:] == [f"{k}, {of}" for k in ("T", "CO") for of in ("largest", "mean")]
    assert [row[0] for row in rows] == ["1 atm", *LINES, "2 atm", *LINES]
    for at, largest in ((1, 0.01), (2, 10.0), (3, 2.0), (4, 1.0), (7, 4.0)):
        found = [number(cell) for cell in rows[at][2:]]
        assert found == pytest.approx([largest, 0.5 * largest] * 2, abs=0.006)
    assert rows[8][1:] == rows[9][1:] == ["not finite", *["–"] * 4]
    heads, *rows = page.tables[0]
    assert [row[heads.index("stirred T")] for row in rows][-2:] == ["not finite"] * 2


def test_the_three_worst_cases_are_drawn_beside_the_reference():
    curve = {"t": [0.0, 1e-3], "T": [1500.0, 1600.0], "Y": {"CO": [0.0, 0.1], "$x": [0.0, 0.2]}}
    curves = {name: [curve] * 4 for name in ("reference", "solver", "stage 0")}
    cases = [("1 atm", 0.03), ("2 atm", 0.01), ("5 atm", None), ("20 atm", 0.02)]
    (picture,) = curve_picture("stirred", "Means.", cases, curves, ("a.json", "b.h5"))
    assert picture.source == "b.h5, a.json" and "The 3 cases" in picture.caption
    figure = picture.draw()
    assert [axes.get_title() for axes in figure.axes][:3] == ["1 atm", "5 atm", "20 atm"]
    assert [len(axes.lines) for axes in figure.axes] == [2] * 12
    labels = [axes.get_ylabel().replace("\n", " ") for axes in figure.axes[::3]]
    assert labels == ["mean T [K]", *(f"difference of {k}" for k in ("T [K]", "Y(CO)", r"Y(\$x)"))]
    assert list(figure.axes[0].lines[0].get_xdata()) == [0.0, 1.0]


def test_differences_are_those_at_the_places_of_the_reference():
    """A ramp that is a quarter late, and a flame without a front."""
    curves = {
        "reference": {"t": [0.0, 1.0, 2.0, 3.0], "T": [1000.0, 1100.0, 1200.0, 1300.0]},
        "late": {"t": [0.0, 2.5], "T": [975.0, 1225.0]},
        "lost": {"t": [float("nan")] * 2, "T": [300.0, 300.0]},
    }
    found = differences(curves)
    assert found["late"][:3].tolist() == [-25.0] * 3 and np.isnan(found["late"][3])
    assert np.isnan(found["lost"]).all() and "reference" not in found
    shown = history("a case", curves, end=1.5)
    assert shown.at == [0.0, 1.0] and shown.T["late"] == [975.0, 1075.0]


@pytest.mark.parametrize(
    ("kind", "why"),
    [("stirred", "missing"), ("flame", "of other settings"), ("stirred", "lacks a stage")],
)
def test_curves_that_cannot_be_drawn_are_named(whole, drm19, kind, why):
    plant_runs(whole, drm19, kind, PLANTED[kind])
    file = whole / f"{FILES[kind]}.h5"
    if why == "missing":
        file.unlink()
    elif why == "of other settings":
        case = {"particles": 8, "dt": 1.0, "residence": 1.0, "mixing": 1.0}
        change(whole, **{f"{kind}_inputs": {"cases": [case]}})
    else:
        with h5py.File(file, "a") as runs:
            del runs["stage2_with_solver"]
        seal(file)
    write_report(whole, drm19)
    assert not (whole / f"figures/{FILES[kind]}.png").exists()
    assert f"{FILES[kind]}.h5 is missing or lacks a result" in Page(whole / "report.html").text


def test_a_damaged_file_and_one_of_another_mechanism_are_refused(whole, drm19, h2o2):
    plant_runs(whole, drm19, "flame", FLAMES)
    write_runs(whole / "flames.h5", {"solver": [a_run("flame", h2o2, 0.0)]}, h2o2, {})
    with pytest.raises(ValueError, match="flames.h5 cannot be used .*another mechanism"):
        write_report(whole, drm19)
    shutil.copy(whole / "validation.json", whole / "flames.h5")
    with pytest.raises(ValueError, match="flames.h5 cannot be used .*Move it away"):
        write_report(whole, drm19)

"""The head of a report: what a flow code should take, warnings, the table of the comparison."""

import json
import re
import shutil

import pytest
from run_folder import CASES, number, numbers_of, numbers_of_solver, read_page, text_of

from combred.report import blocks
from combred.report.folder import Folder
from combred.report.verdict import alarms, comparison, further, sentence
from combred.report.writing import write_report


def with_times(folder, **seconds):
    """The folder with other times of the solver and of stage 2."""
    times = {name: {"median": value} for name, value in seconds.items()}
    timing = folder.timing | {"times": folder.timing["times"] | times}
    folder.validation = folder.validation | {"timing": timing}
    return folder


def test_the_faster_one_is_recommended(whole, drm19):
    folder = Folder(whole, drm19)
    said = sentence(folder).replace(blocks.NBSP, " ")
    assert "should take the generated solver, not a network" in said
    assert "the solver takes 2.00 µs a state, the network 3.33 µs, CVODE 200 µs" in said
    said = sentence(with_times(folder, **{"solver, tolerance 0.01": 2e-6, "stage 2": 1e-6}))
    worst = blocks.percent(numbers_of(whole, 2)["delay_error"]["worst"])
    assert f"take the network of stage 2 where an error of {worst} of the ignition delay" in said
    assert (
        f"else the solver ({blocks.percent(numbers_of_solver(whole)['delay_error']['worst'])})"
        in said
    )


def test_size_and_errors_are_told(whole, drm19):
    result, said = numbers_of(whole, 2), further(Folder(whole, drm19))
    assert "-".join(map(str, result["widths"])) in said
    for value in (result["delay_error"]["median"], result["delay_error"]["worst"]):
        assert blocks.percent(value) in said
    assert result["worst_case"] in said and not alarms(Folder(whole, drm19))


def test_the_table_of_the_comparison_is_validation_json(whole):
    heads, *rows = read_page(whole).tables[0]
    assert heads == ["", "weights", "delay error", "time a state", "left to solver"]
    assert [row[0] for row in rows] == [
        "CVODE, rtol 1e-08, atol 1e-16", "CVODE, rtol 1e-06, atol 1e-10", "solver, tolerance 0.01",
        "stage 0", "stage 1", "stage 2",
    ]  # fmt: skip
    solver = numbers_of_solver(whole)["delay_error"]["worst"]
    assert number(rows[2][2]) == pytest.approx(100 * solver, abs=0.0051)
    assert [number(row[3]) for row in rows[:3]] == [600, 200, 2]
    for stage, row in enumerate(rows[3:]):
        result = numbers_of(whole, stage)
        assert number(row[1]) == result["weights"]
        assert number(row[2]) == pytest.approx(100 * result["delay_error"]["worst"], abs=0.051)
        assert number(row[3]) == pytest.approx(10 / (1 + stage), rel=5e-3)
        assert number(row[4]) == 25


def test_a_column_of_which_nothing_is_known_is_left_out(whole, drm19):
    folder = Folder(whole, drm19)
    folder.timing["solved"] = {}  # networks of the state alone
    table = comparison(folder)
    assert table.columns == ["", "weights", "delay error", "time a state"]
    assert "in TorchScript" in table.caption


def test_a_case_that_does_not_ignite_is_named_first(single, h2o2):
    case = str(CASES[1])
    text = (single / "report.html").read_text()
    alarm = re.search(r'<p class="alarm">(.*?)</p>', text, flags=re.S).group(1)
    assert "1 of 4 cases" in alarm and case in alarm
    assert text.index(alarm) < text.index("<h2>")
    folder = Folder(single, h2o2)
    assert "take the generated solver**" in sentence(folder)
    assert "1 of 4 cases does not ignite" in sentence(folder)
    others = [row["delay_error"] for row in numbers_of(single, 0)["cases"] if row["ignited"]]
    assert f"up to {blocks.percent(max(others))}" in further(folder)
    assert "inf" not in sentence(folder) + further(folder)
    assert read_page(single).row("stage 0")[1] == "no ignition"
    assert "nan" not in re.sub(r'base64,[^"]*', "", text)


def test_reaction_rates_are_named_where_they_are_evaluated(whole, drm19, tmp_path, rendered):
    named = "quasi-steady-state step from the mechanism's reaction rates"
    assert named not in text_of(whole)
    folder = shutil.copytree(whole, tmp_path / "run")
    validation = json.loads((folder / "validation.json").read_text())
    for result in validation["stages"].values():
        result["widths"][0] += 39  # as with network.kinetics
    (folder / "validation.json").write_text(json.dumps(validation))
    write_report(folder, drm19)
    assert named in text_of(folder)

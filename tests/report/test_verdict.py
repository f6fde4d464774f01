"""The head of a report: what a flow code should take, warnings, the table of the comparison."""

import json
import re

import pytest
from run_folder import CASES, Page, number

from combred.experiments.accuracy import ALONE, BEHIND, named
from combred.files.records import write_json
from combred.report.folder import Folder, stages
from combred.report.formats import NBSP, percent
from combred.report.verdict import alarms, further, sentence


@pytest.fixture
def numbers(whole):
    return json.loads((whole / "validation.json").read_text())


def test_the_faster_one_is_recommended(numbers):
    said = sentence(numbers).replace(NBSP, " ")
    assert "should take the generated solver, not a network" in said
    assert (
        "the solver takes 2.00 µs a state, the network with the solver behind it 3.33 µs, CVODE "
        "200 µs" in said
    )
    numbers["timing"]["times"][named(2, BEHIND)] = {"median": 1e-6}
    said = sentence(numbers).replace(NBSP, " ")
    assert "network of stage 2 with the solver behind it where an error of 10.0 % of the" in said
    assert "else the solver (0.01 %)**; the network alone has 30.0 %" in said


def test_the_table_of_the_comparison_is_validation_json(whole, numbers):
    heads, *rows = Page(whole / "report.html").tables[0]
    assert heads == ["", "weights", "delay", "time a state", "left to the solver"]
    assert [row[0] for row in rows] == [
        "CVODE rtol 1e-08 atol 1e-16", "CVODE rtol 1e-06 atol 1e-10", "solver, tolerance 0.01",
        *(named(stage, key) for stage in range(3) for key in (ALONE, BEHIND)),
    ]  # fmt: skip
    assert number(rows[2][2]) == 0.01
    assert [number(row[3]) for row in rows[:3]] == [600, 200, 2]
    both = [(i, of, key) for i, of in stages(numbers).items() for key in (ALONE, BEHIND)]
    for (stage, result, key), row in zip(both, rows[3:], strict=True):
        assert number(row[1]) == result["weights"]
        worst = result[key]["delay_error"]["worst"]
        assert number(row[2]) == pytest.approx(100 * worst, abs=0.051)
        micro = (8 if key == ALONE else 10) / (1 + stage)
        assert number(row[3]) == pytest.approx(micro, rel=5e-3)
        assert row[4] == ("–" if key == ALONE else "25.0 %")


def test_the_head_tells_the_ranges_of_validation_and_training(whole, numbers):
    said = further(numbers).replace(NBSP, " ")
    rows = numbers["solver"]["cases"]
    assert "The ignitions have T0 " in said and f"{max(row['T0'] for row in rows):g} K" in said
    head = Page(whole / "report.html").text.replace(NBSP, " ").partition("Largest errors")[0]
    sampling = json.loads((whole / "settings.json").read_text())["sampling"]
    assert f"The states of the training have T0 {sampling['T0'][0]:g} to " in head
    assert "network alone: delays off by 12.0 % (median) and 30.0 % (worst of 4" in said
    assert "behind it: delays off by 4.00 % (median) and 10.0 % (worst of 4" in said
    assert "25.0 % of the states left to the solver" in said
    for key, error, outcome in ((ALONE, float("inf"), "went out"), (BEHIND, 0.0123, "steady")):
        flame = {"speed_error": {"worst": error}, "outcome": outcome}
        numbers["stages"]["stage2"][key]["flame"] = flame
    said = further(numbers).replace(NBSP, " ")
    assert "flame speeds by at most 1.23 %;" in said and ", a flame **went out**;" in said


def test_a_case_that_does_not_ignite_is_named_first(single):
    page = Page(single / "report.html")
    numbers = json.loads((single / "validation.json").read_text())
    case = f"1500 K, phi {CASES[1][2]:g}, 1 atm"
    alarm = f"Stage 0, network alone: 1 of 4 cases do not ignite, which ignite with CVODE: {case}."
    assert alarm in page.text and page.text.index(alarm) < page.text.index("Ignition")
    assert "take the generated solver**" in sentence(numbers)
    assert "1 of 4 cases does not ignite" in sentence(numbers)
    assert f"up to {percent(0.03)}" in further(numbers)
    assert page.row(named(0, ALONE))[1] == page.row(named(0, BEHIND))[1] == "no ignition"
    assert not re.search(r"\b(nan|inf)\b", page.text)
    for key in (ALONE, BEHIND):
        for row in numbers["stages"]["stage0"][key]["cases"]:
            row |= {"ignited": False, "delay_error": None}
    assert "of the others" not in further(numbers)


def test_the_file_of_a_network_that_is_bad_alone_is_told(whole, drm19):
    """Also where the network with the solver behind it is good."""
    write_json(whole / "export.json", {"stage": 2, "exceeds": {ALONE: "it is 87 %, above 10 %"}})
    (told,) = alarms(Folder(whole, drm19))
    assert told.alarm and "network alone is named `rejected.pt`:** it is 87 %" in told.body


def test_an_export_of_another_stage_and_a_smoke_run_are_told(whole, drm19):
    write_json(whole / "export.json", {"stage": 0})
    write_json(whole / "settings.json", {"profile": "smoke"})
    wrong, mild = alarms(Folder(whole, drm19))
    assert wrong.alarm and "file holds stage 0; this report is about stage 2" in wrong.body
    assert not mild.alarm and "smoke profile" in mild.body

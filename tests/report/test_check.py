"""The page of a check."""

import pytest
from run_folder import Page, flame_rows

from combred.files.records import read_record, write_record
from combred.report.check import comparisons, write_check

pytestmark = pytest.mark.usefixtures("rendered")
LOOK = {"T": [300.0, 400.0, 1500.0, 2000.0], "Y": {"OH": [0.0, 1e-3, 4e-3, 1e-3]}}
CURVES = [{"x": [0.0, 1e-3, 2e-3, 3e-3], **LOOK}] * 2


def case(error):
    row = {"T0": 1200.0, "p": 1e5, "phi": 1.0, "delay": 1e-4}
    return row | {"errors": {"0.01": 2e-3, "0.001": error}}


@pytest.fixture
def record():
    """The numbers of a check, all within their limits, without a counterflow flame."""
    row = {"unit": "1", "right": True, "skipped": "", "reference": "CVODE"}
    flame = {"what": "counterflow flame: peak T", "reference": "the solver in doubles"}
    return {
        "inputs": {
            "mechanism": "gas.yaml", "phase": "gas", "sha256": "ab" * 32, "size": 1.0,
            "version": "0",
            "conditions": {"fuel": "H2:1", "oxidizer": "O2:1", "T0": [900.0, 2000.0],
                           "p": [50662.5, 4053000.0], "phi": [0.3, 3.0]},
        },
        "about": {"species": 10, "reactions": 29, "rates": {"Plog": 2}, "build_seconds": 3.0},
        "seconds": {"stirred reactors": 1.0}, "machine": "a machine",
        "times": [{"dt": 1e-6, "seconds": 1e-6, "steps": 5.0, "cvode_seconds": 5e-4}],
        "verdict": [
            {**row, "what": "ignition delay", "worst": 5e-4, "limit": 1e-3},
            {**row, **flame, "worst": None, "limit": 1.0, "unit": "K",
             "skipped": "gas.yaml has no transport data"},
        ],
        "parts": {
            "ignitions, dt 1e-06 s": [case(5e-4), case(-1e-4)], "ignitions, dt 1e-07 s": [],
            "states of flows": {"rows": 99, "labels": 1e-7, "bad": 0, "failed": 0,
                                "errors": {"0.5": 1e-6, "0.99": 1e-4, "1": 1e-3}},
            "stirred reactors": {
                "cases": [{"case": "1 atm", "outcome": "finished",
                           "errors": {"T": {"largest": 1e-6, "mean": 1e-7}}}] * 2,
                "curves": [{"t": [0.0, 1.0], "T": [9.0, 8.0], "reference": [9.0, 7.9]}] * 2,
                "reference": 1e-8,
            },
            "premixed flame": {"errors": flame_rows([1e-4])[0], "curves": CURVES,
                               "reference": 1e-8},
            "counterflow flame": {"skipped": "gas.yaml has no transport data"},
        },
    }  # fmt: skip


def page(folder, record):
    write_record(folder / "check.json", record)
    return Page(write_check(folder))


def test_the_page_says_what_was_found(tmp_path, record):
    found = page(tmp_path, record)
    assert "All 1 comparisons are within their limits" in found.text
    assert "fuel is H2:1" in found.text
    assert "1.00 µs on one core over 1e-6 s" in found.text
    assert found.row("ignition delay") == ["CVODE", "0.05 %", "0.10 %"]
    assert found.row("counterflow flame: peak T")[:2] == [
        "the solver in doubles", "not compared: gas.yaml has no transport data",
    ]  # fmt: skip
    assert "share the cause" not in found.text
    assert found.row("T0, p") == ["900 to 2000 K, 0.5 to 40 atm"] and "2 Plog" in found.text
    names = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert names == {"delays", "flames", "stirred"} and len(found.all("img")) == 3


def test_the_errors_of_ignitions_flames_and_reactors_are_in_tables(tmp_path, record):
    counterflow = {"peak_T_error": 0.5, "profile_T_error": 0.7, "peak_errors": {"OH": 1e-3}}
    record["parts"]["counterflow flame"] = {
        "strain": 100.2, "outcome": "steady", "errors": counterflow, "curves": CURVES,
        "reference": None,
    }  # fmt: skip
    found = page(tmp_path, record)
    assert found.row("dt 1e-6 s") == ["2", "0.20 %", "0.20 %", "0.03 %", "0.05 %"]
    assert found.row("1200 K, phi 1.00, 0.987 atm, dt 1e-6 s") == ["0.1000", "+0.20 %", "+0.05 %"]
    heads, *rows = found.table("thickness")
    assert rows[1] == ["solver", "steady", "+0.01 %", "0.01 %", "–", "0.10 K", "0.01 %"]
    assert rows[2:] == [
        ["counterflow flame, 100 1/s"],
        ["solver", "steady", "–", "–", "0.50 K", "0.70 K", "0.10 %"],
    ]
    assert found.table("T, mean")[2] == ["solver", "finished", "0.0001 %", "0.00001 %"]


def test_what_is_above_a_limit_heads_the_page(tmp_path, record):
    record["verdict"][0] |= {"worst": None, "right": False}
    record["parts"]["ignitions, dt 1e-06 s"][0]["errors"]["0.001"] = None
    found = page(tmp_path, record)
    assert "1 of 1 comparisons exceed their limit." in found.text
    assert "share the cause. The fuel is H2:1. 1 could not" in found.text
    assert 'class="alarm"><strong>ignition delay</strong>, beside CVODE: <strong>' in found.source
    assert "say nothing of it: counterflow flame: peak T." in found.text
    record["verdict"][0]["worst"] = 2e-3
    assert comparisons(record).rows[0][2].endswith(" **above**")
    record["verdict"][0]["worst"] = 1.0004e-3
    assert comparisons(record).rows[0][2:] == ["0.10004\u00a0% **above**", "0.10\u00a0%"]


def test_nothing_compared_is_told(tmp_path, record):
    record["parts"]["ignitions, dt 1e-06 s"] = []
    for name in ("stirred reactors", "premixed flame"):
        record["parts"][name] = {"skipped": "it goes out"}
    assert "No ignition was compared." in page(tmp_path, record).text


def test_an_unfinished_check_has_no_page(tmp_path, record):
    del record["verdict"]
    write_record(tmp_path / "check.json", record)
    assert read_record(tmp_path / "check.json")
    with pytest.raises(ValueError, match="not finished"):
        write_check(tmp_path)

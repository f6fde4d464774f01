"""The page of a reduced mechanism."""

import numpy as np
import pytest
from run_folder import Page
from test_pages import HOSTILE, require_harmless

from combred.files.records import write_record
from combred.report.skeletal import errors_table, sentence, write_reduction
from combred.report.skeletal_figures import LEAST, draw_cases, draw_errors

pytestmark = pytest.mark.usefixtures("rendered")


@pytest.fixture
def record():
    """The numbers of a reduction of ten species to six."""
    row = {"removed": ["OH"], "seconds": 2.0}
    return {
        "inputs": {
            "mechanism": "gas.yaml", "phase": "gas", "sha256": "ab" * 32, "version": "0",
            "error": 0.01, "species": 0, "keep": ["NO"], "refit": 0.0,
            "ranges": {"fuel": "H2:1", "oxidizer": "O2:1", "T0": [900.0, 2000.0],
                       "p": [50662.5, 4053000.0], "phi": [0.5, 1.5],
                       "flame_p": [101325.0, 1013250.0], "flame_phi": [0.7, 1.3]},
        },
        "path": [
            {**row, "species": 7, "reactions": 20, "errors": {"delay": 1e-5, "flame": 1e-4}},
            {**row, "species": 6, "reactions": 16, "errors": {"delay": 4e-3, "flame": 2e-3}},
            {**row, "species": 5, "reactions": 9, "errors": {"delay": 0.2, "flame": 0.1}},
        ],
        "judged": {"delay": 6e-3, "flame": 2e-3},
        "held_out": {"delay": {"hot": 4e-3, "cold": -8e-3}, "flame": {"lean, speed": 1e-3}},
        "judged_cases": {
            "ignition delay": {
                "1000 K, 1 atm, phi 1": 6e-3, "1250 K, 1 atm, phi 1": None,
                "1000 K, 10 atm, phi 1": 0.0, "1000 K, 1 atm, phi 2": 0.0,
                "1000 K, 1 atm, phi 1, first stage": 0.0,
            },
            "flame": {"300 K, 1 atm, phi 1, speed": 0.5, "300 K, 1 atm, phi 1, largest T": 1e-3},
        },
        "values": {"held_out": {"flame": {"300 K, 1 atm, phi 0.8, speed": 1.5}}, "judged_cases": {
            "ignition delay": {
                "1000 K, 1 atm, phi 1": 2e-4, "1250 K, 1 atm, phi 1": 1e-5,
                "1000 K, 10 atm, phi 1": 1e-4, "1000 K, 1 atm, phi 2": 3e-4,
                "1000 K, 1 atm, phi 1, first stage": 1e-5,
            },
            "flame": {"300 K, 1 atm, phi 1, speed": 2.0, "300 K, 1 atm, phi 1, largest T": 2400.0},
        }},
        "curves": {"300 K, 1 atm, phi 1": [[[1400.0, 1e-5], [2000.0, 1e-3]], [[1414.0, 2e-5],
                   [None, None]]], "300 K, 1 atm, phi 2": [[[1500.0, 1e-5]], []]},
        "species": ["H2", "O2", "H", "O", "OH", "H2O"], "reactions": 14,
        "of": [10, 29], "factors": {},
        "times": [2e-6, 1e-6], "machine": "a machine", "file": "gas-6.yaml",
    }  # fmt: skip


def page(folder, record) -> Page:
    write_record(folder / "reduce.json", record)
    return Page(write_reduction(folder))


def test_the_page_has_the_errors_that_count(tmp_path, record):
    found = page(tmp_path, record)
    head = found.text.partition("Relative errors")[0]
    assert "at 900 to 2000 K, 0.5 to 40 atm, phi 0.5 to 1.5; flames at 300 K, 1" in head
    assert "gas-6.yaml has 6 of 10 species and 14 of 29 reactions, for the fuel H2:1." in found.text
    assert "largest error is 0.80 %" in found.text and "1.00 µs a state" in found.text
    judges, cases, path, _ = found.tables
    assert judges[1:] == [
        ["delay", "0.60 %", "0.80 %", "0.60 %", "2"], ["flame", "0.20 %", "0.10 %", "0.10 %", "1"]
    ]  # fmt: skip
    assert cases[1] == ["delay", "cold", "−0.80 %"] and cases[2] == [
        "delay",
        "hot",
        "+0.40 %",
    ]
    # 5 species: 5 * 0.23 us of transport, 1 us * (5 / 6)^(ln 2 / ln (10 / 6)) of chemistry.
    assert path[-1] == ["5", "OH", "20.0 %", "10.0 %", "1.93 µs"]
    assert len(found.all("img")) == 2
    assert "No flame was judged" not in found.text
    assert "6 within 1 %, 5 within 20 %. It ends at 5 species with an error of 20.0" in found.text


def test_a_reduction_without_flames_says_so(tmp_path, record):
    for key in ("judged", "held_out"):
        record[key].pop("flame")
    for row in record["path"]:
        row["errors"].pop("flame")
    assert "No flame was judged: the mechanism has no transport" in page(tmp_path, record).text


def test_both_mechanisms_are_drawn_in_their_cases(record):
    """Delays at the phi in the middle, without first stages or failures; all speeds; extinction."""
    record["held_out"]["flame"]["300 K, 1 atm, phi 0.8, speed"] = 0.0
    left, middle, right = draw_cases(record).axes
    lines = [[line.get_xydata().tolist() for line in axes.lines] for axes in (left, middle, right)]
    assert lines[0][0] == [[0.8, pytest.approx(0.01)], [1.0, pytest.approx(0.2)]]
    assert lines[0][1][1] == [1.0, pytest.approx(0.2012)] and np.isnan(lines[0][1][0][1])
    assert lines[0][2:] == [[[1.0, pytest.approx(0.1)]]] * 2  # 10 atm, unchanged
    assert lines[1] == [[[0.8, 150.0], [1.0, 200.0]], [[0.8, 150.0], [1.0, 300.0]]]
    assert lines[2][0] == [[pytest.approx(0.01), 1400.0], [pytest.approx(1.0), 2000.0]]
    assert lines[2][1][0] == [pytest.approx(0.02), 1414.0] and np.isnan(lines[2][1][1]).all()
    assert lines[2][2:] == [[[pytest.approx(0.01), 1500.0]], []]  # it does not burn
    assert [text.get_text() for text in right.get_legend().texts] == [
        "1 atm, phi 1",
        "1 atm, phi 2",
    ]


def test_a_refit_is_said_loudly(tmp_path, record):
    """With the reactions whose constants are changed most, the largest first."""
    record["inputs"]["refit"] = 1.3
    record["factors"] = {"3: H + O2 <=> O + OH": 1.02, "9: H + OH <=> H2O": 0.8}
    found = page(tmp_path, record)
    assert "2 rate constants were refitted within a factor of 1.3" in found.text
    assert found.tables[3][1:] == [
        ["9: H + OH <=> H2O", "0.800"],
        ["3: H + O2 <=> O + OH", "1.020"],
    ]


def test_a_case_without_a_result_is_infinite(record):
    record["held_out"]["flame"]["lean, speed"] = None
    assert sentence(record).endswith("largest error is **no result**.")
    assert errors_table(record).rows[1][2] == "**no result**"


def test_a_judge_of_held_out_cases_alone_has_no_judged_error(record):
    """As flames of a dilute gas, of which the judged ones do not burn."""
    del record["judged"]["flame"]
    (row,) = (row for row in errors_table(record).rows if row[0] == "flame")
    assert row[1] == "–" and "%" in row[2]


def test_a_path_without_steps_and_one_without_errors_have_a_page(tmp_path, record):
    """No species can be removed, or those that leave change nothing."""
    for row in record["path"]:
        row["errors"]["delay"] = 0.0
    assert "It ends at 5 species" in page(tmp_path, record).text
    drawn = draw_errors(record).axes[0]
    assert list(drawn.lines[0].get_ydata()) == [LEAST] * 3 and drawn.get_xlim() == (8, 4)
    record["path"] = []
    assert "The search removed no species." in page(tmp_path, record).text


def test_no_text_of_the_numbers_becomes_part_of_the_page(tmp_path, record):
    record["inputs"] |= dict.fromkeys(("mechanism", "phase", "sha256", "version"), HOSTILE)
    record["inputs"]["keep"], record["species"][2] = [HOSTILE], HOSTILE
    record["inputs"]["ranges"] |= {"fuel": HOSTILE, "oxidizer": HOSTILE}
    record["path"][1]["removed"], record["machine"], record["file"] = [HOSTILE], HOSTILE, HOSTILE
    record["held_out"]["delay"] = {HOSTILE: 1e-3}
    record["judged_cases"]["ignition delay"] |= {HOSTILE: 1e-3}
    record["values"]["judged_cases"]["ignition delay"] |= {HOSTILE: 1.0}
    record["curves"][HOSTILE] = [[], []]
    require_harmless(page(tmp_path, record), 2)

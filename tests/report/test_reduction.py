"""The reductions of a report, and the search for the smallest network that meets criteria."""

import numpy as np
import pytest
from run_folder import Page, number

from combred.report.folder import Folder
from combred.report.formats import NBSP, NO_IGNITION
from combred.report.reduction import reduction_section, search_blocks


def test_every_stage_is_told_with_its_size(whole, drm19):
    _, *rows = Page(whole / "report.html").table("how")
    results = Folder(whole, drm19).stages
    assert [row[0] for row in rows] == ["0", "1", "2"]
    for result, row in zip(results.values(), rows, strict=True):
        assert row[2] == "-".join(map(str, result["widths"]))
        assert number(row[3]) == pytest.approx(
            100 * result["weights"] / results[0]["weights"], abs=0.051
        )
    assert rows[1][1] == "condensation of layer 1 at 0.9, largest group 2; least squares"


def test_a_reduction_of_all_layers_is_told_by_its_method(whole, drm19):
    folder = Folder(whole, drm19)
    record = {"method": "brain_surgeon", "parameters": 0.1, "compensation": "least_squares"}
    folder.reductions = {1: record}
    _, one, two = reduction_section(folder)[0].blocks[-1].rows
    told = "brain surgeon, asked 10.0 % of the parameters; least squares"
    assert one[1].replace(NBSP, " ") == told
    assert one[-1] == "–" and two[1] == "– (there is no reduce.json)"


def attempt(number: int, error: float | None, passed: bool, **changes) -> dict:
    """An attempt of the search as reduce.json has it; error: that of the ignition delay."""
    errors = None if error is None else {"ignition": error, "flame": None}
    return {
        "number": number, "parent": 0, "passed": passed, "note": "", "share": 0.9, "seconds": 30.0,
        "shape": {"widths": [23, 40 - number, 23]}, "errors_cut": errors, "errors": errors,
    } | changes  # fmt: skip


def search(trace: list[dict], smallest: int, reason: str = "attempts") -> list:
    criteria = {
        "limits": {"ignition": 0.01, "flame": 0.005}, "seed": 1, "max_keep_ratio": 0.88,
        "cases": {"ignitions": [0] * 8, "flames": [0] * 2}, "reason": reason,
        "smallest": smallest, "trace": trace,
    }  # fmt: skip
    return search_blocks({"criteria": criteria, "weights_after": 1854})


def test_a_search_names_its_limits_attempts_and_end():
    trace = [attempt(0, 0.004, True), attempt(1, 0.009, True), attempt(2, np.inf, False)]
    text, table = search(trace, 1)
    said = text.body.replace(NBSP, " ")
    assert "worst relative error of the ignition delay of 1.00 %" in said
    assert "8 ignitions and 2 flames drawn with seed 1" in said
    assert "Of 2 attempts, 1 met the criteria" in said and "1,854 weights" in said
    assert "number of attempts was used up" in said
    assert [row[:2] for row in table.rows] == [["0", "trained"], ["1", "0"], ["2", "0"]]
    assert NO_IGNITION in table.rows[2] and table.rows[1][-2] == "yes"


def test_a_search_without_a_smaller_network_says_so():
    trace = [attempt(0, 0.004, True), attempt(1, None, False, shape={}, note="diverged")]
    text, note, table = search(trace, 0, "max_keep_ratio")
    assert "would have kept more than 88.0 % of the weights" in text.body.replace(NBSP, " ")
    assert note.alarm and "stage 1 is the network of stage 0" in note.body
    assert table.rows[1][-2] == "no: diverged"

"""The search for the smallest network that meets the acceptance criteria."""

import numpy as np

from combred.report import blocks
from combred.report.reduction import search_blocks


def attempt(number: int, error: float | None, passed: bool, **changes) -> dict:
    """An attempt of the search as reduce.json has it; error: that of the ignition delay."""
    errors = None if error is None else {"ignition": error, "flame": None}
    return {
        **{"number": number, "parent": 0, "factor": 0.6, "passed": passed, "note": ""},
        **{"shape": {"widths": [23, 40 - number, 23], "weights": 1900 - 46 * number}},
        **{"share": 0.9, "errors_cut": errors, "errors": errors, "seconds": 30.0, **changes},
    }


def search_record(trace: list[dict], smallest: int, reason: str = "attempts") -> dict:
    criteria = {
        **{"limits": {"ignition": 0.01, "flame": 0.005}, "seed": 1, "max_keep_ratio": 0.88},
        **{"cases": {"ignitions": [0] * 8, "flames": [0] * 2}, "factor": 0.6},
        **{"reason": reason, "smallest": smallest, "trace": trace},
    }
    return {"criteria": criteria, "weights_after": 1854}


def text_of(found) -> str:
    return found[0].body.replace(blocks.NBSP, " ")


def test_a_search_names_its_limits_attempts_and_end():
    trace = [attempt(0, 0.004, True), attempt(1, 0.009, True), attempt(2, np.inf, False)]
    found = search_blocks(search_record(trace, 1))
    text = text_of(found)
    assert "worst relative error of the ignition delay of 1.00 %" in text
    assert "8 ignitions and 2 flames drawn with seed 1" in text
    assert "2 attempts were made, 1 met the criteria" in text and "1,854 weights" in text
    assert "number of attempts was used up" in text
    table = found[-1]
    assert [row[:2] for row in table.rows] == [["0", "trained"], ["1", "0"], ["2", "0"]]
    assert blocks.NO_IGNITION in table.rows[2] and table.rows[1][-2] == "yes"


def test_a_search_without_a_smaller_network_says_so():
    trace = [attempt(0, 0.004, True), attempt(1, None, False, shape={}, note="diverged")]
    found = search_blocks(search_record(trace, 0, "max_keep_ratio"))
    assert "would have kept more than 88.0 % of the weights" in text_of(found)
    assert found[1].alarm and "stage 1 is the network of stage 0" in found[1].body
    assert found[-1].rows[1][-2] == "no: diverged"


def test_no_search_has_no_blocks():
    assert search_blocks({"layer": 1}) == []

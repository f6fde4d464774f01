"""The search for the smallest network that meets the acceptance criteria."""

import numpy as np

from combred.config import CRITERIA
from combred.report import blocks
from combred.report.criteria import draw_criteria, search_blocks
from combred.report.style import style


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
    assert [axes.get_title() for axes in found[1].figure.axes] == list(CRITERIA.values())[::2]


def test_a_search_without_a_smaller_network_says_so():
    trace = [attempt(0, 0.004, True), attempt(1, None, False, shape={}, note="diverged")]
    found = search_blocks(search_record(trace, 0, "max_keep_ratio"))
    assert "would have kept more than 88.0 % of the weights" in text_of(found)
    assert found[1].alarm and "stage 1 is the network of stage 0" in found[1].body
    assert found[-1].rows[1][-2] == "no: diverged"


def test_no_search_has_no_blocks():
    assert search_blocks({"layer": 1}) == []


def drawn(number, weights, cut, after, passed):
    """An attempt as the figure reads it."""
    return {
        "number": number,
        "shape": {"weights": weights, "widths": [3, weights // 6, 3]} if weights else {},
        "errors_cut": cut,
        "errors": after,
        "passed": passed,
    }


def test_the_figure_draws_each_error_and_the_criteria():
    trace = [
        drawn(0, 6000, None, {"ignition": 0.004, "flame": 0.001}, True),
        drawn(1, 3000, {"ignition": 0.05}, {"ignition": 0.008, "flame": 0.003}, True),
        drawn(2, 1500, {"ignition": np.inf}, {"ignition": 0.03}, False),
        drawn(3, 0, None, None, False),  # nothing so small could be cut
    ]
    with style():
        figure = draw_criteria({"limits": {"ignition": 0.01, "flame": 0.005}, "trace": trace})
        figure.canvas.draw()
    ignition_panel, flame_panel = figure.axes
    for axes, limit, count in ((ignition_panel, 1.0, 5), (flame_panel, 0.5, 2)):
        lines = {line.get_label(): line for line in axes.get_lines()}
        assert lines.pop("limit").get_ydata()[0] == limit
        assert sum(len(line.get_xdata()) for line in lines.values()) == count
    lines = {line.get_label(): line for line in ignition_panel.get_lines()}
    failed = lines["retrained, failed"]
    assert (list(failed.get_xdata()), list(failed.get_ydata())) == ([1500], [3.0])
    # An infinite error lies on the upper edge.
    cut = lines["right after the cut"].get_ydata()
    assert list(cut) == [5.0, ignition_panel.get_ylim()[1]]

"""Ignitions on every page: the tables of errors, and the figure of delays."""

import numpy as np
import pytest
from run_folder import ATM, ignition_rows, number

from combred.report.ignitions import case_table, draw_delays, error_table

LATE = {
    "solver": [1e-4] * 4,
    "stage 0": [0.02, 0.01, -0.03, 0.005],
    "stage 2": [0.06, -0.02, 0.1, np.nan],
}
RESULTS = {name: ignition_rows(late) for name, late in LATE.items()}


def plain(cells):
    return [cell.replace("\u00a0", " ") for cell in cells]


def test_every_case_has_its_errors_with_their_signs():
    table = case_table(RESULTS, "a.json")
    assert table.columns[:-1] == ["case", "delay, CVODE [ms]", *RESULTS]
    for i, row in enumerate(map(plain, table.rows)):
        assert row[0] == RESULTS["solver"][i]["case"]
        assert float(row[1]) == pytest.approx(
            1e3 * RESULTS["solver"][i]["reference_delay"], rel=1e-3
        )
        for cell, late in zip(row[2:], [late[i] for late in LATE.values()], strict=False):
            if np.isfinite(late):
                assert number(cell) == pytest.approx(100 * late, abs=0.051)
            else:
                assert cell == "**no ignition**"
        assert row[5] == "3.00 K"


@pytest.mark.parametrize("key", ["p", "dt"])
def test_mean_and_worst_error_of_every_group(key):
    """Cases are grouped by pressure, or by time step where there are several."""
    rows = [row | ({"dt": 1e-6 * (1 + i % 2)} if key == "dt" else {"p": ATM * (1 + i % 2)})
            for i, row in enumerate(RESULTS["stage 2"])]  # fmt: skip
    table = error_table({"stage 2": rows}, "a.json")
    names = ["dt 1e-6 s", "dt 2e-6 s"] if key == "dt" else ["1 atm", "2 atm"]
    assert [plain(row) for row in table.rows] == [
        [names[0], "2", "8.00 %", "10.0 %"],
        [names[1], "2", "**no ignition**", "**no ignition**"],
    ]


def test_the_figure_has_a_line_for_each_curve_and_a_cross_for_what_does_not_ignite():
    left, right = draw_delays(RESULTS).axes
    curves = [line for line in left.lines if line.get_color() == "#000000"]
    assert [(len(line.get_xdata()), line.get_linestyle()) for line in curves] == [(2, "-")] * 2
    assert left.get_legend_handles_labels()[1] == ["1 atm"]
    assert right.get_legend_handles_labels()[1] == list(RESULTS)
    for line, late in zip(right.lines, LATE.values(), strict=False):
        sizes = [100 * abs(e) for e in late if np.isfinite(e)]
        assert list(line.get_ydata()) == pytest.approx(sizes)
    crosses = [line for line in right.lines if line.get_marker() == "X"]
    assert [list(line.get_xdata()) for line in crosses] == [[1000 / 1700.0]]

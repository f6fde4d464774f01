"""Ignitions: the table of cases, and the figure of delays."""

import pytest
from run_folder import ATM, make_run, number, numbers_of, numbers_of_solver, read_page

from combred.experiments.ignition.rollout import Case
from combred.report.folder import Folder
from combred.report.ignitions import cases_in_words, draw_delays


def test_case_table_is_validation_json(whole):
    heads, *rows = next(t for t in read_page(whole).tables if t[0][0] == "case")
    assert heads[2:5] == ["solver", "stage 0", "stage 2"]
    cases = numbers_of(whole, 2)["cases"]
    others = [of["cases"] for of in (numbers_of_solver(whole), numbers_of(whole, 0))]
    for cells, case, solver, first in zip(rows, cases, *others, strict=True):
        assert cells[0] == case["case"]
        assert float(cells[1]) == pytest.approx(1e3 * case["reference_delay"], rel=1e-3)
        for cell, row in zip(cells[2:5], (solver, first, case), strict=True):
            late = 100 * (row["delay"] / row["reference_delay"] - 1)
            assert number(cell) == pytest.approx(late, abs=0.051)
        assert number(cells[5]) == pytest.approx(case["burnt_T_error"], abs=0.051)


def test_pressures_are_told_in_atmospheres(tmp_path, drm19, rendered):
    cases = [Case(1700.0, p, 1.0) for p in (30398.0, ATM, 20 * ATM)]
    folder = Folder(make_run(tmp_path / "run", drm19, [[0.01, 0.02, 0.03]], cases), drm19)
    assert cases_in_words(folder).replace("\u00a0", " ").endswith("p 0.3, 1 and 20 atm")
    names = [line.get_label() for line in draw_delays(folder).axes[0].lines]
    assert {"CVODE, 0.3 atm", "CVODE, 1 atm", "CVODE, 20 atm"} <= set(names)


def test_the_figure_of_delays_has_a_line_for_each_error_and_no_longer_legend(whole, drm19):
    left, right = draw_delays(Folder(whole, drm19)).axes
    shown = [name for name in left.get_legend_handles_labels()[1]]
    assert shown == ["CVODE, 1 atm", "stage 2, phi 0.6", "stage 2, phi 1.4"]
    assert [line.get_label() for line in right.lines] == ["solver", "stage 0", "stage 2"]
    for line, stage in zip(right.lines[1:], (0, 2), strict=True):
        errors = [100 * row["delay_error"] for row in numbers_of(whole, stage)["cases"]]
        assert list(line.get_xdata()) == pytest.approx(errors)


def test_a_case_that_does_not_ignite_is_a_cross_at_the_edge(single, h2o2):
    right = draw_delays(Folder(single, h2o2)).axes[1]
    crosses = [line for line in right.lines if line.get_marker() == "X"]
    assert [list(line.get_ydata()) for line in crosses] == [[1]]
    assert crosses[0].get_xdata()[0] == right.get_xlim()[1]

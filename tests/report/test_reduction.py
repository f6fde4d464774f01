"""The reductions of a run."""

import pytest
from run_folder import number, numbers_of, read_page

from combred.report.folder import Folder
from combred.report.reduction import reduction_section


def test_every_stage_is_told_with_its_size(whole):
    _, *rows = next(t for t in read_page(whole).tables if t[0][0] == "stage")
    assert [row[0] for row in rows] == ["0", "1", "2"]
    full = numbers_of(whole, 0)["weights"]
    for stage, row in enumerate(rows):
        result = numbers_of(whole, stage)
        assert row[2] == "-".join(map(str, result["widths"]))
        assert number(row[3]) == pytest.approx(100 * result["weights"] / full, abs=0.051)
    assert rows[1][1].startswith("condensation of layer 1 at 0.999, largest group 2")


def test_a_reduction_of_all_layers_is_told_by_its_method(whole, drm19):
    folder = Folder(whole, drm19)
    record = {"method": "brain_surgeon", "parameters": 0.1, "compensation": "least_squares"}
    folder.reductions = {1: record}
    table = reduction_section(folder).blocks[-1]
    how, left = table.rows[1][1].replace("\u00a0", " "), table.rows[1][-1]
    assert how == "brain surgeon, asked 10.0 % of the parameters; least squares" and left == "–"
    folder.reductions = {}
    said = reduction_section(folder).blocks[0].body
    assert "no reduce.json" in said


def test_nothing_reduced_has_no_section(single, h2o2):
    assert reduction_section(Folder(single, h2o2)) is None

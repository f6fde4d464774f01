"""The tables of stages and cases have the numbers of validation.json."""

import pytest
from run_folder import number, numbers_of, read_page


def test_stage_table_is_validation_json(whole):
    page = read_page(whole)
    for stage in range(3):
        result = numbers_of(whole, stage)
        assert page.row("widths")[stage] == "-".join(map(str, result["widths"]))
        assert number(page.row("weights")[stage]) == result["weights"]
        assert page.row("worst case")[stage] == result["worst_case"]
        for kind in ("median", "worst"):
            written = number(page.row(f"delay error, {kind}")[stage])
            assert written == pytest.approx(100 * result["delay_error"][kind], abs=0.051)
        burnt = number(page.row("burnt T error, worst")[stage])
        assert burnt == pytest.approx(result["burnt_T_error"]["worst"], abs=0.051)
        assert number(page.row("surrogate")[stage]) == pytest.approx(10 / (1 + stage), rel=5e-3)
    share = numbers_of(whole, 2)["weights"] / 6_802_800
    assert number(page.row("of the paper's full network")[2]) == pytest.approx(
        100 * share, abs=0.006
    )
    assert number(page.row("CVODE rtol 1e-08 atol 1e-16 ÷ surrogate")[0]) == 60


def test_case_table_is_validation_json(whole):
    rows = next(t for t in read_page(whole).tables if t[0][0] == "T0 [K]")
    cases = numbers_of(whole, 2)["cases"]
    assert len(rows) == 1 + len(cases)
    for cells, case, first in zip(rows[1:], cases, numbers_of(whole, 0)["cases"], strict=True):
        assert [float(c) for c in cells[:2]] == [case["T0"], case["phi"]]
        assert float(cells[2]) == pytest.approx(1e3 * case["reference_delay"], rel=1e-3)
        assert float(cells[3]) == pytest.approx(1e3 * case["delay"], rel=1e-3)
        late = 100 * (case["delay"] / case["reference_delay"] - 1)
        assert number(cells[4]) == pytest.approx(late, abs=0.051)
        assert abs(number(cells[5])) == pytest.approx(100 * first["delay_error"], abs=0.051)
        peak = case["peak_errors"]["CO"]
        assert number(cells[8]) == pytest.approx(100 * peak, abs=0.051)

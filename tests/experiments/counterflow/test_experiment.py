"""Counterflow flames: the references, and what starts from them."""

import pytest
from hydrogen import INERT, MIXTURE

from combred.experiments.cells import STEADY
from combred.experiments.counterflow.cantera_flame import CounterflowCase
from combred.experiments.counterflow.experiment import CounterflowFlames
from combred.experiments.counterflow.flame import CounterflowMarch


def test_the_solver_stays_at_its_references_and_inert_gas_has_no_errors(
    h2o2, solver_of, in_this_process
):
    case = CounterflowCase("H2:1, N2:4", "O2:1, N2:3.76")
    march = CounterflowMarch(cells=40, tolerance=3.0)
    flames = CounterflowFlames(h2o2, MIXTURE, [case], 1e-5, march, strain=400.0)
    references = flames.reference()
    assert references[0].outcome == STEADY
    (row,) = flames.compare(flames.follow(solver_of(h2o2), references), references)["cases"]
    assert row["peak_T_error"] < 1.0 and row["peak_errors"]["OH"] < 0.01
    (row,) = flames.compare(flames.follow(INERT, references), references)["cases"]
    assert row["peak_T_error"] != row["peak_T_error"] and row["peak_errors"] == {}  # NaN
    with pytest.raises(ValueError, match="extinct"):
        CounterflowFlames(h2o2, MIXTURE, [case], 1e-5, march, strain=1e6).begin(case)

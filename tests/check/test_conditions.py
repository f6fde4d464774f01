"""The conditions of a check: fuel, oxidizer, and the lowest temperature that ignites."""

import numpy as np
import pytest

from combred.check import conditions as check_conditions
from combred.check.conditions import find_conditions
from combred.chemistry.reactor import CVODE
from combred.experiments.ignition.rollout import AT, TRIED, WITHIN


def test_the_lowest_temperature_is_the_first_that_ignites_by_cvode(h2o2, conditions):
    assert conditions.fuel == "H2:1" and conditions.oxidizer == "O2:1, N2:3.76"
    lowest = conditions.T0[0]
    T = np.array([lowest - (TRIED[1] - TRIED[0]), lowest])
    Y = np.tile(h2o2.mixture("H2:1", "O2:1, N2:3.76", 1.0), (2, 1))
    later, _ = CVODE(h2o2, 1e-9, 1e-17).advance(T, np.full(2, AT), Y, WITHIN)
    assert (later > T + 400.0).tolist() == [False, True]


def test_names_are_the_mechanism_s(h2o2, solver, conditions):
    same = find_conditions(h2o2, solver, "h2", "o2:1, n2:3.76")
    assert same.fuel == "H2:1" and same.oxidizer == "O2:1, N2:3.76" and same.T0 == conditions.T0


def test_gas_that_ignites_above_the_usual_range_has_one_upwards(h2o2, solver, monkeypatch):
    monkeypatch.setattr(check_conditions, "coldest_ignition", lambda *_: 2025.0)
    assert find_conditions(h2o2, solver).T0 == (2025.0, 2225.0)


def test_gas_whose_T_rises_by_little_has_conditions(h2o2, solver, conditions):
    """By 120 K: it ignites at the temperature at which undiluted gas does, or nearby."""
    diluted = find_conditions(h2o2, solver, "H2:1", "O2:1, AR:50")
    assert abs(diluted.T0[0] - conditions.T0[0]) < 200.0


@pytest.mark.parametrize(
    ("fuel", "oxidizer", "message"),
    [
        ("CH4:1", "auto", "no species 'CH4'"),
        ("H2O:1", "auto", "does not burn"),
        ("H2:1", "O2:1, N2:1e6", "does not ignite within 0.05 s.*T is less than 1 K higher"),
    ],
)
def test_what_does_not_burn_is_an_error(h2o2, solver, fuel, oxidizer, message):
    with pytest.raises(ValueError, match=message):
        find_conditions(h2o2, solver, fuel, oxidizer)

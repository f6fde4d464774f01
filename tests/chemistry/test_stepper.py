"""What advances states: rows that are not advanced, and warnings."""

import re
import warnings

import numpy as np
import pytest

from combred.chemistry.states import is_state, states_of
from combred.chemistry.stepper import Solution, Stepper, advance_each


class Still(Stepper):
    """Leaves states as they are; of a state at 1234 K it says that it failed."""

    def attempt(self, T, p, Y, dt, tolerance=None, max_steps=0):
        states = states_of(T, p, Y)
        failed = ~is_state(states) | (states[:, 0] == 1234.0)
        error = np.where(failed, np.inf, 0.5)
        return Solution(states[:, 0], states[:, 1], states[:, 2:], error, np.full(len(error), 7))


def test_rows_that_are_not_advanced_are_named_with_the_reason():
    T, Y = np.full(9, 1500.0), np.full((9, 4), 0.25)
    assert np.array_equal(Still().integrate(T, 1e5, Y, 1e-6).T, T)
    T[[3, 8]] = 1234.0
    said = "2 of 9 states cannot be advanced (rows 3, 8); the first has T = 1234 K, p = 100000 Pa, "
    said += "sum Y = 1: after 7 steps it had not reached dt = 1e-06 s, or T had left 100 to 6000 K"
    said += ": take a shorter dt"
    for call in (Still().advance, Still().integrate):
        with pytest.raises(ValueError, match=re.escape(said)):
            call(T, 1e5, Y, 1e-6)
    T[:7] = 27.0
    with pytest.raises(ValueError, match=r"8 of 9 .*\(rows 0, 1, 2, 3, 4, \.\.\.\).*was it in °C"):
        Still().advance(T, 1e5, Y, 1e-6)


@pytest.mark.parametrize("call", [Still().advance, Still().integrate])
def test_a_pressure_in_atm_is_told_once(call):
    T, Y = np.full(2, 1500.0), np.full((2, 4), 0.25)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("default")
        for _ in range(3):
            call(T, [1.0, 1e5], Y, 1e-6)
    (one,) = heard
    assert "not in atm" in str(one.message) and one.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(T, 1e5, Y, 1e-6)


def test_a_row_that_fails_stops_no_other():
    T, Y = np.array([1500.0, 1234.0, 27.0]), np.full((3, 4), 0.25)
    found = advance_each(Still(), T, 1e5, Y, 1e-6)
    assert np.array_equal(found[0], [1500.0, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(np.isnan(found[1]).all(axis=1), [False, True, True])

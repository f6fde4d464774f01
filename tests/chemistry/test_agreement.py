"""The difference of results from CVODE's: relative to the change of a state, with floors."""

import numpy as np
import pytest

from combred.chemistry.agreement import (
    ATOL,
    FLOOR_T,
    FLOOR_Y,
    RTOL,
    difference_from_cvode,
    require_small,
)
from combred.chemistry.reactor import CVODE


@pytest.fixture(scope="module")
def exact(mechanism, path):
    """The states of an ignition, their time steps, and CVODE's results."""
    before, dt = (path.T, path.p, path.Y), np.geomspace(1e-8, 1e-5, len(path.T))
    return before, dt, CVODE(mechanism, RTOL, ATOL).advance(*before, dt)


def test_a_difference_is_relative_to_the_change_and_a_floor(mechanism, exact):
    before, dt, (T, Y) = exact
    expected = np.full(len(dt), 0.1)
    moved_T = T + 0.1 * (np.abs(T - before[0]) + FLOOR_T)
    assert difference_from_cvode(mechanism, before, dt, (moved_T, Y)) == pytest.approx(expected)
    moved_Y = Y.copy()
    moved_Y[:, 0] += 0.1 * (np.abs(Y - before[2]).max(1) + FLOOR_Y)
    assert difference_from_cvode(mechanism, before, dt, (T, moved_Y)) == pytest.approx(expected)


def test_negative_mass_fractions_are_nothing_as_in_the_solver(mechanism, exact):
    (T0, p, Y0), dt, after = exact
    transported = np.where(Y0 < 1e-12, -5e-7, Y0)
    off = difference_from_cvode(mechanism, (T0, p, transported), dt, after)
    assert np.any(transported < 0.0) and off.max() < 1e-6


def test_the_largest_is_told_and_refused_where_it_is_too_large(mechanism):
    off = np.array([0.0, 5e-4, np.nan])
    assert require_small(mechanism, off) == (5e-4, 2)
    off[1] = 0.04
    with pytest.raises(ValueError, match=f"solver of {mechanism.name} differ from CVODE's.*report"):
        require_small(mechanism, off)

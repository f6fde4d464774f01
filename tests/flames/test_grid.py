"""Refinement of grids."""

import cantera as ct
import numpy as np
import pytest

from combred.flames.grid import Criteria, refined, widened


def largest_ratio(grid):
    """Of two neighbouring intervals."""
    intervals = np.diff(grid)
    ratios = intervals[1:] / intervals[:-1]
    return max(ratios.max(), (1.0 / ratios).max())


def test_the_criteria_are_cantera_s(h2o2, tight):
    """A grid that Cantera refines once, from the same profiles."""
    for slope, curve in ((0.1, 0.2), (0.05, 0.4), (0.5, 0.05)):
        profiles = ct.FreeFlame(tight.gas, grid=tight.grid)
        profiles.from_array(tight.to_array())
        profiles.set_refine_criteria(ratio=3.0, slope=slope, curve=curve, prune=0.0)
        profiles.refine(0)
        x = np.column_stack([tight.T, tight.Y.T])
        grid, moved = refined(tight.grid, x, Criteria(3.0, slope, curve), 5)
        # Cantera looks at velocity, too, which is that of T where M is constant.
        assert abs(len(grid) - len(profiles.grid)) <= 0.05 * len(grid)
        assert np.isin(profiles.grid, grid).mean() > 0.95
        assert moved.shape == (len(grid), x.shape[1])


def test_profiles_are_interpolated_on_new_points():
    grid = np.linspace(0.0, 1.0, 9)
    x = np.column_stack([np.tanh(8.0 * (grid - 0.5)), 1.0 - grid])
    new, moved = refined(grid, x, Criteria(3.0, 0.2, 0.3), 4)
    assert set(grid) <= set(new) and (np.diff(new) > 0.0).all()
    for k in range(2):
        np.testing.assert_allclose(moved[:, k], np.interp(new, grid, x[:, k]), atol=1e-14)


def test_a_grid_that_meets_the_criteria_stays():
    grid = np.linspace(0.0, 1.0, 9)
    assert refined(grid, np.column_stack([grid]), Criteria(3.0, 0.2, 0.3), 4) is None


def test_intervals_differ_from_their_neighbours_by_the_ratio():
    grid = np.array([0.0, 0.01, 0.02, 0.5, 1.0])
    profiles = grid, np.column_stack([np.zeros(5)])
    for _ in range(20):
        new = refined(*profiles, Criteria(2.0, 0.5, 0.5), 2)
        if new is None:
            break
        profiles = new
    intervals = np.diff(profiles[0])
    assert (
        max((intervals[1:] / intervals[:-1]).max(), (intervals[:-1] / intervals[1:]).max()) <= 2.0
    )


def test_points_that_are_not_needed_are_taken_out_but_for_the_fixed_one_and_the_ends():
    grid = np.linspace(0.0, 1.0, 101)
    x = np.column_stack([np.tanh(20.0 * (grid - 0.5))])
    criteria = Criteria(3.0, 0.3, 0.5, 0.3)
    new, _ = refined(grid, x, criteria, 77)
    assert len(new) < 80 and {grid[0], grid[77], grid[-1]} <= set(new)
    intervals = np.diff(new)
    assert (
        max((intervals[1:] / intervals[:-1]).max(), (intervals[:-1] / intervals[1:]).max()) <= 3.0
    )


def test_a_domain_grows_at_the_end_that_is_not_flat():
    grid = np.linspace(0.0, 1.0, 11)
    cut = np.column_stack([300.0 + 1000.0 * np.clip(grid * 2.0, 0.0, 1.0)])
    new, x = widened(grid, cut, 0.02)
    assert (new[0], new[-1]) == (-0.5, 1.0) and x[0, 0] == x[1, 0] == 300.0
    new, x = widened(grid, 1600.0 - cut[::-1], 0.02)
    assert (new[0], new[-1]) == (0.0, 2.0)
    flat = np.column_stack([300.0 + 1000.0 * (grid > 0.5)])
    assert widened(grid, flat, 0.02) is None


@pytest.mark.parametrize("wrong", [{"ratio": 1.5}, {"slope": 0.0}, {"curve": 1.5}, {"prune": 0.5}])
def test_criteria_without_meaning_are_refused(wrong):
    with pytest.raises(ValueError, match="give a ratio from 2"):
        Criteria(**wrong)

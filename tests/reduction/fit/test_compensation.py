"""Compensation by least squares against numpy, and never worse than the mixing of the method."""

import numpy as np
import pytest
import torch
from reducible import gaussian

from combred.reduction import Merge
from combred.reduction.fit.calibration import moments
from combred.reduction.fit.compensation import refit


def keep(kept: list[int], units: int) -> Merge:
    """The merge that keeps some units and drops the others."""
    return Merge.prune(torch.tensor(kept), units)


@pytest.mark.parametrize("asymmetric, intercept", [(True, True), (True, False), (False, False)])
def test_without_ridge_the_mixing_is_the_least_squares_of_numpy(asymmetric, intercept):
    A = gaussian(300, 9, seed=1).abs()
    B = gaussian(300, 9, seed=2).abs() if asymmetric else A
    merge = refit(keep([1, 4, 7], 9), moments([(A, B)]), ridge=1e-14, intercept=intercept)
    design = np.column_stack([B[:, [1, 4, 7]], np.full(300, float(intercept))])
    expected = np.linalg.lstsq(design, A.numpy(), rcond=None)[0]
    # Normal equations of condition 10 in float64.
    assert np.allclose(merge.mixing, expected[:3], rtol=0, atol=1e-11)
    assert np.allclose(merge.offset, expected[3], rtol=0, atol=1e-11)
    assert merge.offset.any() == intercept


def test_with_ridge_the_mixing_is_the_minimum_that_refit_defines():
    A, ridge = gaussian(200, 6).abs(), 0.3
    start = keep([0, 2], 6)
    merge = refit(start, moments([(A, A)]), ridge)
    G = np.cov(A[:, [0, 2]].numpy().T, bias=True)
    weight = ridge * np.trace(G) / 2
    # The same minimum as ordinary least squares with rows sqrt(n w) (Z - Z0) appended.
    design = np.column_stack([A[:, [0, 2]], np.ones(200)])
    rows = np.sqrt(200 * weight) * np.eye(3)[:2]
    target = np.vstack([A, rows[:, :2] @ start.mixing.numpy()])
    expected = np.linalg.lstsq(np.vstack([design, rows]), target, rcond=None)[0]
    assert np.allclose(merge.mixing, expected[:2], rtol=0, atol=1e-11)  # condition 10, float64
    assert np.allclose(merge.offset, expected[2], rtol=0, atol=1e-11)


def test_activations_of_the_kept_units_alone_are_enough():
    # They come from a network whose kept units a method has moved.
    A, B = gaussian(300, 9, seed=1).abs(), gaussian(300, 9, seed=2).abs()
    whole = refit(keep([1, 4, 7], 9), moments([(A, B)]))
    narrow = refit(keep([1, 4, 7], 9), moments([(A, B[:, [1, 4, 7]])]))
    assert torch.allclose(whole.mixing, narrow.mixing, rtol=0, atol=1e-12)  # order of sums
    assert torch.allclose(whole.offset, narrow.offset, rtol=0, atol=1e-12)

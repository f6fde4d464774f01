"""Relative errors, their summaries, and peaks, where the result is known."""

import numpy as np
import pytest

from combred.experiments.ignition.rollout import Case, Rollout
from combred.experiments.metrics import relative_error, summarize, tracked_species


def test_relative_error_refers_to_the_reference():
    assert relative_error(1.1, 1.0) == pytest.approx(0.1, rel=1e-12)  # float64
    assert relative_error(-3.0, -2.0) == 0.5
    assert np.isnan(relative_error(np.nan, 1.0))


def test_a_failure_makes_mean_and_worst_infinite():
    assert summarize([0.1, 0.3, 0.2]) == pytest.approx(
        {"median": 0.2, "mean": 0.2, "worst": 0.3}, rel=1e-12
    )
    assert summarize([0.1, np.nan, 0.2]) == {"median": 0.2, "mean": np.inf, "worst": np.inf}


def test_the_intermediates_of_hydrogen_are_compared(h2o2, ignitions):
    # H2O exceeds its equilibrium in some.
    assert set(tracked_species(h2o2, ignitions)) == {"H", "O", "OH", "HO2", "H2O2", "H2O"}


def test_a_species_that_is_not_formed_is_not_compared(drm19):
    # Hydrogen in a methane mechanism: CVODE's CO and CH2O are exactly zero.
    case = Case(1500.0, 101325.0, 1.0)
    Y = np.tile(drm19.mixture("H2:1", "O2:1, N2:3.76", 1.0), (4, 1))
    for name in ("OH", "H"):
        Y[2, drm19.index(name)] = 1e-3
    rollout = Rollout(case, np.arange(4) * 1e-6, np.array([1500.0, 1510.0, 2500.0, 2510.0]), Y)
    assert set(tracked_species(drm19, [rollout])) == {"OH", "H"}

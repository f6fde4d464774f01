"""Relative errors and their summaries, where the result is known."""

import numpy as np
import pytest

from combred.validation.metrics import relative_error, summarize


def test_relative_error_refers_to_the_reference():
    assert relative_error(1.1, 1.0) == pytest.approx(0.1, rel=1e-12)  # float64
    assert relative_error(-3.0, -2.0) == 0.5
    assert np.isnan(relative_error(np.nan, 1.0))


def test_a_failure_makes_mean_and_worst_infinite():
    assert summarize([0.1, 0.3, 0.2]) == pytest.approx(
        {"median": 0.2, "mean": 0.2, "worst": 0.3}, rel=1e-12
    )
    assert summarize([0.1, np.nan, 0.2]) == {"median": 0.2, "mean": np.inf, "worst": np.inf}

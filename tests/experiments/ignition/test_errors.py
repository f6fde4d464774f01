"""Errors of ignitions: those of equal rollouts vanish, planted ones are found, failures count."""

from dataclasses import replace

import numpy as np
import pytest
from hydrogen import MIXTURE

from combred.experiments.ignition.delay import ignition_delay
from combred.experiments.ignition.experiment import Ignitions
from combred.experiments.ignition.rollout import Rollout


def compare(mechanism, found, references):
    return Ignitions(mechanism, MIXTURE, [], 1.0, 0.0).compare(found, references)


def copy_of(ref: Rollout) -> Rollout:
    """A rollout with its own T and Y."""
    return replace(ref, T=ref.T.copy(), Y=ref.Y.copy())


def test_equal_rollouts_have_no_error(h2o2, ignitions):
    result = compare(h2o2, ignitions, ignitions)
    assert result["all_ignite"]
    none = {"median": 0.0, "mean": 0.0, "worst": 0.0}
    assert result["delay_error"] == result["burnt_T_error"] == none


def test_planted_errors_are_found(h2o2, ignitions):
    ref = ignitions[1]
    wrong = copy_of(ref)
    wrong.T[-1] += 3.0
    row = compare(h2o2, [wrong], [ref])["cases"][0]
    # Differences of numbers near 3000 in float64.
    assert row["burnt_T_error"] == pytest.approx(3.0, abs=1e-9)
    assert row["delay_error"] == 0.0


@pytest.mark.parametrize("first_nan", [1, 10, 200])
def test_a_rollout_that_becomes_nan_has_infinite_errors(h2o2, ignitions, first_nan):
    ref = ignitions[0]
    broken = copy_of(ref)
    broken.T[first_nan:], broken.Y[first_nan:] = np.nan, np.nan
    result = compare(h2o2, [broken, ignitions[1]], [ref, ignitions[1]])
    assert result["burnt_T_error"]["worst"] == np.inf
    delay = ignition_delay(h2o2, ref, ref.T[-1])
    assert result["all_ignite"] == (ref.t[first_nan] > delay)
    if not result["all_ignite"]:
        assert result["delay_error"]["worst"] == np.inf
        assert result["worst_case"] == str(ref.case)


def test_a_mixture_that_stays_cold_has_not_ignited(h2o2, ignitions):
    ref = ignitions[0]
    cold = copy_of(ref)
    cold.T[:] = ref.T[0]
    row = compare(h2o2, [cold], [ref])["cases"][0]
    assert not row["ignited"] and np.isnan(row["delay_error"])
    assert row["reference_delay"] == ignition_delay(h2o2, ref, ref.T[-1])
    assert row["burnt_T_error"] > 1000.0

"""Sensitivities of the speed, beside differences of two flames."""

from dataclasses import replace

import numpy as np
import pytest

from combred.flames.free import _steady
from combred.flames.result import FreeFlame
from combred.native.flame_library import Method

EXACT = Method(rtol=1e-10, atol=1e-16)
CHANGE = 0.01


@pytest.mark.parametrize("transport", ["mixture-averaged", "unity-Lewis-number"])
def test_sensitivities_are_those_of_differences(coarse, transport):
    gas = replace(coarse.profiles.gas, transport=transport)
    profiles = _steady(replace(coarse.profiles, gas=gas), EXACT)
    sensitivities = FreeFlame(profiles).sensitivities()
    largest = np.argsort(-np.abs(sensitivities))[:4]
    for i in largest:
        speeds = []
        for factor in (1.0 + CHANGE, 1.0 - CHANGE):
            factors = np.ones(len(sensitivities))
            factors[i] = factor
            speeds.append(_steady(replace(profiles, gas=replace(gas, factors=factors)), EXACT).M)
        expected = np.log(speeds[0] / speeds[1]) / np.log((1.0 + CHANGE) / (1.0 - CHANGE))
        # The third derivative adds CHANGE^2 / 3 times a number of the order of 1.
        assert sensitivities[i] == pytest.approx(expected, rel=3e-4)


def test_sensitivities_add_up_to_that_of_all_rates(coarse):
    """All rate constants times a factor."""
    profiles = _steady(coarse.profiles, EXACT)
    speeds = []
    for factor in (1.0 + CHANGE, 1.0 - CHANGE):
        gas = replace(profiles.gas, factors=np.full(len(profiles.gas.factors), factor))
        speeds.append(_steady(replace(profiles, gas=gas), EXACT).M)
    expected = np.log(speeds[0] / speeds[1]) / np.log((1.0 + CHANGE) / (1.0 - CHANGE))
    assert FreeFlame(profiles).sensitivities().sum() == pytest.approx(expected, rel=1e-4)

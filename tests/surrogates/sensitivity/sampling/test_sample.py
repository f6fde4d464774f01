"""The plan of states with sensitivities, and their sampler."""

from dataclasses import replace

import numpy as np
import pytest
from hydrogen import SENSITIVE

from combred.chemistry.reactor import IntegrationError
from combred.config.data import SensitivitySettings
from combred.surrogates.sensitivity.sampling.sample import (
    SensitiveSampler,
    SensitiveTrajectory,
    plan,
)


def sampler(mechanism, sampling=SENSITIVE, seed=0):
    return SensitiveSampler(mechanism, sampling, seed)


def test_flames_come_first_and_need_transport_data(h2o2, kinds):
    found = plan(h2o2, SensitivitySettings(ignitions=3, flames=2, counterflows=1, kernels=1))
    assert [t.kind for t in found] == ["counterflow", *["flame"] * 2, "kernel", *["ignition"] * 3]
    # Another number of kernels leaves the others as they are.
    assert [t.index for t in found] == [5, 0, 1, 6, 2, 3, 4]
    without = plan(kinds, SensitivitySettings(ignitions=1, flames=2, counterflows=2, kernels=1))
    assert [t.kind for t in without] == ["kernel", "ignition"]


def test_a_trajectory_depends_on_seed_and_index_alone(h2o2):
    first = sampler(h2o2)
    ignition = first.states(SensitiveTrajectory(4, "ignition"))
    assert set(ignition.trajectory) == {400}
    again = sampler(h2o2)
    again.states(SensitiveTrajectory(1, "ignition"))
    same = again.states(SensitiveTrajectory(4, "ignition"))
    assert all(
        np.array_equal(a, b)
        for a, b in zip(same.columns().values(), ignition.columns().values(), strict=True)
    )
    other = sampler(h2o2, seed=1).states(SensitiveTrajectory(4, "ignition"))
    assert not np.array_equal(other.T, ignition.T)


def test_a_mixture_that_does_not_ignite_is_drawn_again_and_then_given_up(h2o2):
    cold = replace(SENSITIVE, T0=[400.0, 500.0])
    with pytest.raises(IntegrationError, match="no delay between .* and 0.05 s: 4"):
        sampler(h2o2, cold).states(SensitiveTrajectory(0, "ignition"))

"""The plan of states with sensitivities, and their sampler."""

import re
from dataclasses import replace

import numpy as np
from hydrogen import SENSITIVE

from combred.config.data import SensitivitySettings
from combred.surrogates.sensitivity.sampling.sample import (
    SensitiveSampler,
    SensitiveTrajectory,
    plan,
)


def sampled(mechanism, *indices, sampling=SENSITIVE, seed=0):
    """The rows of the last of some ignitions, or None, and why."""
    sampler = SensitiveSampler(mechanism, sampling, seed)
    return [sampler.attempt(SensitiveTrajectory(i, "ignition")) for i in indices][-1]


def test_flames_come_first_and_need_transport_data(h2o2, kinds):
    found = plan(h2o2, SensitivitySettings(ignitions=3, flames=2, counterflows=1, kernels=1))
    assert [t.kind for t in found] == ["counterflow", *["flame"] * 2, "kernel", *["ignition"] * 3]
    # Another number of kernels leaves the others as they are.
    assert [t.index for t in found] == [5, 0, 1, 6, 2, 3, 4]
    without = plan(kinds, SensitivitySettings(ignitions=1, flames=2, counterflows=2, kernels=1))
    assert [t.kind for t in without] == ["kernel", "ignition"]


def test_a_trajectory_depends_on_seed_and_index_alone(h2o2):
    ignition, _ = sampled(h2o2, 4)
    assert set(ignition.trajectory) == {400}
    same, _ = sampled(h2o2, 1, 4)
    assert all(
        np.array_equal(a, b)
        for a, b in zip(same.columns().values(), ignition.columns().values(), strict=True)
    )
    other, _ = sampled(h2o2, 4, seed=1)
    assert not np.array_equal(other.T, ignition.T)


def test_a_mixture_that_does_not_ignite_is_drawn_again_and_then_given_up(h2o2):
    cold = replace(SENSITIVE, T0=[400.0, 500.0])
    rows, reason = sampled(h2o2, 0, sampling=cold)
    assert rows is None and re.match("no delay between .* and 0.05 s: 4", reason)

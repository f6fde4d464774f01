"""The plan of a state file: reproducible, with the rows and in the ranges of the settings."""

import numpy as np
import pytest

from combred.config import SamplingSettings
from combred.dataset.plan import plan_trajectories

PLANS = [
    SamplingSettings(),
    SamplingSettings(states=1000, ignitions=7, flames=0),
    SamplingSettings(states=1000, ignitions=7, flames=3),
]


@pytest.mark.parametrize("settings", PLANS)
def test_a_plan_depends_on_settings_and_seed_alone(settings):
    plan = plan_trajectories(settings, seed=3)
    assert plan == plan_trajectories(settings, seed=3)
    assert plan != plan_trajectories(settings, seed=4)
    assert [t.index for t in plan] == list(range(settings.ignitions + settings.flames))


@pytest.mark.parametrize("settings", PLANS)
def test_the_rows_of_a_plan_add_up(settings):
    plan = plan_trajectories(settings, seed=0)
    # Three kinds of rows, each rounded to half a row, for each trajectory.
    assert abs(sum(t.rows for t in plan) - settings.states) <= 1.5 * len(plan)
    flames = [t for t in plan if t.kind == "flame"]
    expected = settings.flame_share * settings.states if settings.flames else 0
    assert abs(sum(t.rows for t in flames) - expected) <= 1.5 * len(flames) + 1
    for t in plan:
        assert t.exact == t.perturbed == t.relaxed == t.rows / 3


@pytest.mark.parametrize("settings", PLANS)
def test_a_plan_fills_the_ranges(settings):
    plan = plan_trajectories(settings, seed=0)
    ignitions = [t for t in plan if t.kind == "ignition"]
    assert [t.kind for t in plan[: settings.flames]] == ["flame"] * settings.flames
    assert len(ignitions) == settings.ignitions
    for name, values in {"T0": [t.T for t in ignitions], "phi": [t.phi for t in ignitions],
                         "p": [t.p for t in plan]}.items():  # fmt: skip
        low, high = getattr(settings, name)
        assert low <= min(values) and max(values) <= high
    # The first 2^k points of a Sobol sequence have one point in each of 2^k equal intervals.
    cells = 2 ** int(np.log2(settings.ignitions))
    counts, _ = np.histogram([t.T for t in ignitions[:cells]], bins=cells, range=settings.T0)
    assert (counts == 1).all()

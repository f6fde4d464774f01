"""The plan of a state file: reproducible, with the rows and in the ranges of the settings."""

from dataclasses import replace

import numpy as np
import pytest

from combred.config.data import SamplingSettings
from combred.surrogates.sampling.plan import (
    BLOCKS,
    FEWEST_ROWS,
    FLAME_PHI,
    FLAME_SHARE,
    FLAME_T,
    IGNITIONS_PER_FLAME,
    MOST_ROWS,
    plan_trajectories,
)

PREMIXED = SamplingSettings(sampler="premixed", T0=[900.0, 2300.0])
FLOW = replace(PREMIXED, sampler="flow")
PLANS = [
    PREMIXED,
    replace(PREMIXED, states=1000, ignitions=7),
    replace(PREMIXED, states=2000, ignitions=120),
]


def flames_of(settings: SamplingSettings) -> int:
    """The number of flames of a plan."""
    return settings.ignitions // IGNITIONS_PER_FLAME


@pytest.mark.parametrize("settings", PLANS)
def test_a_plan_depends_on_settings_and_seed_alone(settings):
    plan = plan_trajectories(settings, seed=3)
    assert plan == plan_trajectories(settings, seed=3)
    assert plan != plan_trajectories(settings, seed=4)
    assert [t.index for t in plan] == list(range(settings.ignitions + flames_of(settings)))


@pytest.mark.parametrize("settings", PLANS)
def test_the_rows_of_a_plan_add_up(settings):
    plan = plan_trajectories(settings, seed=0)
    # Three kinds of rows, each rounded to half a row, for each trajectory.
    assert abs(sum(t.rows for t in plan) - settings.states) <= 1.5 * len(plan)
    flames = [t for t in plan if t.kind == "flame"]
    expected = FLAME_SHARE * settings.states if flames_of(settings) else 0
    assert abs(sum(t.rows for t in flames) - expected) <= 1.5 * len(flames) + 1
    for t in plan:
        assert t.rows % 3 == 0


@pytest.mark.parametrize("settings", PLANS)
def test_a_plan_fills_the_ranges(settings):
    plan = plan_trajectories(settings, seed=0)
    ignitions = [t for t in plan if t.kind == "ignition"]
    assert [t.kind for t in plan[: flames_of(settings)]] == ["flame"] * flames_of(settings)
    assert len(ignitions) == settings.ignitions
    for name, values in {"T0": [t.T for t in ignitions], "phi": [t.phi for t in ignitions],
                         "p": [t.p for t in plan]}.items():  # fmt: skip
        low, high = getattr(settings, name)
        assert low <= min(values) and max(values) <= high
    # The first 2^k points of a Sobol sequence have one point in each of 2^k equal intervals.
    cells = 2 ** int(np.log2(settings.ignitions))
    counts, _ = np.histogram([t.T for t in ignitions[:cells]], bins=cells, range=settings.T0)
    assert (counts == 1).all()


def test_flames_lie_in_their_ranges_and_in_that_of_the_mixtures():
    for phi, expected in (([0.4, 1.8], FLAME_PHI), ([0.8, 1.2], (0.8, 1.2))):
        plan = plan_trajectories(replace(PREMIXED, phi=phi), seed=0)
        flames = [t for t in plan if t.kind == "flame"]
        assert len(flames) == 32 and {t.T for t in flames} == set(FLAME_T)
        assert expected[0] < min(t.phi for t in flames) < max(t.phi for t in flames) < expected[1]


MANY = BLOCKS * MOST_ROWS


@pytest.mark.parametrize("states", [1, FEWEST_ROWS - 1, FEWEST_ROWS + 1, 9000, MANY - 1, 400_000])
def test_states_of_a_flow_are_planned_in_blocks(states):
    plan = plan_trajectories(replace(FLOW, states=states), seed=0)
    assert sum(t.rows for t in plan) == states
    assert {t.kind for t in plan} == {"flow"} and [t.index for t in plan] == list(range(len(plan)))
    assert all(t.rows == plan[0].rows for t in plan[:-1]) and 0 < plan[-1].rows <= plan[0].rows
    assert plan[0].rows <= MOST_ROWS
    assert len(plan) >= BLOCKS - 1 or plan[0].rows == min(FEWEST_ROWS, states)

"""States of flames with sensitivities: their sums are those of a known error."""

from dataclasses import replace

import numpy as np
import pytest
from hydrogen import AIR, SENSITIVE

from combred.chemistry.reactor import IntegrationError
from combred.native.solver.library import PRECISE, Solver
from combred.surrogates.sensitivity.sampling import flames as module
from combred.surrogates.sensitivity.sampling.flames import (
    FLAME_STEPS,
    counterflow_states,
    premixed_states,
)

SHORT = replace(SENSITIVE, dt=[1e-9, 2e-9])


@pytest.fixture(scope="module")
def premixed(h2o2):
    """States of a premixed flame with short time steps."""
    return premixed_states(h2o2, SHORT, Solver(h2o2, PRECISE), np.random.default_rng(0))


@pytest.fixture(scope="module")
def counterflow(h2o2):
    """States of a counterflow flame with short time steps, its peaks weighted alike."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PEAK_WEIGHT", 1.0)
        # Transport of 1e-9 s is below the rounding of T from h: longer steps.
        steps = replace(SENSITIVE, dt=[1e-8, 2e-8], oxidizer=AIR)
        return counterflow_states(h2o2, steps, Solver(h2o2, PRECISE), np.random.default_rng(0))


def shares(rows):
    """Of each trajectory: the sum for an error that is a share of the change, over the share."""
    change = (rows.sensitivity * (rows.Y_next - rows.Y)).sum(axis=1) / rows.dt
    return {k: float(change[rows.trajectory == k].mean()) for k in set(rows.trajectory)}


def test_chemistry_that_is_too_fast_by_a_share_makes_a_flame_faster_by_half_of_it(premixed):
    # Half a step of diffusion is a small change of the flame; KEPT leaves out 0.2 % of the sum of
    # absolute values, which is some times the sum.
    assert list(shares(premixed).values()) == pytest.approx([0.5] * FLAME_STEPS, abs=0.02)
    for which in range(FLAME_STEPS):
        here = premixed.trajectory == which
        assert 10 < here.sum() < module.CELLS and len(set(premixed.dt[here])) == 1


def test_chemistry_that_is_too_fast_makes_a_counterflow_flame_hotter(counterflow):
    """dt is short: the values of all three are those of one flame, and T rises by less than the
    share, since transport and equilibrium limit it."""
    found = shares(counterflow)
    each = 1 + module.PEAKS
    assert sorted(found) == list(range(FLAME_STEPS * each))
    hotter = np.array([found[i * each] for i in range(FLAME_STEPS)])
    assert np.all((0.0 < hotter) & (hotter < 0.5))
    assert hotter == pytest.approx(hotter.mean(), rel=0.02)


def test_states_are_physical_and_of_the_ranges(premixed, counterflow):
    for rows, longest in ((premixed, 2e-9), (counterflow, 2e-8)):
        assert all(np.isfinite(column).all() for column in rows.columns().values())
        assert rows.Y.min() >= 0 and rows.Y.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
        assert np.all((rows.p >= 8e4) & (rows.p <= 1.5e5))
        assert np.all((rows.dt >= 0.499 * longest) & (rows.dt <= longest))
    assert premixed.T.min() < 900.0


@pytest.mark.parametrize("states", [premixed_states, counterflow_states])
def test_a_time_step_longer_than_a_flame_s_is_refused(h2o2, states):
    long = replace(SENSITIVE, dt=[1e-2, 1e-2])
    with pytest.raises(IntegrationError, match="too long for a flame"):
        states(h2o2, long, Solver(h2o2, PRECISE), np.random.default_rng(0))


def test_a_cell_that_could_not_be_integrated_is_refused():
    with pytest.raises(IntegrationError, match="could not be integrated"):
        module.largest_contributions(np.array([1.0, np.nan]))

"""States of ignitions with sensitivities: their sums are those of a known error."""

from dataclasses import replace

import numpy as np
import pytest
from hydrogen import AIR, SENSITIVE

from combred.chemistry.reactor import REFERENCE, Reactor
from combred.experiments.ignition.rollout import Case
from combred.surrogates.sensitivity.delay import ignite
from combred.surrogates.sensitivity.sampling.ignitions import STATES, ignition_states

SHORT = replace(SENSITIVE, dt=[1e-9, 2e-9])
HOT = replace(SENSITIVE, T0=[1100.0, 1100.0], p=[1e5, 1e5], phi=[1.0, 1.0])


@pytest.fixture(scope="module")
def ignition(h2o2):
    """States with short time steps."""
    return ignition_states(h2o2, SHORT, REFERENCE, np.random.default_rng(4))


@pytest.fixture(scope="module")
def five_steps(h2o2):
    """An ignition, and its states with a dt of which five end just before its delay."""
    reactor = Reactor(h2o2, 1e-10, 1e-18)
    found = ignite(reactor, Case(1100.0, 1e5, 1.0), h2o2.mixture("H2:1", AIR, 1.0), 0.1)
    dt = 0.199 * found.delay
    rows = ignition_states(h2o2, replace(HOT, dt=[dt, dt]), REFERENCE, np.random.default_rng(0))
    return found, reactor, rows


def test_chemistry_that_is_too_fast_by_a_share_makes_the_delay_shorter_by_it(ignition):
    """An error of a share of the change: the sum is -1 times the share, in every row, where dt is
    short beside the time in which the rates change."""
    change = (ignition.sensitivity * (ignition.Y_next - ignition.Y)).sum(axis=1) / ignition.dt
    # The states lie between CVODE's steps, at which the sensitivity is known.
    assert change == pytest.approx(-1.0, abs=0.02)
    assert len(ignition.T) == STATES and set(ignition.trajectory) == {0}


def test_the_states_are_those_of_a_march_from_the_fresh_gas(h2o2, five_steps):
    rows = five_steps[2]
    fresh = rows.Y[:, h2o2.index("OH")] == 0.0
    assert len(set(rows.T)) == 5
    assert rows.T[fresh] == pytest.approx(1100.0, rel=1e-9)
    # A fifth of them, 16 of 80; the standard deviation is 3.6.
    assert 5 <= fresh.sum() <= 27


def test_states_are_physical_and_of_the_ranges(ignition):
    assert all(np.isfinite(column).all() for column in ignition.columns().values())
    assert ignition.Y.min() >= 0 and ignition.Y.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    assert np.all((ignition.p >= 8e4) & (ignition.p <= 1.5e5))
    assert np.all((ignition.dt >= 0.999e-9) & (ignition.dt <= 2e-9))
    assert ignition.T.min() >= 1099.0  # radicals form at first, which takes heat

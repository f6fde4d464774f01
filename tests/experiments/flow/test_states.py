"""Blocks of states of a flow: kinds, ranges and labels of their rows; failures."""

from dataclasses import replace

import numpy as np
import pytest

from combred.chemistry.fuel import resolve_fuel
from combred.chemistry.reactor import CVODE, IntegrationError
from combred.config.data import SamplingSettings
from combred.experiments.flow import FlowBlock, FlowStates
from combred.experiments.flow.states import KINDS, SHARES
from combred.experiments.flow.streams import T_RANGE
from combred.experiments.labelled import Block
from combred.surrogates.dataset.schema import UNITS

ROWS = 512
SETTINGS = SamplingSettings(sampler="flow", T0=[900.0, 2300.0], dt=[1e-8, 1e-5], p=[3e4, 6e6])


@pytest.fixture(scope="session")
def states_of(solver_of):
    """A function that gives the `FlowStates` of a mechanism."""

    def make(mechanism, seed: int = 0, **changes) -> FlowStates:
        settings = replace(SETTINGS, **{"fuel": resolve_fuel(mechanism, "auto"), **changes})
        return FlowStates(mechanism, settings, solver_of(mechanism), seed)

    return make


def block_of(states: FlowStates, index: int, rows: int = ROWS) -> Block:
    return states.block(FlowBlock(index, rows))


def same(a: Block, b: Block) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in UNITS)


@pytest.fixture(scope="module")
def rows(states_of, mechanism) -> Block:
    """A block of each mechanism."""
    return block_of(states_of(mechanism), 1)


def test_a_block_depends_on_seed_and_index_alone(states_of, h2o2):
    one, other = states_of(h2o2), states_of(h2o2)
    upwards = [block_of(one, i, 64) for i in range(3)]
    downwards = [block_of(other, i, 64) for i in (2, 1, 0)][::-1]
    assert all(same(a, b) for a, b in zip(upwards, downwards, strict=True))
    others = [*upwards, block_of(states_of(h2o2, seed=1), 0, 64)]
    assert len(np.unique(Block.join(others).dt)) == 4 * 64


def test_a_block_has_the_shares_of_its_kinds(rows):
    counts = np.bincount(rows.sampler, minlength=len(KINDS))
    assert counts.sum() == len(rows) == ROWS
    assert np.abs(counts - ROWS * np.array(list(SHARES.values()))).max() <= 1.5
    early = np.bincount(rows.sampler[:100], minlength=len(KINDS))
    assert early.min() > 0  # in random order: the last block of a file may be cut


def test_states_and_labels_are_physical(rows):
    assert T_RANGE[0] < rows.T.min() and rows.T.max() < T_RANGE[1]
    (least, most), rounding = SETTINGS.p, 1e-12
    assert least * (1 - rounding) <= rows.p.min() and rows.p.max() <= most * (1 + rounding)
    assert SETTINGS.dt[0] <= rows.dt.min() and rows.dt.max() <= SETTINGS.dt[1]
    for Y in (rows.Y, rows.Y_next):
        assert np.isfinite(Y).all() and Y.min() >= 0.0
        assert np.abs(Y.sum(axis=1) - 1.0).max() < 1e-10
    pairs = np.column_stack([rows.state(), rows.dt])
    assert len(np.unique(pairs, axis=0)) == ROWS
    different = len(np.unique(rows.state(), axis=0))
    assert different > 0.95 * ROWS  # a mixture that does not react is the same at all times


def test_fuel_and_oxidizer_are_those_of_the_settings(states_of, h2o2):
    """Hydrogen in oxygen and argon: nitrogen only from the streams that have another inert gas."""
    made = states_of(h2o2, oxidizer="O2:1, AR:4", fuel="H2:1, AR:1", phi=[0.5, 2.0])
    Y = block_of(made, 0).Y
    N2, AR = Y[:, h2o2.index("N2")], Y[:, h2o2.index("AR")]
    assert 0.5 < np.mean(N2 == 0.0) < 1.0
    assert (AR[N2 == 0.0] > 0.1).all()
    assert Y[:, h2o2.index("H2O")].max() > 0.05


def nothing(streams, count):
    return np.empty((0, 2 + streams.mechanism.n_species)), np.empty(0)


def test_a_block_that_cannot_be_filled_raises(states_of, h2o2):
    states = states_of(h2o2)
    states.draw = dict.fromkeys(states.draw, nothing)
    with pytest.raises(IntegrationError, match="gave 0 of 512 rows from 270 to 3400 K"):
        block_of(states, 0)


def test_a_kind_that_always_fails_gives_way_to_the_others(states_of, h2o2):
    states = states_of(h2o2)
    states.draw["layer"] = nothing
    block = block_of(states, 0, 64)
    assert len(block) == 64 and set(block.sampler) == {0, 1, 3}


def test_states_that_the_solver_cannot_advance_are_left_out(streams_of, h2o2):
    streams = streams_of(h2o2)
    states = np.column_stack([[1000.0, 1e5], [1e5, 1e5], streams.premixed(2)])
    after = streams.react(states, 1e-6)
    assert np.isfinite(after[0]).all() and np.isnan(after[1, 0])


def test_a_row_without_a_label_has_nan(states_of, h2o2, monkeypatch):
    states = states_of(h2o2)
    attempt, solver = states.streams.solver.attempt, states.streams.solver

    def fails_first(*arguments):
        found = attempt(*arguments)
        if arguments[-1] < 1e-4:  # of a label
            found.error[0] = np.inf
        return found

    monkeypatch.setattr(solver, "attempt", fails_first)
    block = block_of(states, 0, 64)
    assert np.isnan(block.T_next[0]) and np.isnan(block.Y_next[0]).all()
    assert np.isfinite(block.T).all() and np.isfinite(block.T_next[1:]).all()
    truth = CVODE(h2o2, 1e-10, 1e-20).advance(block.T, block.p, block.Y, block.dt)[0]
    assert block.T_next[1:] == pytest.approx(truth[1:], abs=5e-3)

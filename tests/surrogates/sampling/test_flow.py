"""State files of a flow: blocks as they are planned, and held out as a whole."""

from dataclasses import replace

import numpy as np
import pytest

from combred.config.data import SamplingSettings
from combred.experiments.flow import FlowStates
from combred.native.solver.library import Solver
from combred.processes.workers import Processes
from combred.surrogates.dataset.schema import FLOW, SAMPLERS, UNITS
from combred.surrogates.dataset.table import open_states
from combred.surrogates.sampling import plan
from combred.surrogates.sampling.sample import sample

ROWS, LAST = 64, 22  # of a block, fewer than elsewhere; of the last block
SETTINGS = SamplingSettings(sampler="flow", T0=[900.0, 2300.0], states=2 * ROWS + LAST)
SEED = 3


def make(path, h2o2, settings=SETTINGS) -> dict:
    return sample(path, h2o2, settings, SEED, Processes(1))


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    """Blocks of `ROWS` rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "FEWEST_ROWS", ROWS)
        yield


@pytest.fixture(scope="module")
def made(h2o2, tmp_path_factory, in_process):
    """A state file of three blocks of hydrogen, and its record."""
    path = tmp_path_factory.mktemp("flow") / "states.h5"
    with in_process():
        return path, make(path, h2o2)


@pytest.fixture(scope="module")
def table(made, h2o2):
    return open_states(made[0], h2o2)


def test_the_rows_are_those_of_the_blocks(table, h2o2):
    settings = replace(SETTINGS, fuel="H2:1")
    states = FlowStates(h2o2, settings, Solver(h2o2), SEED)
    for trajectory in reversed(plan.plan_trajectories(settings, SEED)):
        start = trajectory.index * ROWS
        block, expected = table.read(start, start + trajectory.rows), states.block(trajectory)
        assert len(block) == trajectory.rows and (block.source == trajectory.index).all()
        expected.sampler += FLOW
        for name in set(UNITS) - {"source"}:
            assert np.array_equal(getattr(block, name), getattr(expected, name)), name


def test_the_record_has_the_numbers_of_the_file(made, table):
    record = made[1]
    assert table.rows == record["rows"] == SETTINGS.states
    assert (record["failed_rows"], record["lost_trajectories"]) == (0, [])
    counts = {name: count for name, count in record["rows_per_sampler"].items() if count}
    assert list(counts) == ["flow ignition", "flow mixture", "flow layer", "flow flame"]
    assert sum(counts.values()) == SETTINGS.states
    assert np.array_equal(table.usual, table.samplers == SAMPLERS.index("flow ignition"))
    assert not table.of_flames.any()
    assert record["checked_rows"] == SETTINGS.states
    assert record["largest_difference"] == table.attributes["largest_difference"] < 5e-6


def test_a_fuel_that_the_mechanism_lacks_is_refused(h2o2, tmp_path, in_this_process):
    with pytest.raises(ValueError, match="CH4"):
        make(tmp_path / "states.h5", h2o2, replace(SETTINGS, fuel="CH4:1"))
    assert not list(tmp_path.iterdir())

"""State files of a flow: blocks as they are planned, resumed, held out as a whole, or lost."""

from dataclasses import replace

import h5py
import numpy as np
import pytest

from combred.chemistry.reactor import IntegrationError
from combred.config import ChemistrySettings, SamplingSettings
from combred.dataset import flow_states, plan
from combred.dataset.flow_states import FlowStates
from combred.dataset.sampling import sample
from combred.dataset.state_table import open_states
from combred.dataset.states import FLOW, SAMPLERS, UNITS

ROWS, LAST = 64, 22  # of a block, fewer than elsewhere; of the last block
SETTINGS = SamplingSettings(sampler="flow", states=2 * ROWS + LAST)
SEED = 3


def make(path, h2o2, settings=SETTINGS, on_progress=lambda *_: None) -> dict:
    return sample(path, h2o2, settings, ChemistrySettings(), SEED, 1, on_progress)


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    """Blocks of `ROWS` rows."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (flow_states, plan):
            patch.setattr(module, "ROWS", ROWS)
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


def columns(path) -> dict[str, np.ndarray]:
    with h5py.File(path, "r") as stored:
        return {name: stored[name][...] for name in [*UNITS, "failed"]}


def test_the_rows_are_those_of_the_blocks(table, h2o2):
    states = FlowStates(h2o2, replace(SETTINGS, fuel="H2:1"), ChemistrySettings(), SEED)
    for index, length in enumerate((ROWS, ROWS, LAST)):
        block = table.read(index * ROWS, index * ROWS + length)
        state, later, dt, kind = zip(*states.block(index)[:length], strict=True)
        assert np.array_equal(block.state(), np.array(state))
        assert np.array_equal(block.T_next, np.array(later)[:, 0])
        assert np.array_equal(block.Y_next, np.array(later)[:, 2:])
        assert np.array_equal(block.dt, dt)
        assert np.array_equal(block.sampler, FLOW + np.array(kind))
        assert (block.source == index).all()


def test_the_record_has_the_numbers_of_the_file(made, table):
    record = made[1]
    assert table.rows == record["rows"] == SETTINGS.states
    assert (record["failed_rows"], record["lost_trajectories"]) == (0, [])
    counts = {name: count for name, count in record["rows_per_sampler"].items() if count}
    assert list(counts) == ["flow ignition", "flow mixture", "flow layer", "flow flame"]
    assert sum(counts.values()) == SETTINGS.states
    assert np.array_equal(table.usual, table.samplers == SAMPLERS.index("flow ignition"))
    assert not table.of_flames.any()


def test_the_provenance_has_the_sampler_and_its_fuel(table):
    sampling = table.provenance["sampling"]
    assert (sampling["sampler"], sampling["fuel"]) == ("flow", "H2:1")  # `auto` is resolved
    assert (table.provenance["seed"], sampling["dt"]) == (SEED, SETTINGS.dt)


@pytest.mark.parametrize("fraction", [0.05, 0.34, 0.9])
def test_blocks_are_held_out_as_a_whole(table, fraction):
    out = table.held_out(fraction, seed=0)
    held = np.unique(table.sources[out])
    assert not set(held) & set(table.sources[~out])
    assert len(held) == {0.05: 1, 0.34: 1, 0.9: 2}[fraction]  # one at least, and not all


def test_an_interrupted_sampling_is_resumed_to_the_same_file(made, h2o2, tmp_path, in_this_process):
    path, seen, resumed = tmp_path / "states.h5", [], []

    def interrupt_after_a_block(finished, total):
        seen.append((finished, total))
        if len(seen) == 2:  # the first call has the rows of the start
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(path, h2o2, on_progress=interrupt_after_a_block)
    assert not path.exists() and 0 < seen[-1][0] < SETTINGS.states
    record = make(path, h2o2, on_progress=lambda *done: resumed.append(done))
    assert resumed[0] == seen[-1] and resumed[-1] == (SETTINGS.states, SETTINGS.states)
    assert record == made[1]
    expected = columns(made[0])
    for name, column in columns(path).items():
        assert np.array_equal(column, expected[name]), name


def test_a_premixed_sampling_does_not_resume_that_of_a_flow(h2o2, tmp_path, in_this_process):
    def interrupt(finished, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "states.h5", h2o2, on_progress=interrupt)
    premixed = replace(SETTINGS, sampler="premixed", states=90, ignitions=3, flames=0)
    with pytest.raises(ValueError, match="sampling.sampler is flow there and premixed here"):
        make(tmp_path / "states.h5", h2o2, premixed)


def test_a_lost_block_is_named_and_its_rows_are_stored_apart(
    made, h2o2, tmp_path, in_this_process, monkeypatch
):
    original = FlowStates.block

    def unlucky(self, index):
        if index == 1:
            raise IntegrationError("400 trajectories gave 7 of 64 rows")
        return original(self, index)

    monkeypatch.setattr(FlowStates, "block", unlucky)
    path = tmp_path / "states.h5"
    record = make(path, h2o2)
    assert record["lost_trajectories"] == ["flow block 1: 400 trajectories gave 7 of 64 rows"]
    assert (record["rows"], record["failed_rows"]) == (ROWS + LAST, ROWS)
    kept, whole = columns(path), columns(made[0])
    others = whole["source"] != 1
    for name in UNITS:
        assert np.array_equal(kept[name], whole[name][others]), name
    assert kept["failed"].shape == (ROWS, 2 + h2o2.n_species)
    assert np.isfinite(kept["failed"]).all()


def test_a_fuel_that_the_mechanism_lacks_is_refused(h2o2, tmp_path, in_this_process):
    with pytest.raises(ValueError, match="CH4"):
        make(tmp_path / "states.h5", h2o2, replace(SETTINGS, fuel="CH4:1"))
    assert not list(tmp_path.iterdir())

"""Sampling: the planned rows, a run that is interrupted or has failures, labels against CVODE."""

from dataclasses import replace

import numpy as np
import pytest
from random_blocks import all_columns

from combred.chemistry.agreement import FLOOR_T
from combred.chemistry.reactor import IntegrationError
from combred.experiments.labelled import label
from combred.processes.workers import Processes
from combred.surrogates.dataset.schema import SAMPLERS, StateFileError
from combred.surrogates.dataset.table import open_states
from combred.surrogates.sampling.plan import plan_trajectories
from combred.surrogates.sampling.premixed.states import PremixedStates
from combred.surrogates.sampling.sample import check_labels, sample, states_of


@pytest.fixture(scope="module")
def three(sampling_settings):
    """Settings of three ignitions of 30 rows each."""
    return replace(sampling_settings, states=90, ignitions=3)


def test_the_file_holds_the_planned_rows(sampled, table, sampling_settings):
    _, record = sampled
    plan = plan_trajectories(sampling_settings, seed=0)
    assert record["rows"] + record["failed_rows"] == sum(t.rows for t in plan)
    assert record["lost_trajectories"] == []
    assert table.rows == record["rows"] == sum(record["rows_per_sampler"].values())
    assert set(np.unique(table.sources)) == {t.index for t in plan}
    for name, count in record["rows_per_sampler"].items():
        assert (table.samplers == SAMPLERS.index(name)).sum() == count


def test_every_trajectory_has_its_own_random_numbers(drm19, sampling_settings):
    first = plan_trajectories(sampling_settings, seed=0)[0]
    states, others = (states_of(drm19, sampling_settings, seed) for seed in (0, 1))
    twin, block = states.block(replace(first, index=1)), states.block(first)
    perturbed = block.sampler == 1
    assert not np.isin(twin.p[perturbed], block.p[perturbed]).any()
    assert not np.isin(others.block(first).p[perturbed], block.p[perturbed]).any()


def test_an_interrupted_sampling_is_not_resumed_with_other_settings(
    tmp_path, drm19, three, in_this_process
):
    seen = []

    def interrupt(finished, total):
        seen.append(finished)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sample(tmp_path / "states.h5", drm19, three, 0, Processes(1, interrupt))
    sample(tmp_path / "states.h5", drm19, three, 1, Processes(1, lambda *a: seen.append(a[0])))
    assert seen[1] > 0 and seen[2] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["states.h5"]


def test_failed_trajectories_and_rows_are_counted_and_stored_apart(
    tmp_path, drm19, three, in_this_process, monkeypatch
):
    original = PremixedStates.block

    def unlucky(self, trajectory):
        """Fails at trajectory 1, and at two labels of trajectory 2."""
        if trajectory.index == 1:
            raise IntegrationError("no luck")
        block = original(self, trajectory)
        if trajectory.index == 2:
            block.T_next[[0, 5]], block.Y_next[[0, 5]] = np.nan, np.nan
        return block

    monkeypatch.setattr(PremixedStates, "block", unlucky)
    file = tmp_path / "states.h5"
    record = sample(file, drm19, three, 0, Processes())
    lost = plan_trajectories(three, seed=0)[1]
    assert record["lost_trajectories"] == [f"ignition T={lost.T:.0f} K phi={lost.phi:.2f}: no luck"]
    assert record["failed_rows"] == lost.rows + 2
    table = open_states(file, drm19)
    assert 1 not in table.sources
    assert (table.sources == 2).sum() == lost.rows - 2
    failed = all_columns(file)["failed"]
    assert failed.shape == (lost.rows + 2, 2 + drm19.n_species)
    assert (failed[: lost.rows, 0] == lost.T).all() and (failed[: lost.rows, 1] == lost.p).all()
    list(table.chunks())  # raises where a row is not finite


def test_a_failed_trajectory_is_tried_again(tmp_path, drm19, three, in_this_process, monkeypatch):
    original, tried = PremixedStates.block, []

    def fails_once(self, trajectory):
        tried.append(trajectory.index)
        if len(tried) == 1:
            raise IntegrationError("once")
        return original(self, trajectory)

    monkeypatch.setattr(PremixedStates, "block", fails_once)
    file = tmp_path / "states.h5"
    record = sample(file, drm19, three, 0, Processes())
    assert tried == [0, 0, 1, 2]
    assert record["lost_trajectories"] == [] and record["failed_rows"] == 0
    assert record["rows"] == sum(t.rows for t in plan_trajectories(three, seed=0))


@pytest.fixture(scope="module")
def block(mechanism, path, solver_of):
    dt = np.geomspace(1e-8, 1e-5, len(path.T))
    return label(solver_of(mechanism), path.T, path.p, path.Y, dt)


def test_labels_agree_with_cvode(block, mechanism, tmp_path):
    found = check_labels(mechanism, block, tmp_path)
    assert found["checked_rows"] == len(block)
    assert 0.0 < found["largest_difference"] < 5e-6


def test_wrong_labels_are_refused_with_the_size_of_the_error(block, mechanism, tmp_path):
    wrong = block.rows(np.arange(len(block)))
    wrong.T_next[3] += 0.02 * (abs(wrong.T_next[3] - wrong.T[3]) + FLOOR_T)
    with pytest.raises(StateFileError, match=r"by up to 0\.02 of the change.*report"):
        check_labels(mechanism, wrong, tmp_path / "states.h5")


def test_no_labelled_rows_have_no_difference(block, mechanism, tmp_path):
    nothing = block.rows(np.zeros(len(block), bool))
    assert check_labels(mechanism, nothing, tmp_path) == {
        "checked_rows": 0,
        "largest_difference": 0.0,
    }

"""Worker processes: results in order, errors are raised, the rows of one process."""

import h5py
import numpy as np
import pytest

from combred.config import ChemistrySettings
from combred.dataset.sampling import sample
from combred.workers import in_processes


def test_results_are_in_the_order_of_the_tasks():
    progress = []
    results = in_processes(2, abs, [(-3,), (2,), (-1,)], lambda *done: progress.append(done))
    assert results == [3, 2, 1] and progress == [(1, 3), (2, 3), (3, 3)]


def test_an_error_in_a_task_is_raised_and_later_tasks_are_not_counted():
    progress = []
    with pytest.raises(ValueError, match="invalid literal"):
        in_processes(1, int, [("1",), ("x",), ("2",)], lambda *done: progress.append(done))
    assert progress == [(1, 3)]


@pytest.mark.slow
def test_two_processes_sample_the_rows_of_one(tmp_path, sampled, drm19, sampling_settings):
    file = tmp_path / "states.h5"
    record = sample(file, drm19, sampling_settings, ChemistrySettings(), 0, workers=2)
    assert record == sampled[1]
    with h5py.File(file, "r") as found, h5py.File(sampled[0], "r") as expected:
        assert found.keys() == expected.keys()
        for name in expected:
            assert np.array_equal(found[name][...], expected[name][...]), name

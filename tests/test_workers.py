"""Worker processes: results in order, errors are raised, the rows of one process."""

import os
import signal
import subprocess
import sys
import time

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


POOL = """
import os, sys, time
from combred.workers import open_pool

def work():
    print(os.getpid(), flush=True)
    time.sleep(120)

if __name__ == "__main__":
    with open_pool(1, int) as pool:
        pool.submit(work).result()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_worker_ends_with_its_parent(tmp_path, number):
    (tmp_path / "pool.py").write_text(POOL)
    words = [sys.executable, str(tmp_path / "pool.py")]
    parent = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    worker = int(parent.stdout.readline())
    parent.send_signal(number)
    parent.wait(30)
    for _ in range(300):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the worker is left")

"""Worker processes: results in order, errors are raised, the rows of one process."""

import importlib
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from combred.chemistry.reactor import IntegrationError
from combred.names import PackageMissing
from combred.native.compilers import CompilerError
from combred.processes.workers import THREADS, Processes, open_pool
from combred.reduction.search.attempts import NotPassed
from combred.surrogates.dataset.schema import StateFileError
from combred.surrogates.sampling.sample import sample


def told(workers: int, progress: list) -> Processes:
    """Processes whose progress is added to a list."""
    return Processes(workers, lambda *done: progress.append(done))


def test_results_are_in_the_order_of_the_tasks():
    progress = []
    results = told(2, progress).results(abs, [(-3,), (2,), (-1,)])
    assert results == [3, 2, 1] and progress == [(1, 3), (2, 3), (3, 3)]


def test_an_error_in_a_task_is_raised_and_later_tasks_are_not_counted():
    progress = []
    with pytest.raises(ValueError, match="invalid literal"):
        told(1, progress).results(int, [("1",), ("x",), ("2",)])
    assert progress == [(1, 3)]


FAILING = """
class OfTwo(ValueError):
    def __init__(self, name, why):
        super().__init__(f"no {name}: {why}")

class OfOne(KeyError):
    def __init__(self, name):
        super().__init__(f"no {name}")

class OfNone(Exception):
    def __init__(self):
        super().__init__("nothing")
        self.lock = open(__file__)

def fail(name):
    raise {"two": OfTwo("H2", "why"), "one": OfOne("H2"), "none": OfNone()}[name] \\
        if name != "plain" else LookupError("plain")

def refuse(own, task):
    return fail(task)
"""


@pytest.fixture
def failing(tmp_path, monkeypatch):
    """A module whose functions raise exceptions that pickle cannot hand on."""
    (tmp_path / "failing.py").write_text(FAILING)
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module("failing")


def test_any_exception_of_a_task_arrives_as_itself_or_as_a_sentence(failing):
    """One whose constructor has two arguments would break the pool, and lose the other results."""
    with open_pool(1, int) as pool:
        for name, kind, said in (
            ("two", ValueError, "OfTwo: no H2: why"), ("one", RuntimeError, "OfOne: 'no H2'"),
            ("none", RuntimeError, "OfNone: nothing"), ("plain", LookupError, "plain"),
        ):  # fmt: skip
            with pytest.raises(kind) as told:
                pool.submit(failing.fail, name).result()
            assert str(told.value) == said and type(told.value) is kind
        assert pool.submit(abs, -3).result() == 3


def test_an_exception_of_the_beginning_of_a_worker_is_raised(failing):
    with Processes(1).asked(failing.fail, ("two",)) as ask:
        for _ in range(2):
            with pytest.raises(ValueError, match="OfTwo: no H2: why"):
                ask(failing.refuse, ["one"])


@pytest.mark.parametrize(
    "kind", [CompilerError, IntegrationError, NotPassed, PackageMissing, StateFileError]
)
def test_our_exceptions_are_handed_on_as_they_are(kind):
    again = pickle.loads(pickle.dumps(kind("a text")))
    assert type(again) is kind and str(again) == "a text"


def test_a_worker_has_one_thread_and_the_parent_keeps_its_own(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    of_worker = Processes().results(os.getenv, [(name,) for name in THREADS])
    assert of_worker == ["1", "1", "1"]
    assert "OMP_NUM_THREADS" not in os.environ and os.environ["OPENBLAS_NUM_THREADS"] == "7"


@pytest.mark.slow
def test_two_processes_sample_the_rows_of_one(tmp_path, sampled, drm19, sampling_settings):
    file = tmp_path / "states.h5"
    record = sample(file, drm19, sampling_settings, 0, Processes(2))
    assert record == sampled[1]
    with h5py.File(file, "r") as found, h5py.File(sampled[0], "r") as expected:
        assert found.keys() == expected.keys()
        for name in expected:
            assert np.array_equal(found[name][...], expected[name][...]), name


POOL = """
from combred.processes.workers import open_pool
import waiting

with open_pool(1, int) as pool:
    pool.submit(waiting.wait).result()
"""
WAITING = """
import os, time

def wait():
    print(os.getpid(), flush=True)
    time.sleep(120)
"""


def ends(process: int, seconds: float = 20.0) -> bool:
    """Whether a process that is no child of ours ends within a time."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    os.kill(process, signal.SIGKILL)
    return False


def run(folder: Path, source: str) -> subprocess.CompletedProcess:
    """A program in a new process, to its end."""
    (folder / "pool.py").write_text(source)
    words = [sys.executable, str(folder / "pool.py")]
    return subprocess.run(words, capture_output=True, text=True, timeout=30)


SENDING = """
import os, signal
from combred.processes.workers import open_pool

if __name__ == "__main__":
    with open_pool(2, int) as pool:
        future = pool.submit(bytes, 300_000_000)
        while not pool._result_queue._reader.poll():
            pass
        END
        future.result()
"""


def test_a_script_needs_no_guard(tmp_path):
    """The processes do not run it again."""
    source = """
from combred.processes.workers import Processes

print("script")
print(Processes(2).results(divmod, [(7, 2), (9, 4)]))
"""
    assert run(tmp_path, source).stdout.splitlines() == ["script", "[(3, 1), (2, 1)]"]


@pytest.mark.parametrize(
    ("end", "error"),
    [
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("os.kill(next(iter(pool._processes)), signal.SIGKILL)", "BrokenProcessPool"),
    ],
)
def test_a_worker_that_ends_while_it_sends_a_result(tmp_path, end, error):
    """The thread that reads the result does not wait for the rest for ever."""
    assert error in run(tmp_path, SENDING.replace("END", end)).stderr.splitlines()[-1]


STARTING = """
import os, signal
from multiprocessing.context import SpawnProcess
from combred.processes.workers import open_pool

def start(process):
    whole(process)
    print(process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGINT)

if __name__ == "__main__":
    whole, SpawnProcess.start = SpawnProcess.start, start
    try:
        with open_pool(1, int) as pool:
            pool.submit(int).result()
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_an_interrupt_while_a_worker_is_started(tmp_path):
    """Nobody waits for the worker, and it says nothing."""
    done = run(tmp_path, STARTING)
    worker, said = done.stdout.split()
    assert ends(int(worker)) and said == "interrupted" and done.stderr == ""


LOADING = """
import os, sys, time
from combred.processes.workers import open_pool

if __name__ == "__main__":
    import slow
    os.environ["SLOW"] = "1"
    with open_pool(1, slow.begin) as pool:
        pool.submit(int).result()
"""
SLOW = """
import os, time
if "SLOW" in os.environ:
    print(os.getpid(), flush=True)
    time.sleep(60)

def begin():
    pass
"""


@pytest.mark.parametrize(
    ("program", "module", "text", "number"),
    [
        pytest.param(POOL, "waiting", WAITING, signal.SIGKILL, marks=pytest.mark.slow),
        pytest.param(POOL, "waiting", WAITING, signal.SIGINT, marks=pytest.mark.slow),
        (LOADING, "slow", SLOW, signal.SIGKILL),
    ],
)
def test_a_worker_ends_with_its_parent(tmp_path, program, module, text, number):
    """While it works, and while it loads modules."""
    (tmp_path / f"{module}.py").write_text(text)
    (tmp_path / "pool.py").write_text(program)
    words = [sys.executable, str(tmp_path / "pool.py")]
    parent = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    worker = int(parent.stdout.readline())
    parent.send_signal(number)
    parent.wait(30)
    assert ends(worker)

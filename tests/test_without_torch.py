"""The base installation, without the packages of the extra `train`: they are hidden from Python."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from compiled_program import IN_ONE, quick_compiler

from combred.names import TRAIN

HIDING = f"""
import importlib.abc, sys

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {TRAIN}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)

sys.meta_path.insert(0, Hidden())
"""
SOLVER = """
import numpy as np
import combred
from combred.native import load

solver = combred.solver("h2o2.yaml")
Y = solver.mechanism.mixture("H2:1", "O2:1, N2:3.76", 1.0)[None]
T, _ = solver.advance([1200.0], 101325.0, Y, 1e-3)
assert T[0] > 2500.0
again = load(solver.library.path).integrate([1200.0], 101325.0, Y, 1e-3)
assert again.T == T
exact = combred.CVODE(solver.mechanism).advance([1200.0], 101325.0, Y, 1e-3)[0]
assert abs(T - exact) < 1.0
assert len(combred.models()) >= 3
assert not {"torch", "h5py"} & set(sys.modules)
for use in ('combred.load("drm19-38k")', "combred.Surrogate", "combred.reduce",
            'combred.native.export("drm19-38k", "library")', "combred.native.compile_cuda"):
    try:
        eval(use)
    except ImportError as error:
        assert "pip install 'combred[train]'" in str(error), error
    else:
        raise AssertionError(use)
"""


def python(folder: Path, code: str) -> subprocess.CompletedProcess:
    """A program in a new process in which the packages are hidden."""
    environment = os.environ | {"COLUMNS": "200", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", HIDING + code], cwd=folder, env=environment,
        capture_output=True, text=True, timeout=500,
    )  # fmt: skip


# Of one level; tests/native/test_portable.py has all.
ONE_LEVEL = "from combred.native import exporter; exporter.build_portable = builder.build"
# A check in the process itself, with coarse and short flames.
COARSE = """
from concurrent.futures import ThreadPoolExecutor
from combred.check import checking, flows
from combred.simulation.counterflow.flame import CounterflowMarch
from combred.simulation.premixed.flame import FlameMarch
flows.PREMIXED = FlameMarch(cells=40, tolerance=0.05, longest=1.0)
flows.COUNTERFLOW = CounterflowMarch(cells=40, tolerance=20.0, longest=0.5)
checking.ROWS = 512
checking.open_pool = lambda workers, *start: ThreadPoolExecutor(workers, "", start[0], start[1:])
"""


def command(folder: Path, *words: str, code: str = "") -> subprocess.CompletedProcess:
    """The command `combred` in such a process, after some code."""
    called = f"import combred.command\nsys.exit(combred.command.main({list(words)}))"
    return python(folder, f"{code}\n{called}")


def test_a_solver_and_the_oracle_and_the_cards(tmp_path):
    done = python(tmp_path, SOLVER)
    assert done.returncode == 0, done.stderr


def test_an_export_and_the_models(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", quick_compiler(tmp_path, "-O0"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done = command(tmp_path, "export", "h2o2.yaml", "library", code=IN_ONE + ONE_LEVEL)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "library").iterdir()} == {
        "solver.cpp", "combred.h", "libsolver.so",
    }  # fmt: skip
    done = command(tmp_path, "models")
    assert done.returncode == 0 and "drm19-38k" in done.stdout, done.stderr


@pytest.mark.slow
def test_a_check_with_its_page(tmp_path):
    words = "check h2o2.yaml --fuel H2:1 --size 0.05 --workers 1".split()
    done = command(tmp_path, *words, code=COARSE)
    assert done.returncode in (0, 1) and "check.html" in done.stdout, done.stdout + done.stderr
    assert (tmp_path / "check-h2o2/check.html").stat().st_size > 50_000


@pytest.mark.parametrize(
    "words", [["run", "stage=1"], ["export", "drm19-38k", "library"]], ids=lambda words: words[0]
)
def test_what_needs_torch_says_what_to_install(tmp_path, words):
    done = command(tmp_path, *words)
    said = " ".join(done.stdout.split())
    assert done.returncode == 2 and "pip install 'combred[train]'" in said, done.stderr
    assert "Traceback" not in done.stderr + said

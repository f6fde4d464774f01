"""The base installation, without the packages of the extra `train`: they are hidden from Python.

A check with its page, and a library for all CPUs: .ci/run, which installs no torch for them.
"""

import os
import subprocess
import sys

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
from combred.native import exporter, load

solver = combred.solver("h2o2.yaml")
Y = solver.mechanism.mixture("H2:1", "O2:1, N2:3.76", 1.0)[None]
T, _ = solver.advance([1200.0], 101325.0, Y, 1e-3)
assert T[0] > 2500.0
again = load(solver.library.path).integrate([1200.0], 101325.0, Y, 1e-3)
assert again.T == T
exact = combred.CVODE(solver.mechanism).advance([1200.0], 101325.0, Y, 1e-3)[0]
assert abs(T - exact) < 1.0
assert len(combred.models()) >= 3
for use in ('combred.load("drm19-38k")', "combred.Surrogate", "combred.reduce",
            'combred.native.export("drm19-38k", "library")', "combred.native.compile",
            "combred.native.compile_cuda(solver.mechanism)"):
    try:
        eval(use)
    except ImportError as error:
        assert "pip install 'combred[train]'" in str(error), error
    else:
        raise AssertionError(use)
"""
COMMANDS = """
from combred.command import main

exporter.build_portable = builder.build
assert main(["export", "h2o2.yaml", "library"]) == 0
assert main(["models"]) == 0
assert not {"torch", "h5py"} & set(sys.modules)
for words in (["run", "stage=1"], ["export", "drm19-38k", "library"]):
    assert main(words) == 2
"""


def test_solver_oracle_cards_export_and_what_needs_torch(tmp_path):
    """In one new process."""
    quick = {"CXX": quick_compiler(tmp_path, "-O0"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", HIDING + IN_ONE + SOLVER + COMMANDS], cwd=tmp_path,
        env=os.environ | quick | {"COLUMNS": "200", "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0 and "Traceback" not in done.stdout + done.stderr, done.stderr
    assert {path.name for path in (tmp_path / "library").iterdir()} == {
        "solver.cpp", "combred.h", "libsolver.so",
    }  # fmt: skip
    said = " ".join(done.stdout.split())
    assert "drm19-38k" in said and said.count("pip install 'combred[train]'") == 2

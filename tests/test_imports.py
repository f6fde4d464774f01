"""What is loaded, in new processes: by `import combred`; on the solver's side, from a mechanism to
its check and its export, which needs neither networks nor the packages of the extra `train`; and
by the reduction of torch networks, which needs no chemistry.

A check with its page, and a library for all CPUs: .ci/run, which installs no torch for them.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from compiled_program import IN_ONE, ONE_STATE, quick_compiler
from test_rooms import imports

import combred
from combred.names import TRAIN

OF_NETWORKS = {"surrogates", "kernels", "reduction"}
DOORS = {"libraries", "check.description"}  # load what a network needs where they are given one
LOADED = """
import json, sys
def loaded(): return {name: getattr(one, "__file__", "") for name, one in sys.modules.items()}
"""
HIDING = f"""
import importlib.abc

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {TRAIN}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)

sys.meta_path.insert(0, Hidden())
"""
SOLVER = """
import combred
from combred.native import builder

solver, found = combred.solver("h2o2.yaml"), {}
Y = solver.mechanism.mixture("H2:1", "O2:1, N2:3.76", 1.0)[None]
T, _ = solver.advance([1200.0], 101325.0, Y, 1e-3)
assert T[0] > 2500.0
found["solver"] = loaded()
import combred.check.checking
from combred.native import exporter
exporter.build_portable = builder.build
combred.native.export("h2o2.yaml", "library")
again = combred.native.load("library/libsolver.so").integrate([1200.0], 101325.0, Y, 1e-3)
assert again.T == T
found["check and export"] = loaded()
from combred.command import main
exact = combred.CVODE(solver.mechanism).advance([1200.0], 101325.0, Y, 1e-3)[0]
assert abs(T - exact) < 1.0
assert main(["export", "h2o2.yaml", "library"]) == 0
assert main(["check", "library/libsolver.so"]) == 0
assert main(["check", "h2o2.yaml", "--fuel", "AR:1"]) == 2
found["command"] = loaded()
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
assert main(["models"]) == 0
for words in (["run", "stage=1"], ["export", "drm19-38k", "library"]):
    assert main(words) == 2
print(json.dumps(found))
"""
FRESH = """
import combred
found = {"combred": loaded()}
import torch
combred.kernels.group(torch.eye(3), 0.5)
found["kernels"] = loaded()
network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
rows = torch.randn(64, 4)
combred.reduce(network, rows, parameters=0.6, calibration=rows)
found["reduction"] = loaded()
found["driver of CUDA"] = torch.cuda.is_initialized()
found["kinds"] = {name: type(getattr(combred, name)).__name__ for name in dir(combred)}
print(json.dumps(found))
"""


def printed(code: str, folder: Path) -> list[str]:
    """The lines that a new process prints, in which C++ is not optimised."""
    quick = {
        "CXX": quick_compiler(folder, "-O0", ONE_STATE),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", LOADED + code], cwd=folder,
        env=os.environ | quick | {"COLUMNS": "200", "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0 and "Traceback" not in done.stdout + done.stderr, done.stderr
    return done.stdout.splitlines()


def of_combred(modules: dict[str, str]) -> dict[str, Path]:
    """The modules of combred among others, without "combred.", and their files."""
    own = {name: file for name, file in modules.items() if name.startswith("combred.")}
    return {name.removeprefix("combred."): Path(file) for name, file in own.items()}


def rooms(names: Iterable[str]) -> set[str]:
    """The rooms of modules of combred."""
    return {name.split(".")[0] for name in names}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory) -> dict[str, dict[str, str]]:
    """The modules that the solver's side has loaded after each of its steps."""
    folder = tmp_path_factory.mktemp("solver")
    *said, found = printed(HIDING + IN_ONE + SOLVER, folder)
    assert {path.name for path in (folder / "library").iterdir()} == {
        "solver.cpp", "combred.h", "libsolver.so",
    }  # fmt: skip
    text = " ".join(" ".join(said).split())
    assert "drm19-38k" in text and text.count("pip install 'combred[train]'") == 2
    return json.loads(found)


def test_the_solver_its_check_and_its_export_load_nothing_of_networks(loaded):
    assert not {"torch", "h5py"} & set(loaded["command"])
    assert not rooms(of_combred(loaded["command"])) & OF_NETWORKS
    for module, file in of_combred(loaded["check and export"]).items():
        assert module in DOORS or not rooms(imports(file.read_text())) & OF_NETWORKS, module


@pytest.mark.parametrize(("step", "most"), [("solver", 5260), ("check and export", 10600)])
def test_the_solver_s_side_is_read_by_itself(loaded, step, most):
    """Lines of Python, blanks and docstrings included."""
    files = of_combred(loaded[step]).values()
    assert sum(file.read_text().count("\n") for file in files) <= most


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> dict:
    """The modules that `import combred` and a reduction load; the type of each public name."""
    return json.loads(printed(FRESH, tmp_path_factory.mktemp("fresh"))[-1])


def test_import_loads_neither_torch_nor_cantera_nor_numpy(fresh):
    assert not {"torch", "cantera", "numpy", "h5py"} & set(fresh["combred"])


def test_rows_on_a_cpu_are_grouped_without_triton(fresh):
    assert "triton" not in fresh["kernels"] and not fresh["driver of CUDA"]


def test_the_reduction_of_a_network_loads_nothing_of_chemistry(fresh):
    modules = fresh["reduction"]
    assert "cantera" not in modules
    assert rooms(of_combred(modules)) == {"reduction", "kernels", "names", "files", "config"}


def test_every_public_name_resolves(fresh):
    kinds = fresh["kinds"]
    assert kinds.keys() == {*combred.__all__, "__version__"}
    assert {name for name, kind in kinds.items() if kind == "module"} == {
        "cantera", "export", "ignition", "kernels", "native", "reduction", "validation",
    }  # fmt: skip
    assert {kinds[name] for name in ("CVODE", "Mechanism", "Surrogate")} == {"type"}
    functions = ("flame", "load", "load_mechanism", "load_surrogate", "models", "reduce", "solver")
    assert {kinds[name] for name in functions} == {"function"}

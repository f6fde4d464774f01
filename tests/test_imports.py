"""The two seams: what the solver of a mechanism loads, with check and export, and what the
reduction of a torch network loads; each in a new process, from which `sys.modules` is read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from compiled_program import IN_ONE, quick_compiler
from test_rooms import imports

import combred

FOLDER = Path(combred.__file__).parent
OF_NETWORKS = {"surrogate", "training", "sensitivity", "kernels", "reduction"}
DOORS = {"libraries", "check.description"}  # which load what a network needs, for a network
LOADED = """
import json, sys
def loaded(): return sorted(name for name, one in sys.modules.items() if hasattr(one, "__file__"))
"""
SOLVER = """
import combred
from combred.native import builder
solver = combred.solver("h2o2.yaml")
solver.advance([1200.0], 1e5, solver.mechanism.mixture("H2:1", "O2:1, N2:3.76", 1.0)[None], 1e-6)
bare = loaded()
import combred.check.checking
from combred.native import exporter
exporter.build_portable = builder.build
combred.native.export("h2o2.yaml", "library")
combred.native.load("library/libsolver.so")
checked = loaded()
from combred.command import main
assert main(["check", "library/libsolver.so"]) == 0
assert main(["check", "h2o2.yaml", "--fuel", "AR:1"]) == 2
print(json.dumps([bare, checked, loaded()]))
"""
REDUCTION = """
import torch
import combred
network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
rows = torch.randn(64, 4)
combred.reduce(network, rows, parameters=0.6, calibration=rows)
print(json.dumps(loaded()))
"""


def run(code: str, folder: Path) -> list:
    """What a new process prints last."""
    quick = {"CXX": quick_compiler(folder, "-O0"), "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", LOADED + code], cwd=folder, env=os.environ | quick,
        capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def of_combred(modules: list[str]) -> set[str]:
    """The modules of combred among those that are loaded, without "combred."."""
    own = {name for name in modules if name.startswith("combred.")} - {"combred.data"}
    return {name.removeprefix("combred.") for name in own}


def source(name: str) -> Path:
    """The file of a module of combred."""
    path = FOLDER / name.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@pytest.fixture(scope="module")
def solver(tmp_path_factory) -> list[list[str]]:
    """The modules of the solver's side: of the solver alone, with check and export, and with the
    command."""
    return run(IN_ONE + SOLVER, tmp_path_factory.mktemp("solver"))


def test_the_solver_its_check_and_its_export_load_nothing_of_networks(solver):
    assert not {"torch", "h5py"} & set(solver[2])
    assert not {name.split(".")[0] for name in of_combred(solver[2])} & OF_NETWORKS
    late = {
        f"{module} imports {name}"
        for module in of_combred(solver[1]) - DOORS
        for name in imports(source(module).read_text())
        if name.split(".")[0] in OF_NETWORKS
    }
    assert not late


@pytest.mark.parametrize(("step", "most"), [(0, 5300), (1, 9600)], ids=["solver", "check and export"])
def test_the_solver_s_side_is_read_in_an_hour(solver, step, most):
    """Lines of Python, blanks and docstrings included."""
    lines = sum(source(name).read_text().count("\n") for name in of_combred(solver[step]))
    assert lines <= most


def test_the_reduction_of_a_network_loads_nothing_of_chemistry(tmp_path):
    loaded = run(REDUCTION, tmp_path)
    assert "cantera" not in loaded
    rooms = {name.split(".")[0] for name in of_combred(loaded)}
    assert {"reduction", "kernels"} <= rooms <= {"reduction", "kernels", "names", "files", "config"}

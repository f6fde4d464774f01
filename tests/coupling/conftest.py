"""Fixtures of the coupling: compiled, a solver and a surrogate of DRM19, and `ignite`."""

import shutil
import subprocess
from pathlib import Path

import pytest

import combred
from combred.native import NativeSurrogate, build, generate
from combred.native.library import Library
from combred.native.solver import generate as generate_solver
from combred.native.solver.library import TOLERANCE, Integrator

COUPLING = Path(__file__).parents[2] / "coupling"
WARNINGS = "-Wall -Wextra -Wpedantic -Wold-style-cast -Werror".split()


@pytest.fixture(scope="session")
def surrogate():
    return combred.load("drm19-11k").eval().requires_grad_(False)


@pytest.fixture(scope="session")
def libraries(surrogate, drm19, made_once) -> dict[str, Integrator]:
    """A solver and a surrogate of DRM19 in Python, of libraries that are named as by `export`."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    with made_once("libraries") as folder:
        paths = [folder / "libsolver.so", folder / "libsurrogate.so"]
        for path, files in zip(paths, (generate_solver(drm19), generate(surrogate)), strict=True):
            if not path.exists():
                shutil.copy(build(files), path)
    solver = Integrator(Library(paths[0]), TOLERANCE)
    return {"solver": solver, "surrogate": NativeSurrogate(paths[1])}


@pytest.fixture(scope="session", params=["solver", "surrogate"])
def native(request, libraries) -> Integrator:
    """The solver and the surrogate, one after the other."""
    return libraries[request.param]


def compiled(folder: Path, source: Path, *words: str | Path) -> Path:
    """The program of a source in C++11, which has no warnings."""
    program = folder / source.stem
    command = ["g++", "-std=c++11", "-O2", *WARNINGS, source, "-o", program, *words, "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return program


@pytest.fixture(scope="session")
def ignite(tmp_path_factory) -> Path:
    """The program coupling/ignite.cpp."""
    return compiled(tmp_path_factory.mktemp("ignite"), COUPLING / "ignite.cpp")


@pytest.fixture(scope="session")
def program(tmp_path_factory) -> Path:
    """`advance`, which needs nothing of combred but one header."""
    source, folder = Path(__file__).with_name("advance.cpp"), tmp_path_factory.mktemp("program")
    return compiled(folder, source, "-I", COUPLING, "-pthread")

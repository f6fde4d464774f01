"""Fixtures of the coupling: compiled, a solver and a surrogate of DRM19, and `ignite`."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import combred
from combred.native import build, generate
from combred.native.interface import Library
from combred.native.solver import generate as generate_solver

COUPLING = Path(__file__).parents[2] / "coupling"
DEFAULTS = {"solver": 1e-3, "surrogate": 0.05}  # tolerances


@dataclass(frozen=True)
class Native:
    """A library in Python: its path, as `export` names it, and its default tolerance."""

    path: Path
    tolerance: float

    @property
    def species(self) -> list[str]:
        return Library(self.path).species

    def integrate(self, states, dt, tolerance=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """States (n, 2 + n_species) dt [s] later, their error ratios and numbers of steps."""
        later = np.array(states)
        chosen = self.tolerance if tolerance is None else tolerance
        return later, *Library(self.path).integrate_in_place(later, dt, chosen)


@pytest.fixture(scope="session")
def surrogate():
    return combred.load("drm19-11k").eval().requires_grad_(False)


@pytest.fixture(scope="session")
def libraries(surrogate, made_once) -> dict[str, Native]:
    """A solver and a surrogate of DRM19."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    sources = {
        "solver": generate_solver(combred.load_mechanism("drm19.yaml")),
        "surrogate": generate(surrogate, combred.load_mechanism("drm19.yaml")),
    }
    with made_once("libraries") as folder:
        for name, files in sources.items():
            path = folder / f"lib{name}.so"
            if not path.exists():
                shutil.copy(build(files), path)
    return {name: Native(folder / f"lib{name}.so", DEFAULTS[name]) for name in sources}


@pytest.fixture(scope="session", params=list(DEFAULTS))
def native(request, libraries) -> Native:
    """The solver and the surrogate, one after the other."""
    return libraries[request.param]


@pytest.fixture(scope="session")
def ignite(tmp_path_factory) -> Path:
    """The program coupling/ignite.cpp."""
    program = tmp_path_factory.mktemp("ignite") / "ignite"
    command = ["g++", "-O2", str(COUPLING / "ignite.cpp"), "-o", str(program), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return program

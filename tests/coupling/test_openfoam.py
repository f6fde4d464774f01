"""The chemistry solver in OpenFOAM: built with wmake and run in chemFoam and reactingFoam.

Runs where OpenFOAM's environment is sourced. chemFoam's cell is one state at constant pressure, so
that the surrogate in Python tells what to expect.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

import combred
from benchmarks import openfoam

COUPLING = Path(__file__).parents[2] / "coupling"
DT = 1e-6  # s
T0, PHI = 1700.0, 1.0

pytestmark = pytest.mark.skipif(
    any(shutil.which(name) is None for name in ("wmake", "chemFoam", "reactingFoam")),
    reason="needs the environment of OpenFOAM, with its headers",
)


@pytest.fixture(scope="module")
def solver(tmp_path_factory) -> Path:
    """The library of the chemistry solver."""
    folder = tmp_path_factory.mktemp("openfoam")
    shutil.copytree(COUPLING, folder / "coupling", ignore=shutil.ignore_patterns("linux*"))
    done = subprocess.run(
        ["wmake", "libso", "coupling/openfoam"],
        cwd=folder, env=os.environ | {"FOAM_USER_LIBBIN": str(folder)}, capture_output=True,
        text=True,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "warning" not in said, said
    return folder / "libcombredChemistry.so"


@pytest.fixture(scope="module")
def exported(library, tmp_path_factory) -> str:
    """The surrogate, under the name that `export` gives it."""
    return str(shutil.copy(library, tmp_path_factory.mktemp("exported") / "libsurrogate.so"))


def ignition_of_python(surrogate, t: np.ndarray) -> np.ndarray:
    """T (n,) [K] of the cell at times t (n,) [s] > 0, in steps from one to the next."""
    mechanism = combred.load_mechanism("drm19.yaml")
    Y = mechanism.mixture("CH4:1", "O2:1, N2:3.76", phi=PHI)
    state, T = torch.tensor([[T0, 101325.0, *Y]], dtype=torch.float64), []
    for dt in np.diff(t, prepend=0.0):
        state = surrogate(state, torch.tensor([dt], dtype=torch.float64))
        T.append(float(state[0, 0]))
    return np.array(T)


@pytest.mark.parametrize("adjust", ["no", "yes"])
def test_an_ignition_of_chem_foam_equals_that_of_python(
    solver, exported, surrogate, tmp_path, adjust
):
    control = f"endTime 3e-4; adjustTimeStep {adjust};"
    t, T = openfoam.ignite(tmp_path, solver, exported, T0, PHI, 3 * DT, control)
    t, T = t[t > 0], T[t > 0]
    dt = np.diff(t, prepend=0.0)
    # chemFoam begins with initialChemicalTimeStep and doubles it.
    assert dt.max() == pytest.approx(3 * DT) and (dt.min() < 1.1e-7) == (adjust == "yes")
    assert T[-1] > 2600.0
    assert np.allclose(T, ignition_of_python(surrogate, t), rtol=2e-5)


def test_what_the_solver_says_is_read():
    said = "combred: 1 cells, 0 of them integrated, 1.5e+02 steps per cell\nTime = 1e-6\n"
    assert openfoam.told(said) == {"integrated": 0.0, "steps": 150.0}
    other = "combred: 3 cells, 2 of them integrated, 4.5 steps per cell\n"
    assert openfoam.told(said + other) == {"integrated": 0.5, "steps": (150.0 + 3 * 4.5) / 4}
    assert openfoam.told("Time = 1e-6") is None


def chem_foam_with(folder: Path, coefficients: str) -> str:
    """What chemFoam says with other coefficients of `combred`."""
    file = folder / "constant" / "chemistryProperties"
    text = re.sub(r"combredCoeffs \{.*\}", f"combredCoeffs {{ {coefficients} }}", file.read_text())
    file.write_text(text)
    done = subprocess.run(["chemFoam"], cwd=folder, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_a_cell_above_the_limit_is_integrated(solver, exported, tmp_path):
    control = f"endTime {20 * DT:g};"
    by_surrogate = openfoam.ignite(tmp_path, solver, exported, T0, PHI, DT, control)[1]
    said = chem_foam_with(tmp_path, 'surrogate "constant/libsurrogate.so"; limit 0;')
    assert said.count("combred: 1 cells, 1 of them integrated, ") == 20
    T = np.loadtxt(tmp_path / "chemFoam.out", comments="#", usecols=1)
    by_ode = openfoam.ignite(tmp_path / "ode", solver, "ode", T0, PHI, DT, control)[1]
    assert np.allclose(T, by_ode, rtol=1e-9) and not np.allclose(T, by_surrogate, rtol=1e-9)


def test_a_smaller_tolerance_takes_more_steps(solver, exported, tmp_path):
    control = f"endTime {5 * DT:g};"
    openfoam.ignite(tmp_path, solver, exported, T0, PHI, DT, control)
    by_default, smaller = (
        openfoam.told(chem_foam_with(tmp_path, f'surrogate "constant/libsurrogate.so"; {more}'))
        for more in ("limit 1e30;", "limit 1e30; tolerance 0.01;")
    )
    assert by_default["integrated"] == smaller["integrated"] == 0.0
    assert smaller["steps"] > by_default["steps"] + 1.0


def test_errors_of_the_user_are_fatal_and_named(solver, exported, tmp_path):
    openfoam.ignite(tmp_path, solver, exported, T0, PHI, DT, f"endTime {DT:g};")
    for coefficients, message in (
        ('surrogate "constant/none.so";', "none.so is not a surrogate for this machine"),
        (
            'surrogate "constant/libsurrogate.so"; tolerance 0;',
            "positive and finite; this one is 0",
        ),
    ):
        said = chem_foam_with(tmp_path, coefficients)
        assert "FOAM FATAL IO ERROR" in said and message in said

"""The chemistry solver in OpenFOAM: built with wmake and run in chemFoam and reactingFoam.

Runs where OpenFOAM's environment is sourced (coupling/openfoam/install.sh). chemFoam's cell is one
state at constant pressure, so that the library in Python tells what to expect.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

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


def ignition_of_python(native, t: np.ndarray) -> np.ndarray:
    """T (n,) [K] of the cell at times t (n,) [s] > 0, in steps from one to the next."""
    mechanism = combred.load_mechanism("drm19.yaml")
    Y = mechanism.mixture("CH4:1", "O2:1, N2:3.76", phi=PHI)
    state, T = np.array([[T0, 101325.0, *Y]]), []
    for dt in np.diff(t, prepend=0.0):
        state = native.integrate(state, dt)[0]
        T.append(float(state[0, 0]))
    return np.array(T)


@pytest.mark.parametrize("adjust", ["no", "yes"])
def test_an_ignition_of_chem_foam_equals_that_of_python(solver, native, tmp_path, adjust):
    control = f"endTime 3e-4; adjustTimeStep {adjust};"
    t, T = openfoam.ignite(tmp_path, solver, str(native.path), T0, PHI, 3 * DT, control)
    t, T = t[t > 0], T[t > 0]
    dt = np.diff(t, prepend=0.0)
    # chemFoam begins with initialChemicalTimeStep and doubles it.
    assert dt.max() == pytest.approx(3 * DT) and (dt.min() < 1.1e-7) == (adjust == "yes")
    assert T[-1] > 2600.0
    assert np.allclose(T, ignition_of_python(native, t), rtol=2e-5)


def test_what_the_solver_says_is_read():
    said = (
        "combred: {} cells, {} by the network, {} by the solver, {} steps a cell, at most 9, "
        "2e-06 s of CPU time\n"
    )
    found = openfoam.told(said.format(1, 1, 0, "1.5e+02") + "Time = 1e-6\n")
    assert found == {"solver": 0.0, "steps": 150.0, "us": 2.0}
    found = openfoam.told(said.format(1, 1, 0, "150") + said.format(3, 1, 2, 4.5))
    assert found == {"solver": 0.5, "steps": (150.0 + 3 * 4.5) / 4, "us": 1.0}
    assert openfoam.told("Time = 1e-6") is None


@pytest.fixture
def case(solver, libraries, tmp_path):
    """chemFoam's cell over 20 steps; a function of other `combredCoeffs` gives what it says."""
    path = str(libraries["surrogate"].path)
    openfoam.ignite(tmp_path, solver, path, T0, PHI, DT, f"endTime {20 * DT:g};")
    shutil.copy(libraries["solver"].path, tmp_path / "constant")
    file = tmp_path / "constant" / "chemistryProperties"

    def say(coefficients: str) -> str:
        entry = f"combredCoeffs {{ {coefficients} }}"
        file.write_text(re.sub(r"combredCoeffs \{.*\}", entry, file.read_text()))
        done = subprocess.run(["chemFoam"], cwd=tmp_path, capture_output=True, text=True)
        return done.stdout + done.stderr

    say.folder = tmp_path
    return say


SURROGATE, SOLVER = 'surrogate "constant/libsurrogate.so";', 'solver "constant/libsolver.so";'


def temperatures(case) -> np.ndarray:
    return np.loadtxt(case.folder / "chemFoam.out", comments="#", usecols=1)


def test_a_cell_above_the_limit_is_advanced_by_the_solver_from_its_old_state(case):
    both = case(f"{SURROGATE} {SOLVER} limit 1e-9;")
    assert both.count("combred: 1 cells, 0 by the network, 1 by the solver, ") == 20
    T = temperatures(case)
    alone = case(SOLVER)
    assert alone.count("combred: 1 cells, 0 by the network, 1 by the solver, ") == 20
    assert np.array_equal(T, temperatures(case))
    case(f"{SURROGATE} {SOLVER}")
    assert not np.allclose(T, temperatures(case), rtol=1e-9)


@pytest.mark.parametrize(
    "library, tolerance",
    [(SURROGATE, "limit 1e30; surrogateTolerance 0.005;"), (SOLVER, "tolerance 1e-5;")],
)
def test_a_smaller_tolerance_takes_more_steps(case, library, tolerance):
    by_default, smaller = (
        openfoam.told(case(library + more)) for more in ("limit 1e30;", tolerance)
    )
    assert smaller["steps"] > by_default["steps"] + 0.2


def test_a_cell_that_the_surrogate_refuses_needs_a_solver(case):
    said = case(f"{SURROGATE} limit 1e-9;")
    assert "Cell 0 at (" in said and "T = 1700" in said and ", N2 0.72" in said
    assert "add to combredCoeffs" in said and 'solver "constant/libsolver.so";' in said


def test_a_cell_that_the_solver_refuses_ends_the_run(case):
    conditions = case.folder / "constant" / "initialConditions"
    conditions.write_text(conditions.read_text().replace("p 101325;", "p -101325;"))
    shutil.rmtree(case.folder / "0")  # chemFoam prefers it
    said = case(SOLVER)
    assert "FOAM FATAL ERROR" in said and "Cell 0 at (" in said and " p = -101325 Pa" in said
    assert "T from 100 to 6000 K" in said


@pytest.mark.parametrize(
    "coefficients, message",
    [
        ('solver "constant/none.so";', "none.so is missing or cannot be read"),
        ('solver "constant/thermo";', "thermo is no library of combred for this machine"),
        (f"{SOLVER} tolerance 0;", "positive and finite; this one is 0"),
        (f"{SOLVER} limit -1;", "limit -1: the limit of the error ratio has to be positive"),
        (f"{SOLVER} limt 1;", "Unknown entry limt: the entries are"),
        ("log true;", "No library: add"),
    ],
)
def test_errors_of_the_user_are_fatal_and_named(case, coefficients, message):
    said = case(coefficients)
    assert "FOAM FATAL IO ERROR" in said and message in " ".join(said.split())


def test_the_tutorial_burns(solver, libraries, tmp_path):
    """Two milliseconds of it, without the export of the library."""
    shutil.copytree(COUPLING / "openfoam/tutorials/counterflow", tmp_path, dirs_exist_ok=True)
    shutil.copy(libraries["solver"].path, tmp_path / "constant")
    openfoam.write_mechanism(combred.load_mechanism("drm19.yaml"), tmp_path / "constant")
    control = tmp_path / "system/controlDict"
    text = control.read_text().replace("libcombredChemistry.so", str(solver))
    control.write_text(text.replace("endTime 0.1;", "endTime 0.002;"))
    openfoam.run(tmp_path, "blockMesh")
    said = openfoam.run(tmp_path, "reactingFoam")
    T = [float(value) for value in re.findall(r"min/max\(T\) = \S+, (\S+)", said)]
    assert 2400.0 < T[-1] < 2900.0 and "janafThermo" not in said  # no warning of a range

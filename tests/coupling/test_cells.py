"""Cells of a flow code, without one: species in another order, blocks, changes, errors."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks import openfoam
from tests.coupling.conftest import COUPLING, compiled

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
N = 9001  # two blocks and a part
FEW_STEPS, SMALL_RISE, GROWTH = 4.0, 20.0, 2.0  # coupling/cells.hpp


@pytest.fixture(scope="session")  # with `native` a module is visited three times
def advance(tmp_path_factory):
    """A function of an integrator, T (n,), p, Y (n, n_species), dt (n,) and names: what the program
    says, and its rows."""
    folder = tmp_path_factory.mktemp("cells")
    program = compiled(folder, Path(__file__).with_name("cells.cpp"), "-I", COUPLING)

    def run(native, T, p, Y, dt, names):
        file = folder / "states"
        np.concatenate([[len(T)], np.column_stack([T, p, Y, dt]).ravel()]).tofile(file)
        words = [program, native.library.path, file, *names]
        done = subprocess.run(words, capture_output=True, text=True)
        return done, np.fromfile(file).reshape(len(T), -1) if done.returncode == 0 else None

    return run


@pytest.fixture(scope="module")
def states(libraries, drm19):
    """T, p, Y, dt of an ignition with blocks of cold gas, as a flow has them: sums of Y off 1, and
    small negative Y."""
    T, Y = np.array([1700.0]), drm19.mixture("CH4:1", "O2:1, N2:3.76", 1.0)[None]
    rows = [(T, Y)]
    while len(rows) < 40:
        rows.append(
            libraries["solver"].advance(rows[-1][0], np.array([101325.0]), rows[-1][1], 1e-5)
        )
    T, Y = (
        np.resize(np.concatenate(part), (N, *part[0].shape[1:])) for part in zip(*rows, strict=True)
    )
    Y = Y * np.random.default_rng(0).uniform(0.9995, 1.0005, N)[:, None]
    Y[::7, drm19.species_names.index("AR")] = -1e-7
    return T, np.full(N, 101325.0), Y, np.resize([1e-6, 3e-6, 2e-5], N)


def test_changes_are_those_of_the_library(advance, native, drm19, states):
    T, p, Y, dt = states
    order = np.random.default_rng(1).permutation(drm19.n_species)
    names = [drm19.species_names[k] for k in order]
    done, found = advance(native, T, p, Y[:, order], dt, names)
    assert done.returncode == 0, done.stderr
    known = native.attempt(T, p, Y, dt)
    dY, (T_after, steps, error, dt_next, seconds) = found[:, :-5], found[:, -5:].T
    positive = np.maximum(Y, 0.0)
    expected = positive.sum(axis=1, keepdims=True) * known.Y - positive
    assert np.allclose(dY, expected[:, order], rtol=0.0, atol=1e-15)
    assert abs(dY.sum(axis=1)).max() < 1e-14 < 0.01 < abs(dY).max()
    assert np.array_equal(T_after, known.T) and np.array_equal(steps, known.steps)
    assert np.array_equal(error, known.error)
    assert np.allclose(seconds, native.library.time_scale(np.column_stack([T, p, Y])), rtol=1e-12)
    factor = np.minimum(FEW_STEPS / np.maximum(steps, 1.0), SMALL_RISE / abs(T_after - T))
    assert np.allclose(dt_next, dt * np.minimum(factor, GROWTH))
    assert (factor < GROWTH).any() and (factor > GROWTH).any()
    line, twice = done.stdout.splitlines()
    assert line.startswith(f"combred: {N} cells, {(steps == 0).sum()} by the network, ")
    assert (
        f" {int((steps > 0).sum())} by the solver, " in line
        and f"at most {steps.max():g}, " in line
    )
    assert twice.startswith(f"combred: {2 * N} cells, ") and "0.25 s of CPU time" in twice
    assert float(line.split()[-1]) == pytest.approx(error.max(), rel=1e-5)
    told = openfoam.told(line)
    assert told["steps"] == pytest.approx(steps.mean(), rel=1e-5)
    assert told["us"] == pytest.approx(0.5e6 / N)


def test_a_cell_that_cannot_be_advanced_is_told(advance, libraries, drm19, states):
    T, p, Y, dt = (one.copy() for one in states)
    p[4321] = -1.0
    done, _ = advance(libraries["solver"], T, p, Y, dt, drm19.species_names)
    assert done.returncode == 1 and done.stderr.startswith("cell 4321 has no valid state: T = ")
    assert " p = -1 Pa, sum Y = " in done.stderr and re.search(r", N2 0\.7\d+, ", done.stderr)
    Y[1] = np.nan
    done, _ = advance(libraries["solver"], T, p, Y, dt, drm19.species_names)
    assert done.returncode == 1 and done.stderr.startswith("cell 1 ") and " nan" in done.stderr


def test_species_that_one_of_both_lacks_are_named(advance, libraries, drm19, states):
    names = [{"CH3O": "XCH3O", "C2H6": "CH4"}.get(name, name) for name in drm19.species_names]
    done, _ = advance(libraries["solver"], *states, [*names, "HE"])
    assert done.returncode == 2 and "lacks the species 2(CH3O C2H6) of" in done.stderr
    assert "has no 2(XCH3O HE). Use one mechanism" in done.stderr
    done, _ = advance(libraries["solver"], *states, [*drm19.species_names, "HE"])
    assert done.returncode == 2 and "lacks" not in done.stderr and "no 1(HE)" in done.stderr

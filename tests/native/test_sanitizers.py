"""The compiled source under the sanitizers of addresses and of undefined behaviour."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from compiled_program import SANITIZERS, CompiledProgram
from rate_kinds import random_states

from combred.native import generate
from combred.native.compilers import FLAGS
from combred.native.generator import SOURCE
from combred.native.single_file import single_file

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++"),
    pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session"),
]


@pytest.fixture(scope="module")
def program(correcting, mechanism, tmp_path_factory):
    """advance.c, which allocates no byte more than it has to."""
    folder = tmp_path_factory.mktemp("sanitized")
    (folder / "surrogate.cpp").write_text(single_file(generate(correcting, mechanism), "of a test"))
    advance = [Path(__file__).with_name("advance.c"), "-I", SOURCE]
    subprocess.run(["gcc", *SANITIZERS, "-c", *advance], cwd=folder, check=True)
    command = ["g++", *FLAGS, "-O1", "-march=native", *SANITIZERS, "surrogate.cpp", "advance.o"]
    built = subprocess.run([*command, "-o", "advance"], cwd=folder, capture_output=True, text=True)
    if "cannot find" in built.stderr:
        pytest.skip("the sanitizers' libraries are not installed")
    assert built.returncode == 0, built.stderr
    return CompiledProgram(folder / "advance")


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 100])
def test_batches_of_all_sizes(program, mechanism, n):
    states = np.column_stack(random_states(mechanism, 100, seed=1))[:n]
    later, error, steps = program.integrate(states, 1e-6)
    assert later.shape == states.shape and np.all(steps >= 1) and not np.isnan(error).any()


def test_states_that_are_none(program, mechanism):
    states = np.column_stack(random_states(mechanism, 100, seed=2))
    rng = np.random.default_rng(0)
    values = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-300, 5e-324, 1e300, -1e-9]
    for row in states[:90]:
        row[rng.integers(len(row))] = rng.choice(values)
    later, error, _ = program.integrate(states, 1e-6)
    assert later.shape == states.shape and np.isinf(error[:90]).sum() > 45
    alone, error_alone, _ = program.integrate(states[90:], 1e-6)
    assert np.array_equal(later[90:], alone) and np.array_equal(error[90:], error_alone)

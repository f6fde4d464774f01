"""The C++ library, built here with CMake, against the surrogate in Python."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

import combred

COUPLING = Path(__file__).parents[2] / "coupling"
Y0 = {"CH4": 0.0552, "O2": 0.2202, "N2": 0.7246}

pytestmark = pytest.mark.skipif(
    shutil.which("cmake") is None or shutil.which("c++") is None,
    reason="needs CMake and a C++ compiler",
)


@pytest.fixture(scope="module")
def ignite(tmp_path_factory) -> Path:
    build = tmp_path_factory.mktemp("build")
    prefix = f"-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}"
    for command in (
        ["cmake", "-S", COUPLING, "-B", build, prefix, "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"],
        ["cmake", "--build", build],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return build / "ignite"


@pytest.fixture(scope="module")
def surrogate():
    return combred.load("drm19-kinetics-4k").eval().requires_grad_(False)


@pytest.fixture(scope="module")
def exported(surrogate, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("exported") / "surrogate.pt"
    torch.jit.script(surrogate).save(str(path))
    return path


def run(*words) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def test_an_ignition_equals_that_of_python(ignite, exported, surrogate):
    steps = 300
    given = [f"{name}={value}" for name, value in Y0.items()]
    done = run(ignite, exported, 1700, 101325, steps, *given)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    found = np.array([line.split() for line in lines if line[0] != "#"], float)
    state = torch.zeros(1, surrogate.n, dtype=torch.float64)
    state[0, :2] = torch.tensor([1700.0, 101325.0])
    for name, value in Y0.items():
        state[0, 2 + surrogate.species.index(name)] = value
    dt = torch.tensor([surrogate.dt], dtype=torch.float64)
    T, errors = [1700.0], [0.0]
    for _ in range(steps):
        state, error = surrogate.next_state_and_error(state, dt)
        T.append(state[0, 0].item())
        errors.append(error.item())
    assert T[-1] > 2600.0
    assert np.allclose(found[:, 0], surrogate.dt * np.arange(steps + 1))
    # Frozen TorchScript fuses operations of eager torch: differences of some 1e-7 per step.
    assert np.allclose(found[:, 1], T, rtol=1e-5)
    assert np.allclose(found[:, 2], errors, rtol=1e-2, atol=1e-3)
    (delay,) = (float(line.split()[2]) for line in lines if line.startswith("# delay"))
    steepest = int(np.argmax(np.diff(T)))
    assert delay == pytest.approx((steepest + 0.5) * surrogate.dt, rel=1e-5)
    assert any(line.startswith("# time per state") for line in lines)


def test_errors_of_the_user_are_named(ignite, exported, tmp_path):
    done = run(ignite, exported, 1700, 101325, 1, "CH5=0.1")
    assert (
        done.returncode == 1
        and "CH5=0.1 is not NAME=Y with a species of the surrogate" in done.stderr
    )
    assert "CH4" in done.stderr
    other = tmp_path / "other.pt"
    torch.jit.script(torch.nn.Linear(2, 2)).save(str(other))
    for path in (other, tmp_path / "none.pt", Path(__file__)):
        done = run(ignite, path, 1700, 101325, 1, "CH4=0.1")
        assert done.returncode == 1 and "is not a surrogate that combred exported" in done.stderr
    assert run(ignite, exported).returncode == 2

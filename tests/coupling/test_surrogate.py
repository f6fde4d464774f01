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
DT = 1e-6  # s
WARNINGS = "-Wall -Wextra -Werror"

pytestmark = pytest.mark.skipif(
    shutil.which("cmake") is None or shutil.which("c++") is None,
    reason="needs CMake and a C++ compiler",
)


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Path:
    """The folder of the library, of `ignite` and of `advance`."""
    build = tmp_path_factory.mktemp("build")
    prefix = f"-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}"
    compile = ["c++", "-std=c++11", *WARNINGS.split(), Path(__file__).with_name("advance.cpp")]
    link = [f"-L{build}", f"-Wl,-rpath,{build}", "-lcombred_surrogate"]
    for command in (
        ["cmake", "-S", COUPLING, "-B", build, prefix, f"-DCMAKE_CXX_FLAGS={WARNINGS}"],
        ["cmake", "--build", build],
        [*compile, "-I", COUPLING, "-o", build / "advance", *link],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return build


@pytest.fixture(scope="module")
def ignite(build) -> Path:
    return build / "ignite"


@pytest.fixture(scope="module")
def surrogate():
    return combred.load("drm19-38k").eval().requires_grad_(False)


@pytest.fixture(scope="module")
def exported(surrogate, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("exported") / "surrogate.pt"
    torch.jit.script(surrogate).save(str(path))
    return path


def run(*words) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def seconds(*dt: float) -> torch.Tensor:
    return torch.tensor(dt, dtype=torch.float64)


def initial_state(surrogate, T: float) -> torch.Tensor:
    Y = [Y0.get(name, 0.0) for name in surrogate.species]
    return torch.tensor([[T, 101325.0, *Y]], dtype=torch.float64)


def ignition(surrogate, n: int, dt: float):
    """States (n + 1, n_species + 2), errors and numbers of steps of an ignition at 1700 K."""
    states, errors, counts = [initial_state(surrogate, 1700.0)], [torch.zeros(1)], [torch.zeros(1)]
    for _ in range(n):
        later, error, count = surrogate.integrate(states[-1], seconds(dt), surrogate.TOLERANCE)
        states.append(later)
        errors.append(error)
        counts.append(count)
    return torch.cat(states), torch.cat(errors).numpy(), torch.cat(counts).numpy()


@pytest.mark.parametrize("dt, n", [(DT, 300), (1e-5, 30)])
def test_an_ignition_equals_that_of_python(ignite, exported, surrogate, dt, n):
    given = [f"{name}={value}" for name, value in Y0.items()]
    done = run(ignite, exported, 1700, 101325, dt, n, *given)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    found = np.array([line.split() for line in lines if line[0] != "#"], float)
    states, errors, counts = ignition(surrogate, n, dt)
    T = states[:, 0].numpy()
    assert T[-1] > 2600.0
    assert np.allclose(found[:, 0], dt * np.arange(n + 1))
    # Frozen TorchScript fuses operations of eager torch: differences of some 1e-7 per step, unless
    # an error estimate of almost 1 is on either side of it.
    alike = int((found[:, 3] != counts).argmax()) or n + 1
    assert alike > n // 2
    assert np.allclose(found[:alike, 1], T[:alike], rtol=1e-5)
    assert np.allclose(found[:alike, 2], errors[:alike], rtol=0.02, atol=2e-3)
    assert np.allclose(found[:, 1], T, rtol=1e-3)
    (delay,) = (float(line.split()[2]) for line in lines if line.startswith("# delay"))
    steepest = int(np.argmax(np.diff(T)))
    assert delay == pytest.approx((steepest + 0.5) * dt, rel=1e-5)
    assert counts[1:].mean() > 1.0
    (said,) = (line for line in lines if line.startswith("# steps per call"))
    assert float(said.split()[4].rstrip(",")) == pytest.approx(found[1:, 3].mean(), rel=1e-3)


def advance(build, exported, folder: Path, state, dt, *tolerance) -> subprocess.CompletedProcess:
    """`advance` on states and time steps; its results are read from `folder / "states"`."""
    values = np.concatenate([[len(state)], state.numpy().ravel(), dt.numpy()])
    values.tofile(folder / "states")
    return run(build / "advance", exported, folder / "states", *tolerance)


@pytest.mark.parametrize("n", [0, 1, 4097])  # the library calls LibTorch with 4096 states
@pytest.mark.parametrize("tolerance", [None, 0.5])
def test_every_state_has_its_time_step(build, exported, surrogate, tmp_path, n, tolerance):
    states = ignition(surrogate, 250, DT)[0]
    generator = torch.Generator().manual_seed(0)
    state = states[torch.randint(len(states), (n,), generator=generator)]
    dt = 10.0 ** torch.empty(n, dtype=torch.float64).uniform_(-7.0, -4.7, generator=generator)
    given = () if tolerance is None else (tolerance,)
    done = advance(build, exported, tmp_path, state, dt, *given)
    assert done.returncode == 0, done.stderr
    used = surrogate.TOLERANCE if tolerance is None else tolerance
    assert float(done.stdout) == pytest.approx(used)
    size, width = state.numel(), state.shape[1]
    found = torch.from_numpy(np.fromfile(tmp_path / "states", float, size + 2 * n))
    later, error, count = surrogate.integrate(state, dt, used)
    # An error estimate of almost 1 is on either side of it, as rounding decides.
    alike = found[size + n :] == count
    assert alike.sum() >= 0.99 * n
    found_later, found_error = found[:size].reshape(n, width), found[size : size + n]
    assert torch.allclose(found_later[alike], later[alike], rtol=1e-5, atol=1e-7)
    assert torch.allclose(found_error[alike], error[alike], rtol=0.02, atol=2e-3)
    if n > 1:
        assert count.min() == 1 and count.max() > 4


@pytest.mark.parametrize("wrong", [0.0, -DT, np.nan, np.inf])
def test_a_time_step_that_is_none_is_refused(build, exported, surrogate, tmp_path, wrong):
    state = initial_state(surrogate, 1700.0).repeat(3, 1)
    done = advance(build, exported, tmp_path, state, seconds(DT, wrong, DT))
    assert done.returncode == 1
    assert f"error: dt = {wrong:g} s (state 1 of 3)" in done.stderr
    assert "positive and finite" in done.stderr
    given = [f"{name}={value}" for name, value in Y0.items()]
    done = run(build / "ignite", exported, 1700, 101325, wrong, 1, *given)
    assert done.returncode == 1 and "positive and finite" in done.stderr


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
def test_a_tolerance_that_is_none_is_refused(build, exported, surrogate, tmp_path, wrong):
    state = initial_state(surrogate, 1700.0)
    done = advance(build, exported, tmp_path, state, seconds(DT), wrong)
    assert done.returncode == 1 and f"positive and finite; this one is {wrong:g}" in done.stderr


def test_what_the_surrogate_refuses_is_told(build, tmp_path):
    surrogate = combred.load("drm19-full").eval()  # it has one dt
    torch.jit.script(surrogate).save(str(tmp_path / "full.pt"))
    state = initial_state(surrogate, 1700.0)
    done = advance(build, tmp_path / "full.pt", tmp_path, state, seconds(1.5 * DT))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "refused the call: this network advances by dt = " in done.stderr
    assert advance(build, tmp_path / "full.pt", tmp_path, state, seconds(DT)).returncode == 0


def test_a_state_that_is_not_valid_has_an_infinite_error(build, exported, surrogate, tmp_path):
    state = initial_state(surrogate, 1700.0).repeat(2, 1)
    state[1, 2:] *= 1.1  # sum Y
    done = advance(build, exported, tmp_path, state, seconds(DT, DT))
    assert done.returncode == 0, done.stderr
    error = np.fromfile(tmp_path / "states")[state.numel() :][:2]
    assert error[0] < 100.0 and error[1] == np.inf


def test_errors_of_the_user_are_named(ignite, exported, tmp_path):
    done = run(ignite, exported, 1700, 101325, DT, 1, "CH5=0.1")
    assert (
        done.returncode == 1
        and "CH5=0.1 is not NAME=Y with a species of the surrogate" in done.stderr
    )
    assert "CH4" in done.stderr
    done = run(ignite, exported, "hot", 101325, DT, 1, "CH4=0.1")
    assert done.returncode == 1 and "'hot' is not a number: it stands for T [K]" in done.stderr
    assert run(ignite, exported).returncode == 2


def test_a_file_of_another_kind_is_refused(ignite, tmp_path):
    other = tmp_path / "other.pt"
    torch.jit.script(torch.nn.Linear(2, 2)).save(str(other))
    for path, cause in (
        (other, "it lacks species TOLERANCE integrate(state, dt, tolerance)"),
        (tmp_path / "none.pt", "No such file"),
        (Path(__file__), ""),
    ):
        done = run(ignite, path, 1700, 101325, DT, 1, "CH4=0.1")
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
        assert f"{path} is not a surrogate that this version of combred exported" in done.stderr
        assert cause in done.stderr

"""The example for LibTorch: built against the installed torch, run, and compared with Python."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from combred.surrogates.files.card import make_card
from combred.surrogates.files.export import export_torchscript

SOURCE = Path(__file__).parents[2] / "coupling" / "torch.cpp"
DT, CALLS = 8e-6, 60

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    """The program, by the command at the head of its source, not optimised."""
    head = SOURCE.read_text().partition("// T [K]")[0]
    lines = [
        line.removeprefix("//     ") for line in head.splitlines() if line.startswith("//     ")
    ]
    command = "\n".join(lines[:3]).replace("-O1", "-O0").replace("-o torch", "-o here")
    folder = tmp_path_factory.mktemp("torch")
    command = command.replace("coupling/torch.cpp", str(SOURCE)).replace("here", str(folder / "it"))
    command = command.replace("python -c", f"{sys.executable} -c")
    done = subprocess.run(f"set -e\n{command}", shell=True, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr[-2000:]
    return folder / "it"


@torch.no_grad()
def test_an_ignition_is_that_of_python(program, surrogate, libraries, drm19, tmp_path):
    Y = drm19.mixture("CH4:1", "O2:1, N2:3.76", 1.0)
    state = np.array([[1700.0, 101325.0, *Y]])
    file = tmp_path / "surrogate.pt"
    export_torchscript(file, surrogate, make_card(surrogate, drm19, {}, {}), state)
    given = [f"{name}={y!r}" for name, y in zip(drm19.species_names, Y.tolist(), strict=True) if y]
    solver = libraries["solver"].library.path
    words = [program, file, solver, "1700", "101325", DT, CALLS, *given]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *rows, last = done.stdout.splitlines()
    solved, T, dt = 0, [], torch.full((1,), DT, dtype=torch.float64)
    for _ in range(CALLS):
        later, error = surrogate.next_state_and_error(torch.tensor(state), dt)
        if error.item() <= 1.0:
            state = later.numpy()
        else:
            found = libraries["solver"].integrate(state[:, 0], state[:, 1], state[:, 2:], DT)
            state, solved = np.column_stack([found.T, found.p, found.Y]), solved + 1
        T.append(state[0, 0])
    assert 0 < solved < CALLS and last == f"# by the solver: {solved} of {CALLS} calls"
    assert T[-1] > 2500.0
    # Freezing and fusing of TorchScript change the order of sums in float32.
    assert np.allclose([float(row.split()[1]) for row in rows], T, rtol=1e-5)


def test_errors_of_the_user_are_named(program, surrogate, libraries, drm19, tmp_path):
    solver, none = libraries["solver"].library.path, tmp_path / "none.so"
    state = np.array([[1700.0, 101325.0, *drm19.mixture("CH4:1", "O2:1, N2:3.76", 1.0)]])
    file = tmp_path / "surrogate.pt"
    export_torchscript(file, surrogate, make_card(surrogate, drm19, {}, {}), state)
    for place, word, message in (
        (1, none, "none.so is missing"),
        (4, "1e-6s", "'1e-6s' is not a number: it stands for the time step dt [s]"),
        (4, "0", "dt = 0 s: a time step has to be positive and finite"),
    ):
        words = [file, solver, "1700", "101325", "1e-6", "1", "CH4=1"]
        words[place] = word
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
        assert done.returncode == 1 and not done.stdout
        assert message in done.stderr and len(done.stderr.splitlines()) == 1

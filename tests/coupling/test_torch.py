"""A network in TorchScript behind the C interface: compiled with the installed torch, and compared
with the network in Python; called by the class in C++."""

import copy
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

from combred import native
from combred.surrogates.files.card import own_card
from combred.surrogates.files.export import export_torchscript, states_in_range
from combred.surrogates.library import generator, torchscript

COUPLING = Path(__file__).parents[2] / "coupling"
DT = 8e-6

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, surrogate, libraries) -> Path:
    """What is exported of a network that is too large for C++; the solver is compiled already."""
    made = tmp_path_factory.mktemp("torch") / "of a case"
    own = torchscript.options
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generator, "MOST_WEIGHTS", 0)
        patch.setattr(torchscript, "options", lambda *of: [*own(*of), "-O0"])
        patch.setattr(
            "combred.native.exporter.build_portable", lambda _: libraries["solver"].library.path
        )
        written = native.export(surrogate, made)
    assert {path.name for path in written} == {
        *("surrogate.pt", "surrogate.json", "surrogate.cpp", "libsurrogate.so"),
        *("solver.cpp", "libsolver.so", "combred.h"),
    }
    return made


@pytest.fixture
def states(drm19, libraries) -> np.ndarray:
    """On the way through an ignition, more than a call of LibTorch takes; one is not valid."""
    n = 1100
    rng = np.random.default_rng(3)
    Y = drm19.mixture("CH4:1", "O2:1, N2:3.76", rng.uniform(0.7, 1.3, n))
    T, p = rng.uniform(1500.0, 1900.0, n), np.full(n, 101325.0)
    found = libraries["solver"].attempt(T, p, Y, rng.uniform(1e-6, 4e-4, n))
    rows = np.column_stack([found.T, found.p, found.Y])
    rows[7, 0] = np.nan
    return rows


@torch.no_grad()
def test_its_steps_are_those_of_the_network_or_of_the_solver(folder, surrogate, libraries, states):
    threads = torch.get_num_threads()
    library = native.load(folder / "libsurrogate.so")
    assert library.library.species == surrogate.species
    T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    dt = np.where(np.arange(len(T)) % 3, DT, 1e-2)  # the latter is not in the range
    for tolerance in (surrogate.TOLERANCE, 0.1):
        found = library.attempt(T, p, Y, dt, tolerance)
        taken = found.steps == 0
        taken[7] = False
        later, error = (
            x.numpy()
            for x in surrogate.next_state_and_error(torch.tensor(states), torch.tensor(dt))
        )
        ratio = error * surrogate.TOLERANCE / tolerance
        clear = abs(ratio - 1.0) > 0.01  # rounding decides nearer
        assert np.array_equal(taken[clear], (ratio <= 1.0)[clear]) and 100 < taken.sum() < 700
        # Freezing and fusing of TorchScript change the order of sums in float32.
        assert np.allclose(found.T[taken], later[taken, 0], rtol=1e-5)
        assert np.allclose(found.Y[taken], later[taken, 2:], atol=1e-6)
        solved = libraries["solver"].attempt(T, p, Y, dt, tolerance)
        rest = ~taken & np.isfinite(T)
        assert np.array_equal(found.T[rest], solved.T[rest]) and (found.steps[rest] > 0).all()
        assert np.isinf(found.error[7]) and np.isnan(found.T[7])
    assert torch.get_num_threads() == threads
    rates = library.rates(T[:2], p[:2], Y[:2])  # which the solver behind it has
    assert np.array_equal(rates[0], libraries["solver"].rates(T[:2], p[:2], Y[:2])[0])


def test_wrong_arguments_are_those_of_the_solver(folder, states):
    library = native.load(folder / "libsurrogate.so")
    row = states[:1, 0], states[:1, 1], states[:1, 2:]
    with pytest.raises(ValueError, match="time step"):
        library.attempt(*row, -1e-6)
    with pytest.raises(ValueError, match="not finite"):
        library.advance(states[7:8, 0], states[7:8, 1], states[7:8, 2:], DT)


def test_the_class_in_cpp_takes_it_and_says_what_is_wrong(folder, surrogate, tmp_path):
    program = tmp_path / "ignite"
    subprocess.run(["g++", "-O0", COUPLING / "ignite.cpp", "-o", program, "-ldl"], check=True)
    words = ["1700", "101325", "8e-6", "60", "CH4=0.0552", "O2=0.2202", "N2=0.7246"]
    run = [program, folder / "libsurrogate.so", *words]
    done = subprocess.run(run, capture_output=True, text=True)
    rows = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    assert done.returncode == 0, done.stderr
    assert float(rows[-1].split()[1]) > 2500.0
    alone = shutil.copytree(folder, tmp_path / "alone")
    run[1], other = alone / "libsurrogate.so", copy.deepcopy(surrogate)
    next(other.network.parameters()).data[0] += 1e-3
    export_torchscript(alone / "surrogate.pt", other, own_card(other), states_in_range(other))
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 1 and "is not the network of this library" in done.stderr
    (alone / "surrogate.pt").unlink()
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 1 and "the network cannot be loaded" in done.stderr
    assert "version 0 of the interface" in done.stderr
    with pytest.raises(ValueError, match="cannot read the files of its export"):
        native.load(run[1])

"""The flame in plain C: built, run, compared with combred's flame of the same transport."""

import shutil
import subprocess
from pathlib import Path

import cantera as ct
import numpy as np
import pytest

from combred.chemistry.thermo import Thermo
from combred.experiments import diffusion
from combred.experiments.premixed.flame import FlameMarch, burn, start
from combred.experiments.premixed.grid import FlameCase
from combred.native.solver.generator import SOURCE

COUPLING = Path(__file__).parents[2] / "coupling"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")]


def program(folder: Path, library: Path, name: str) -> Path:
    """flame.c, linked with a library, as its head says."""
    shutil.copy(library, folder / f"lib{name}.so")
    shutil.copy(SOURCE / "combred.h", folder)
    command = ["gcc", "-std=c99", "-O2", *"-Wall -Wextra -Wpedantic -Werror".split()]
    command += ["-I", folder, COUPLING / "flame.c", "-L", folder, f"-Wl,-rpath,{folder}"]
    command += [f"-l{name}", "-lm", "-o", folder / "flame"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "flame"


class UnitLewis:
    """lambda / cp of flame.c, and the same of all species, in place of `MixtureTransport`."""

    def __init__(self, mechanism):
        self.thermo, self.W = Thermo(mechanism), mechanism.molecular_weights

    def diffusion(self, T, p, X):
        density = p * (X @ self.W) / (ct.gas_constant * T)
        return np.repeat((self.law(T) / density)[:, None], X.shape[1], axis=1)

    def conductivity(self, T, X):
        Y = X * self.W / (X @ self.W)[:, None]
        return self.law(T) * self.thermo.heat_capacity(T, Y)

    @staticmethod
    def law(T):
        return 2.58e-5 * (T / 298.0) ** 0.7


@pytest.fixture(scope="session")  # of both libraries
def own_speed(libraries, drm19) -> float:
    """Of combred's flame [m/s], with cells of the same size as in flame.c."""
    Y = np.zeros(drm19.n_species)
    for name, value in {"CH4": 0.0552, "O2": 0.2202, "N2": 0.7246}.items():
        Y[drm19.index(name)] = value
    begin = start(drm19, FlameCase(300.0, ct.one_atm, 1.0), Y, 120)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diffusion, "MixtureTransport", UnitLewis)
        found = burn(drm19, libraries["solver"], 2e-6, begin, FlameMarch(120, 0.004))
    assert found.steady
    return found.speed


def test_its_speed_is_that_of_combred_s_own_flame(native, own_speed, tmp_path):
    """Seen: .5 % with the solver."""
    name = native.library.path.stem.removeprefix("lib")
    flame = program(tmp_path, native.library.path, name)
    done = subprocess.run([flame], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *rows, last = done.stdout.splitlines()
    speeds = np.array([row.split() for row in rows], float)[:, 1]
    assert np.ptp(speeds[-3:]) < 0.003 * speeds[-1]
    assert float(last.split()[2]) == pytest.approx(own_speed, rel=0.01)

"""Cells of PelePhysics, without it: partial densities, energy and sources against Radau.

The truth integrates rho Y with Cantera's rates, in cgs units; T follows from rho e or rho h.
"""

import re
import shutil
import subprocess
from pathlib import Path

import cantera as ct
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tests.coupling.conftest import COUPLING, compiled

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]
HOLDS = pytest.mark.parametrize("holds", ["energy", "enthalpy"])
DT, N = 1e-5, 8  # s, cells
DENSITY, ENERGY = 1e3, 1e-4  # kg/m3 in g/cm3, J/kg in erg/g


@pytest.fixture(scope="module")
def advance(tmp_path_factory):
    """A function of an integrator, holds, names and rows [T, rho Y, A, B]: what the program says,
    and its rows [T, rho Y, steps]."""
    folder = tmp_path_factory.mktemp("densities")
    program = compiled(folder, Path(__file__).with_name("densities.cpp"), "-I", COUPLING)

    def run(native, holds, names, rows, dt=DT, tolerance=0.0):
        file = folder / "cells"
        np.concatenate([[len(rows), dt], rows.ravel()]).tofile(file)
        words = [program, native.library.path, file, holds, str(tolerance), *names]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            return done, None
        size = len(rows) * (len(names) + 2)
        return done, np.fromfile(file, count=size).reshape(len(rows), -1)

    return run


class Truth:
    """One cell [T, rho Y, A, B]: its right-hand side, d(T, rho Y)/dt."""

    def __init__(self, mechanism, holds, row):
        self.gas, self.W, n = mechanism.solution(), mechanism.molecular_weights, len(row) // 2 - 1
        self.R = ct.gas_constant * (holds == "energy")
        self.T, self.rhoY, self.A, self.B = row[0], row[1 : 1 + n], row[1 + n : -1], row[-1]

    def set(self, T, rhoY):
        """The partial energies, capacities [erg/g]."""
        gas, rho = self.gas, rhoY.sum()
        gas.set_unnormalized_mass_fractions(rhoY / rho)
        gas.TD = T, DENSITY * rho
        energies = gas.partial_molar_enthalpies - self.R * T, gas.partial_molar_cp - self.R
        return [of / self.W / ENERGY for of in energies]

    def __call__(self, t, y):
        energies, capacities = self.set(y[0], y[1:])
        rates = self.gas.net_production_rates * self.W / DENSITY + self.A
        return np.append((self.B - energies @ rates) / (capacities @ y[1:]), rates)

    def end(self, dt=DT):
        """[T, rho Y] at dt."""
        start = np.append(self.T, self.rhoY)
        scale = np.append(1e-6, np.full(len(self.rhoY), 1e-16 * self.rhoY.sum()))
        return solve_ivp(self, (0, dt), start, "Radau", rtol=1e-10, atol=scale).y[:, -1]

    def energy(self, T, rhoY):
        """rho e or rho h [erg/cm3]."""
        return self.set(T, rhoY)[0] @ rhoY


@pytest.fixture(scope="module")
def rows(libraries, drm19):
    """Cells on their way from fresh to burnt gas, with sources of compression, transport, heat."""
    rng = np.random.default_rng(0)
    fresh = drm19.mixture("CH4:1", "O2:1, N2:3.76", 1.0)
    T, p, Y = np.full(N, 2000.0), np.full(N, 101325.0), np.tile(fresh, (N, 1))
    T, Y = libraries["solver"].advance(T, p, Y, np.linspace(3e-5, 1.4e-4, N))
    rho = p / (ct.gas_constant * T * (Y / drm19.molecular_weights).sum(1)) / DENSITY
    A = rho[:, None] * (0.05 * Y + rng.uniform(0.0, 0.1, (N, 1)) * (fresh - Y)) / DT
    B = rho * rng.uniform(-1.0, 1.0, N) * 3e5 / ENERGY / DT
    return np.column_stack([T, rho[:, None] * Y, A, B])


@pytest.mark.parametrize(
    ("holds", "sources", "bound"),
    [("energy", 0.0, 0.1), ("energy", 1.0, 0.1), ("enthalpy", 1.0, 0.03)],
)
def test_cells_are_those_of_radau(advance, libraries, drm19, rows, holds, sources, bound):
    """Density grows by 5 % with the sources. Seen: a third of the bounds of T [K] and Y; with
    enthalpy and a mean density T would be .02 K off. Elements and energy are of the sources."""
    n = drm19.n_species
    given = np.column_stack([rows[:, : 1 + n], sources * rows[:, 1 + n :]])
    order = np.random.default_rng(1).permutation(n)
    columns = np.concatenate([[0], 1 + order, 1 + n + order, [1 + 2 * n]])
    names = [drm19.species_names[k] for k in order]
    done, found = advance(libraries["solver"], holds, names, given[:, columns])
    assert done.returncode == 0, done.stderr
    inverse = np.argsort(order)
    T, rhoY = found[:, 0], found[:, 1:-1][:, inverse]
    truth = [Truth(drm19, holds, row) for row in given]
    end = np.array([of.end() for of in truth])
    assert 150.0 < np.abs(end[:, 0] - given[:, 0]).max()
    assert np.abs(T - end[:, 0]).max() < bound
    assert (np.abs(rhoY - end[:, 1:]).max(1) / rhoY.sum(1)).max() < 2e-5
    due = given[:, 1 : 1 + n] + DT * given[:, 1 + n : -1]
    elements = (rhoY - due) @ drm19.elements.T / due.sum(1, keepdims=True)
    assert np.abs(elements).max() < 1e-13
    for i, of in enumerate(truth):
        B = of.energy(given[i, 0], given[i, 1 : 1 + n]) + DT * given[i, -1]
        assert abs(of.energy(T[i], rhoY[i]) - B) < 1e-9 * abs(B)


@HOLDS
def test_partial_densities_below_zero_take_no_part_and_are_kept(
    advance, libraries, drm19, rows, holds
):
    names, at = drm19.species_names, 1 + drm19.species_names.index("CH2")
    given = np.tile(rows[-1], (2, 1))
    given[:, at] = [0.0, -1e-5 * given[0, 1 : 1 + drm19.n_species].sum()]
    given[:, 1 + drm19.n_species :] = 0.0
    done, found = advance(libraries["solver"], holds, names, given)
    assert done.returncode == 0, done.stderr
    assert 0.0 <= found[0, at] and found[1, at] == pytest.approx(given[1, at], rel=1e-2)
    assert found[:, 1:-1].sum(1) == pytest.approx(
        given[:, 1 : 1 + drm19.n_species].sum(1), rel=1e-13
    )


def test_many_cells_are_those_of_few(advance, libraries, drm19, rows):
    """Blocks are not of a multiple of 7 cells."""
    runs = [
        advance(libraries["solver"], "energy", drm19.species_names, given, dt=1e-7)
        for given in (rows[:7], np.tile(rows[:7], (1201, 1)))
    ]
    assert runs[1][0].returncode == 0, runs[1][0].stderr
    few, many = (found for _, found in runs)
    assert np.ptp(few[:, 0]) > 100.0
    assert many == pytest.approx(np.tile(few, (1201, 1)), rel=1e-9)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        (0, 9000.0, "cannot be advanced over "),
        (1, -1.0, "has the density -"),
        (0, np.nan, "cannot"),
    ],
)
def test_a_cell_that_cannot_be_advanced_is_told(
    advance, libraries, drm19, rows, column, value, said
):
    given = np.tile(rows, (1001, 1))
    given[6007, column] = value
    done, _ = advance(libraries["solver"], "energy", drm19.species_names, given, dt=1e-9)
    assert done.returncode == 1 and re.match(f"cell 6007 {said}", done.stderr)

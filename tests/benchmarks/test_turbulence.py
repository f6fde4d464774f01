"""The turbulent ignition's initial field, and the measures of the front."""

import numpy as np
import pytest

from benchmarks import openfoam_flows, turbulent_ignition
from benchmarks.openfoam_flows import LENGTH, SPECIES, U_RMS, turbulence


@pytest.fixture(scope="module")
def fields():
    return {cells: turbulence(cells) for cells in (128, 256)}


def test_the_fluxes_between_cells_have_no_divergence(fields):
    for cells, U in fields.items():
        u, v = U[..., 0], U[..., 1]
        du = np.roll(u, -1, 1) - np.roll(u, 1, 1)
        dv = np.roll(v, -1, 0) - np.roll(v, 1, 0)
        assert abs(du + dv).max() < 1e-12 * abs(du).max() * cells
        assert np.sqrt((U[..., :2] ** 2).mean()) == pytest.approx(U_RMS, rel=1e-12)
        assert abs(U.mean(axis=(0, 1))).max() < 1e-12


def test_every_mesh_has_the_same_eddies(fields):
    fine = fields[256]
    coarse = 0.25 * (fine[::2, ::2] + fine[1::2, ::2] + fine[::2, 1::2] + fine[1::2, 1::2])
    # Central differences over cells twice as wide: second order, (k h)^2 / 6 at the largest k.
    assert abs(coarse - fields[128]).max() < 0.02 * abs(fields[128]).max()


def test_the_kernel_is_burnt_in_the_centre_alone(drm19):
    T, Y = openfoam_flows.kernel_states(drm19.solution(), 64)
    T = T.reshape(64, 64)
    assert T[32, 32] == pytest.approx(openfoam_flows.T_KERNEL, rel=1e-3)
    assert T[0, 0] == pytest.approx(300.0, abs=1e-6) and np.allclose(Y.sum(axis=1), 1.0)


def test_a_front_that_is_moved_is_told(monkeypatch):
    cells, moved = 64, 3e-6  # m
    x = (np.arange(cells) + 0.5) * LENGTH / cells

    def field(folder, time, name, n):
        at = x - (moved if folder == "other" else 0.0)
        front = np.tile(300.0 + 1.0e5 * at, (cells, 1)).ravel()
        return front if name == "T" else front / 1e4

    monkeypatch.setattr(turbulent_ignition, "internal", field)
    found = turbulent_ignition.difference("other", "reference", "1", cells)
    assert found["front_mean"] == pytest.approx(-moved, rel=1e-9)
    assert found["front_rms"] == pytest.approx(moved, rel=1e-9)
    assert found["T_max"] == pytest.approx(1e5 * moved, rel=1e-9)
    assert all(found[name] > 0.0 for name in SPECIES)

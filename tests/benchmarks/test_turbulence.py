"""Initial fields of the flows, and the measures of their differences."""

import numpy as np
import pytest

import combred
from benchmarks import taylor_green
from benchmarks.turbulent_ignition import U_RMS, turbulence


def divergence(u: np.ndarray, v: np.ndarray, x: int, y: int) -> float:
    """The largest difference of the fluxes of a cell over the largest flux."""
    du, dv = np.roll(u, -1, x) - np.roll(u, 1, x), np.roll(v, -1, y) - np.roll(v, 1, y)
    return abs(du + dv).max() / abs(u).max()


def test_every_mesh_has_the_same_eddies_without_divergence():
    fine, coarse = turbulence(256), turbulence(128)
    for U in (fine, coarse):
        assert divergence(U[..., 0], U[..., 1], 1, 0) < 1e-12
        assert np.sqrt((U[..., :2] ** 2).mean()) == pytest.approx(U_RMS, rel=1e-12)
        assert abs(U.mean(axis=(0, 1))).max() < 1e-12
    mean = 0.25 * (fine[::2, ::2] + fine[1::2, ::2] + fine[::2, 1::2] + fine[1::2, 1::2])
    # Central differences over cells twice as wide: second order, (k h)^2 / 6 at the largest k.
    assert abs(mean - coarse).max() < 0.02 * abs(coarse).max()
    U = taylor_green.vortices(64, 3).reshape(64, 64, 64, 3)
    assert divergence(U[..., 0], U[..., 1], 2, 1) < 1e-12


@pytest.mark.parametrize(
    "name, fuel, hottest", [("methane", "CH4", 2206.5), ("hydrogen", "H2", 1944.3)]
)
def test_taylor_green_is_at_equilibrium(name, fuel, hottest):
    """hottest [K]: on 512 x 512 cells, where DeepFlame's field of methane has 2206 K."""
    flow, n = taylor_green.flow_of(name), 512
    T, U, Y = taylor_green.beginning(flow.mechanism, fuel, n, 1)
    gas = combred.load_mechanism(flow.mechanism).solution()
    gas.TPY = T[n // 3], 101325.0, Y[n // 3]
    gas.equilibrate("HP")
    assert gas.T == pytest.approx(T[n // 3], abs=0.1)
    assert T.max() == pytest.approx(hottest, abs=1.0)

"""Initial fields of the flows, and the measures of their differences."""

import numpy as np
import pytest

import combred
from benchmarks import flows, foam_tutorials, taylor_green, turbulent_ignition
from benchmarks.turbulent_ignition import LENGTH, U_RMS, ignition, turbulence


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


def test_the_kernel_is_burnt_in_the_centre_alone(drm19):
    T, Y = turbulent_ignition.kernel_states(drm19.solution(), 64)
    T = T.reshape(64, 64)
    assert T[32, 32] == pytest.approx(turbulent_ignition.T_KERNEL, rel=1e-3)
    assert T[0, 0] == pytest.approx(300.0, abs=1e-6) and np.allclose(Y.sum(axis=1), 1.0)


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


def test_a_front_that_is_moved_is_told(monkeypatch):
    flow, moved = ignition(64), 3e-6  # m
    x = (np.arange(64) + 0.5) * LENGTH / 64

    def field(folder, time, name, n):
        at = x - (moved if folder == "other" else 0.0)
        front = np.tile(300.0 + 1.0e5 * at, (64, 1)).ravel()
        return front if name == "T" else front / 1e4

    monkeypatch.setattr(flows, "internal", field)
    found, T = flows.difference(flow, "other", "reference", "1"), 300.0 + 1.0e5 * x
    assert found["front_mean"] == pytest.approx(-moved, rel=1e-9)
    assert found["front_rms"] == pytest.approx(moved, rel=1e-9)
    assert found["T_max"] == pytest.approx(1e5 * moved, rel=1e-9)
    for name in flow.species:
        assert found[name]["field"] == pytest.approx(1e5 * moved / T[-1], rel=1e-9)
        assert found[name]["peak"] == pytest.approx(-1e5 * moved / T[-1], rel=1e-9)
        assert found[name]["sum"] == pytest.approx(-1e5 * moved / T.mean(), rel=1e-9)
    assert found["heat"] == found["OH"]["sum"] and found["hottest"] < 0.0


def test_times_of_a_log_are_those_of_the_last_steps(tmp_path):
    line = (
        "combred: 100 cells, 0 by the network, 100 by the solver, {} steps a cell, at most 9, "
        "{} s of CPU time\nExecutionTime = {} s  ClockTime = 1 s\n"
    )
    said = "begins\n"
    for i in range(8):
        said += f"\nTime = {i}\n" + line.format(2.0 if i < 3 else 4.0, 1e-3, 1.0 + 0.01 * i)
    found = foam_tutorials.last_steps(said, 100)
    assert found["steps"] == 8 and found["tries"] == 4.0 and found["us"] == pytest.approx(10.0)
    assert found["flow_us"] == pytest.approx(90.0)  # 100 us a cell and step, with the chemistry
    for name in ("0", "1e-05", "0.0002", "constant", "10"):
        (tmp_path / name).mkdir()
    assert foam_tutorials.fields(tmp_path) == ["1e-05", "0.0002", "10"]

"""Initial fields of the flows, and the measures of their differences."""

import numpy as np
import pytest

import combred
from benchmarks import flows, foam_tutorials, taylor_green, turbulent_ignition
from benchmarks.turbulent_ignition import LENGTH, U_RMS, ignition, turbulence


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
    T, Y = turbulent_ignition.kernel_states(drm19.solution(), 64)
    T = T.reshape(64, 64)
    assert T[32, 32] == pytest.approx(turbulent_ignition.T_KERNEL, rel=1e-3)
    assert T[0, 0] == pytest.approx(300.0, abs=1e-6) and np.allclose(Y.sum(axis=1), 1.0)


def test_a_front_that_is_moved_is_told(monkeypatch):
    flow, moved = ignition(64), 3e-6  # m
    x = (np.arange(64) + 0.5) * LENGTH / 64

    def field(folder, time, name, n):
        at = x - (moved if folder == "other" else 0.0)
        front = np.tile(300.0 + 1.0e5 * at, (64, 1)).ravel()
        return front if name == "T" else front / 1e4

    monkeypatch.setattr(flows, "internal", field)
    found = flows.difference(flow, "other", "reference", "1")
    assert found["front_mean"] == pytest.approx(-moved, rel=1e-9)
    assert found["front_rms"] == pytest.approx(moved, rel=1e-9)
    assert found["T_max"] == pytest.approx(1e5 * moved, rel=1e-9)
    T = 300.0 + 1.0e5 * x
    for name in flow.species:
        assert found[name]["field"] == pytest.approx(1e5 * moved / T[-1], rel=1e-9)
        assert found[name]["peak"] == pytest.approx(-1e5 * moved / T[-1], rel=1e-9)
        assert found[name]["sum"] == pytest.approx(-1e5 * moved / T.mean(), rel=1e-9)
    assert found["heat"] == found["OH"]["sum"] and found["hottest"] < 0.0


@pytest.mark.parametrize(
    "name, fuel, T_fuel, hottest",
    [("methane", "CH4", 500.0, 2206.5), ("hydrogen", "H2", 300.0, 1944.3)],
)
def test_taylor_green_is_at_equilibrium(name, fuel, T_fuel, hottest):
    """hottest [K]: on 512 x 512 cells, where DeepFlame's field of methane has 2206 K."""
    flow, n = taylor_green.flow_of(name), 512
    T, U, Y = taylor_green.beginning(flow.mechanism, fuel, n, 1)
    assert T.max() == pytest.approx(hottest, abs=1.0)
    gas = combred.load_mechanism(flow.mechanism).solution()
    assert T.min() == pytest.approx(T_fuel, abs=2.0)
    gas.TPY = T[n // 3], 101325.0, Y[n // 3]
    before = gas.T
    gas.equilibrate("HP")
    assert gas.T == pytest.approx(before, abs=0.1)


def test_the_vortices_have_no_divergence():
    U = taylor_green.vortices(64, 3).reshape(64, 64, 64, 3)
    u, v = U[..., 0], U[..., 1]
    du, dv = (np.roll(one, -1, i) - np.roll(one, 1, i) for one, i in ((u, 2), (v, 1)))
    assert abs(du + dv).max() < 1e-12 and abs(u).max() == pytest.approx(4.0, rel=5e-3)


def test_times_of_a_log_are_those_of_the_last_steps():
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


def test_fields_of_a_case_are_in_order(tmp_path):
    for name in ("0", "1e-05", "0.0002", "constant", "system", "10"):
        (tmp_path / name).mkdir()
    assert foam_tutorials.fields(tmp_path) == ["1e-05", "0.0002", "10"]

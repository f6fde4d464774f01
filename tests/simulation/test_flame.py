"""1D flames: the moving grid, CVODE against Cantera's FreeFlame, and flames that fail."""

from dataclasses import replace
from types import SimpleNamespace

import cantera as ct
import numpy as np
import pytest
from hydrogen import AIR, FLAME, FLAME_CHEMISTRY, FLAME_DT, FLAME_MARCH, FLAMES, FUEL, solver

from combred.chemistry.reactor import CVODE
from combred.config import ValidationSettings
from combred.simulation import flame
from combred.simulation.flame import FlameMarch, burn, cases, follow, fuel_index, start
from combred.simulation.flame_errors import compare
from combred.simulation.moving_grid import MovingGrid

DT = FLAME_DT


def cvode(mechanism):
    """CVODE with the tolerances of the references."""
    return CVODE(mechanism, FLAME_CHEMISTRY.rtol, FLAME_CHEMISTRY.atol)


# -- cases and the initial profile -----------------------------------------------------------------


def test_cases_are_all_combinations():
    settings = ValidationSettings(p=[1e5, 2e5], flame_T=[300.0, 500.0], flame_phi=[1.0, 2.0, 3.0])
    got = {(case.T, case.p, case.phi) for case in cases(settings)}
    assert got == {(T, p, f) for T in (300, 500) for p in (1e5, 2e5) for f in (1, 2, 3)}
    assert cases(ValidationSettings()) == []
    assert str(FLAME) == "300 K, phi 1, 1 atm"


def test_the_initial_profile_runs_from_unburnt_to_burnt(h2o2, begin):
    assert begin.T.shape == (60,) and begin.Y.shape == (60, h2o2.n_species)
    assert begin.T[0] == pytest.approx(300.0, abs=2.0) and begin.T[-1] > 2000.0
    assert np.all(np.diff(begin.T) > -1.0)
    assert begin.Y[0] == pytest.approx(begin.unburnt, abs=5e-4)  # hydrogen diffuses ahead of heat
    assert np.allclose(begin.Y.sum(1), 1.0, atol=1e-9)
    gas = h2o2.solution()
    gas.TPY = 300.0, ct.one_atm, begin.unburnt
    gas.equilibrate("HP")
    assert begin.burnt_T == pytest.approx(gas.T)
    assert begin.speed == pytest.approx(2.33, rel=0.02)  # H2/air at phi 1 with this mechanism
    assert h2o2.species_names[fuel_index(h2o2, begin)] == "H2"


def test_a_case_without_a_flame_is_refused(h2o2, monkeypatch):
    def fail(*_, **__):
        raise flame.IntegrationError("no solution")

    monkeypatch.setattr(flame, "solve_free_flame", fail)
    with pytest.raises(ValueError, match=r"no flame for the case 300 K, phi 1.*flame_phi"):
        start(h2o2, FLAME, h2o2.mixture(FUEL, AIR, 1.0), 60)


# -- the moving grid -------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [1, 2, 7])
def test_the_grid_moves_by_whole_cells(h2o2, begin, cells):
    grid = MovingGrid(h2o2, begin)
    T, Y, h = grid.T.copy(), grid.Y.copy(), grid.h.copy()
    assert grid.move() == 0.0 and grid.entered == 0
    for now, then in ((grid.T, T), (grid.Y, Y), (grid.h, h)):
        now[:-cells] = then[cells:]  # the front moves to the left, burnt gas follows
    passed = grid.move()
    assert passed == pytest.approx(cells * begin.cell_mass, rel=1e-12)
    assert grid.entered == cells
    assert np.array_equal(grid.T[cells:], T[cells:])  # exactly: nothing is interpolated
    assert np.array_equal(grid.Y[cells:], Y[cells:])
    assert np.array_equal(grid.h[cells:], h[cells:])
    assert np.all(grid.T[:cells] == 300.0) and np.all(grid.Y[:cells] == begin.unburnt)
    unburnt = grid.diffusion.enthalpy(np.array([300.0]), begin.unburnt[None])[0]
    assert np.all(grid.h[:cells] == unburnt)
    assert grid.move() == pytest.approx(passed, rel=1e-12)  # nothing more to move


def test_the_front_is_located_between_cells(h2o2, begin):
    grid = MovingGrid(h2o2, begin)
    at, fine = grid.front(), np.linspace(0, 59, 60)
    for part in (0.25, 0.5):
        grid.T = np.interp(fine + part, fine, begin.T)
        assert at - grid.front() == pytest.approx(part, abs=0.08)
        assert grid.move() == pytest.approx(part * begin.cell_mass, abs=0.08 * begin.cell_mass)
        assert grid.entered == 0


def test_enthalpy_does_not_depend_on_the_temperature_of_the_solver(h2o2, begin):
    grid = MovingGrid(h2o2, begin)
    h, T = grid.h.copy(), grid.T.copy()
    change = grid.react(solver(lambda T, p, Y: (T + 40.0, Y)), DT)
    assert np.array_equal(grid.h, h) and np.all(change == 0.0)
    assert np.allclose(grid.T, T, atol=1e-6)


def test_the_solver_advances_every_cell(h2o2, begin):
    calls = []

    def record(T, p, Y, dt):
        calls.append((T.copy(), p.copy(), Y.shape, dt))
        return T, Y

    MovingGrid(h2o2, begin).react(SimpleNamespace(advance=record), 3e-7)
    T, p, shape, dt = calls[0]
    assert dt == 3e-7
    assert np.array_equal(T, begin.T) and T[0] < 310.0  # the cold cells too
    assert np.all(p == FLAME.p) and shape == begin.Y.shape


# -- CVODE -----------------------------------------------------------------------------------------


def test_cvode_s_flame_agrees_with_cantera_s(h2o2, begin):
    dt = DT / 2
    found = burn(h2o2, cvode(h2o2), dt, begin, replace(FLAME_MARCH, tolerance=0.005))
    assert found.steady
    # With 7 cells per thickness the error is 2 %; that of FreeFlame on its own grid is 0.1 %.
    assert found.speed == pytest.approx(begin.speed, rel=0.03)
    assert found.displacement_speed == pytest.approx(found.speed, rel=0.005)
    assert found.thickness == pytest.approx(MovingGrid(h2o2, begin).thickness(), rel=0.05)
    assert found.T[-1] == pytest.approx(begin.T[-1], abs=10.0)
    assert len(found.t) == len(found.speeds) == len(found.fronts)
    assert found.t[-1] == pytest.approx(len(found.t) * dt)
    rho = MovingGrid(h2o2, begin).unburnt_rho
    assert found.fronts[-1] == pytest.approx(rho * found.speed * found.t[-1], rel=0.02)


def test_references_are_steady_by_both_speeds(flames):
    for found, case in zip(flames, cases(FLAMES), strict=True):
        assert found.case == case and found.steady and found.burns
        assert found.displacement_speed == pytest.approx(found.speed, rel=0.005)
        assert found.speeds[-50:].mean() == pytest.approx(found.speed, rel=0.01)
        assert found.Y.min() > -1e-12 and np.allclose(found.Y.sum(1), 1.0, atol=1e-6)
        assert np.all(np.diff(found.x) > 0)
    assert 1.5 < flames[0].speed < flames[1].speed  # hydrogen burns fastest when rich


def test_the_burnt_gas_has_the_elements_of_the_unburnt(h2o2, flames):
    # In a steady flame the cells alone carry elements in and out.
    for found in flames:
        burnt, unburnt = found.Y[-1] @ h2o2.elements.T, found.profile.unburnt @ h2o2.elements.T
        assert np.allclose(burnt, unburnt, rtol=0, atol=2e-3)  # 3 thicknesses behind the front


def test_cvode_follows_its_own_references(h2o2, flames):
    calls = []
    found = follow(h2o2, cvode(h2o2), DT, flames, FLAME_MARCH, lambda *done: calls.append(done))
    assert calls == [(1, 2), (2, 2)]
    result = compare(h2o2, found, flames)
    # A tenth of the tolerance, to which the references were marched.
    assert result["all_steady"] and result["speed_error"]["worst"] < 0.001
    assert result["profile_T_error"]["worst"] < 8.0  # K: the transient of the initial profile
    assert result["cases"][0]["steps"] == len(found[0].t)


def test_an_unsteady_reference_is_refused(flames):
    with pytest.raises(
        ValueError, match=r"300 K, phi 0.9, 1 atm is not steady.*validation.flame_phi"
    ):
        flame.require_steady(replace(flames[0], outcome=flame.UNSTEADY))


# -- flames that fail ------------------------------------------------------------------------------


@pytest.mark.parametrize("which, after", [("T", 0), ("Y", 10)])
def test_a_solver_that_returns_nan_ends_the_march_without_an_exception(h2o2, begin, which, after):
    calls = []

    def breaks(T, p, Y):
        calls.append(len(T))
        if len(calls) > after:
            broken = T if which == "T" else Y
            broken[30] = np.nan
        return T, Y

    found = burn(h2o2, solver(breaks), DT, begin, FLAME_MARCH)
    assert found.outcome == flame.NOT_FINITE and not found.burns and not found.steady
    assert np.isnan([found.speed, found.displacement_speed, found.thickness]).all()
    assert len(found.t) == after
    assert np.isfinite(found.T).all()  # the last finite profile


def test_a_flame_without_reactions_goes_out(extinct):
    assert extinct.outcome == flame.WENT_OUT and np.isnan(extinct.speed)


def test_a_mixture_that_burns_in_every_cell_has_no_front(h2o2, begin):
    burnt = begin.Y[-1]
    everywhere = solver(lambda T, p, Y: (T, np.tile(burnt, (len(T), 1))))
    found = burn(h2o2, everywhere, DT, begin, FLAME_MARCH)
    assert found.outcome == flame.LOST and not found.burns


def test_a_march_ends_after_the_longest_time(h2o2, begin):
    settings = replace(FLAME_MARCH, tolerance=1e-9, longest=1.0)
    found = burn(h2o2, cvode(h2o2), DT, begin, settings)
    assert found.outcome == flame.UNSTEADY and found.burns and not found.steady
    assert np.isfinite(found.speed)
    assert found.t[-1] == pytest.approx(MovingGrid(h2o2, begin).thickness() / begin.speed, rel=0.02)


# -- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"flame_phi": [1.0, -1.0]}, "flame_phi"),
        ({"flame_T": []}, "flame_T"),
        ({"flame_T": [0.0]}, "flame_T"),
    ],
)
def test_impossible_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ValidationSettings(**settings)


@pytest.mark.parametrize(
    "how, message",
    [
        ({"cells": 10}, "at least 40"),
        ({"tolerance": 0.0}, "tolerance=0.0"),
        ({"tolerance": 0.5}, "tolerance=0.5"),
        ({"longest": 0.5}, "longest=0.5"),
    ],
)
def test_an_impossible_march_is_refused(how, message):
    with pytest.raises(ValueError, match=message):
        FlameMarch(**how)

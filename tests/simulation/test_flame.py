"""1D validation: the grid, CVODE against Cantera's FreeFlame, and errors as they were planted."""

from dataclasses import replace
from types import SimpleNamespace

import cantera as ct
import numpy as np
import pytest

from combred.chemistry.reactor import CVODE
from combred.config import ChemistrySettings, ValidationSettings
from combred.simulation import flame
from combred.simulation.flame import burn, cases, follow, fuel_index, reference, start
from combred.simulation.flame_errors import compare
from combred.simulation.moving_grid import FlameCase, MovingGrid

DT = 1e-6
FUEL, AIR = "H2:1", "O2:1, N2:3.76"
SETTINGS = ValidationSettings(flame_phi=[0.9, 1.3], flame_cells=48, flame_tolerance=0.004)
CHEMISTRY = ChemistrySettings(rtol=1e-6, atol=1e-10)
CASE = FlameCase(300.0, ct.one_atm, 1.0)


@pytest.fixture(scope="module")
def references(h2o2):
    """CVODE's flames of two hydrogen mixtures, by two processes."""
    told = []
    flames = reference(h2o2, SETTINGS, CHEMISTRY, DT, FUEL, AIR, 2, lambda *done: told.append(done))
    assert told == [(1, 2), (2, 2)]
    return flames


@pytest.fixture(scope="module")
def begin(h2o2):
    return start(h2o2, CASE, h2o2.mixture(FUEL, AIR, 1.0), 60)


def solver(advance):
    """An `Advance` of a function of T, p and Y."""
    return SimpleNamespace(advance=advance)


INERT = solver(lambda T, p, Y: (T, Y))  # no reactions


# -- cases, start, grid --------------------------------------------------------------------------


def test_cases_are_all_combinations():
    settings = ValidationSettings(p=[1e5, 2e5], flame_T=[300.0, 500.0], flame_phi=[1.0, 2.0, 3.0])
    got = {(case.T, case.p, case.phi) for case in cases(settings)}
    assert got == {(T, p, f) for T in (300, 500) for p in (1e5, 2e5) for f in (1, 2, 3)}
    assert cases(ValidationSettings()) == []
    assert str(CASE) == "300 K, phi 1, 1 atm"


def test_a_flame_starts_with_the_unburnt_gas_at_the_left(h2o2, begin):
    assert begin.T.shape == (60,) and begin.Y.shape == (60, h2o2.n_species)
    assert begin.T[0] == pytest.approx(300.0, abs=2.0) and begin.T[-1] > 2000.0
    assert np.all(np.diff(begin.T) > -1.0)
    assert begin.Y[0] == pytest.approx(begin.unburnt, abs=5e-4)  # hydrogen is ahead of the heat
    assert np.allclose(begin.Y.sum(1), 1.0, atol=1e-9)
    gas = h2o2.solution()
    gas.TPY = 300.0, ct.one_atm, begin.unburnt
    gas.equilibrate("HP")
    assert begin.burnt_T == pytest.approx(gas.T)
    assert begin.speed == pytest.approx(2.33, rel=0.02)  # H2/air at phi 1 with this mechanism
    assert h2o2.species_names[fuel_index(h2o2, begin)] == "H2"


def test_a_case_without_a_flame_says_so(h2o2, monkeypatch):
    def fail(*_, **__):
        raise flame.IntegrationError("no solution")

    monkeypatch.setattr(flame, "solve_free_flame", fail)
    with pytest.raises(ValueError, match=r"no flame for the case 300 K, phi 1.*flame_phi"):
        start(h2o2, CASE, h2o2.mixture(FUEL, AIR, 1.0), 60)


@pytest.mark.parametrize("cells", [1, 2, 7])
def test_the_window_moves_by_whole_cells(h2o2, begin, cells):
    grid = MovingGrid(h2o2, begin)
    T, Y, h = grid.T.copy(), grid.Y.copy(), grid.h.copy()
    assert grid.move() == 0.0 and grid.entered == 0
    for now, then in ((grid.T, T), (grid.Y, Y), (grid.h, h)):
        now[:-cells] = then[cells:]  # the front moves to the left, burnt gas follows
    passed = grid.move()
    assert passed == pytest.approx(cells * begin.cell_mass, rel=1e-12)
    assert grid.entered == cells
    assert np.array_equal(grid.T[cells:], T[cells:])  # exactly where they were: no interpolation
    assert np.array_equal(grid.Y[cells:], Y[cells:])
    assert np.array_equal(grid.h[cells:], h[cells:])
    assert np.all(grid.T[:cells] == 300.0) and np.all(grid.Y[:cells] == begin.unburnt)
    unburnt = grid.diffusion.enthalpy(np.array([300.0]), begin.unburnt[None])[0]
    assert np.all(grid.h[:cells] == unburnt)
    assert grid.move() == pytest.approx(passed, rel=1e-12)  # and stays


def test_the_front_is_followed_between_cells(h2o2, begin):
    grid = MovingGrid(h2o2, begin)
    at, fine = grid.front(), np.linspace(0, 59, 60)
    for part in (0.25, 0.5):
        grid.T = np.interp(fine + part, fine, begin.T)
        assert at - grid.front() == pytest.approx(part, abs=0.08)
        assert grid.move() == pytest.approx(part * begin.cell_mass, abs=0.08 * begin.cell_mass)
        assert grid.entered == 0


def test_enthalpy_stays_whatever_the_chemistry_says_of_T(h2o2, begin):
    grid = MovingGrid(h2o2, begin)
    h, T = grid.h.copy(), grid.T.copy()
    change = grid.react(solver(lambda T, p, Y: (T + 40.0, Y)))
    assert np.array_equal(grid.h, h) and np.all(change == 0.0)
    assert np.allclose(grid.T, T, atol=1e-6)


def test_every_cell_is_given_to_the_chemistry(h2o2, begin):
    given = []

    def watch(T, p, Y):
        given.append((T.copy(), p.copy(), Y.shape))
        return T, Y

    MovingGrid(h2o2, begin).react(solver(watch))
    T, p, shape = given[0]
    assert np.array_equal(T, begin.T) and T[0] < 310.0  # the cold ones too
    assert np.all(p == CASE.p) and shape == begin.Y.shape


# -- CVODE -----------------------------------------------------------------------------------------


def test_cvode_burns_as_cantera_s_flame_does(h2o2, begin):
    settings = replace(SETTINGS, flame_tolerance=0.005)
    dt = 5e-7
    found = burn(h2o2, CVODE(h2o2, dt, 1e-6, 1e-10), dt, begin, settings)
    assert found.steady
    # 7 cells to a thickness here err by 2 %, and FreeFlame on its own grid by 0.1 %.
    assert found.speed == pytest.approx(begin.speed, rel=0.03)
    assert found.displacement_speed == pytest.approx(found.speed, rel=0.005)
    assert found.thickness == pytest.approx(MovingGrid(h2o2, begin).thickness(), rel=0.05)
    assert found.T[-1] == pytest.approx(begin.T[-1], abs=10.0)
    assert len(found.t) == len(found.speeds) == len(found.fronts)
    assert found.t[-1] == pytest.approx(len(found.t) * dt)
    rho = MovingGrid(h2o2, begin).unburnt_rho
    assert found.fronts[-1] == pytest.approx(rho * found.speed * found.t[-1], rel=0.02)


def test_references_are_steady_by_both_speeds(h2o2, references):
    for found, case in zip(references, cases(SETTINGS), strict=True):
        assert found.case == case and found.steady and found.burns
        assert found.displacement_speed == pytest.approx(found.speed, rel=0.005)
        assert found.speeds[-50:].mean() == pytest.approx(found.speed, rel=0.01)
        assert found.Y.min() > -1e-12 and np.allclose(found.Y.sum(1), 1.0, atol=1e-6)
        assert np.all(np.diff(found.x) > 0)
    assert 1.5 < references[0].speed < references[1].speed  # hydrogen burns fastest when rich


def test_elements_and_enthalpy_enter_and_leave_with_the_cells(h2o2, references):
    # In a steady flame the burnt gas has what the unburnt had, carried by the cells alone.
    for found in references:
        burnt, unburnt = found.Y[-1] @ h2o2.elements.T, found.profile.unburnt @ h2o2.elements.T
        assert np.allclose(burnt, unburnt, rtol=0, atol=2e-3)  # 3 thicknesses behind the front


def test_cvode_follows_itself(h2o2, references):
    told = []
    found = follow(
        h2o2, CVODE(h2o2, DT, 1e-6, 1e-10), DT, references, SETTINGS, lambda *d: told.append(d)
    )
    assert told == [(1, 2), (2, 2)]
    result = compare(h2o2, found, references)
    # A quarter of the tolerance, for the references were marched on until a tenth of it.
    assert result["all_steady"] and result["speed_error"]["worst"] < 0.001
    assert result["profile_T_error"]["worst"] < 8.0  # K: what was left of the start
    assert result["cases"][0]["steps"] == len(found[0].t)


def test_an_unsteady_reference_is_refused(references):
    with pytest.raises(ValueError, match=r"300 K, phi 0.9, 1 atm is not steady.*flame_longest"):
        flame.require_steady(replace(references[0], outcome=flame.UNSTEADY))


# -- flames that fail ------------------------------------------------------------------------------


def failed(h2o2, begin, advance):
    return burn(h2o2, advance, DT, begin, SETTINGS)


@pytest.mark.parametrize("after", [0, 10])
@pytest.mark.parametrize("which", ["T", "Y"])
def test_a_chemistry_of_nan_fails_without_an_exception(h2o2, begin, after, which):
    steps = []

    def breaks(T, p, Y):
        steps.append(len(T))
        if len(steps) > after:
            broken = T if which == "T" else Y
            broken[30] = np.nan
        return T, Y

    found = failed(h2o2, begin, solver(breaks))
    assert found.outcome == flame.NOT_FINITE and not found.burns and not found.steady
    assert np.isnan([found.speed, found.displacement_speed, found.thickness]).all()
    assert len(found.t) == after
    assert np.isfinite(found.T).all()  # the last profile that was one


def test_a_flame_without_reactions_goes_out(h2o2, begin):
    found = failed(h2o2, begin, INERT)
    assert found.outcome == flame.WENT_OUT and np.isnan(found.speed)


def test_a_mixture_that_burns_everywhere_has_no_front(h2o2, begin):
    burnt = begin.Y[-1]
    found = failed(h2o2, begin, solver(lambda T, p, Y: (T, np.tile(burnt, (len(T), 1)))))
    assert found.outcome == flame.LOST and not found.burns


def test_a_march_has_an_end(h2o2, begin):
    settings = replace(SETTINGS, flame_tolerance=1e-9, flame_longest=1.0)
    found = burn(h2o2, CVODE(h2o2, DT, 1e-6, 1e-10), DT, begin, settings)
    assert found.outcome == flame.UNSTEADY and found.burns and not found.steady
    assert np.isfinite(found.speed)
    assert found.t[-1] == pytest.approx(MovingGrid(h2o2, begin).thickness() / begin.speed, rel=0.02)


# -- errors ----------------------------------------------------------------------------------------


def test_equal_flames_have_no_error(h2o2, references):
    result = compare(h2o2, references, references)
    none = {"median": 0.0, "mean": 0.0, "worst": 0.0}
    assert result["all_burn"] and result["all_steady"]
    assert result["speed_error"] == result["thickness_error"] == result["burnt_T_error"] == none
    assert result["profile_T_error"]["worst"] < 1e-8  # K: the spline, asked for its own points
    assert set(result["peak_errors"]) == {"OH", "H"}  # of those that h2o2 has
    assert all(errors == none for errors in result["peak_errors"].values())


def altered(ref, T=None, Y=None, **changes):
    """A copy of a flame with another profile, or with other numbers."""
    profile = replace(
        ref.profile, T=ref.T.copy() if T is None else T, Y=ref.Y.copy() if Y is None else Y
    )
    return replace(ref, profile=profile, **changes)


def test_planted_errors_are_reported_as_planted(h2o2, references):
    ref = references[0]
    Y, T = ref.Y.copy(), ref.T.copy()
    Y[:, h2o2.index("OH")] *= 1.25
    T[-1] += 7.0
    T[-6] -= 11.0
    wrong = altered(ref, T, Y, speed=0.9 * ref.speed, thickness=1.1 * ref.thickness)
    result = compare(h2o2, [references[1], wrong], [references[1], ref])
    row = result["cases"][1]
    assert row["speed_error"] == pytest.approx(0.1) and row["thickness_error"] == pytest.approx(0.1)
    assert row["burnt_T_error"] == pytest.approx(7.0)
    assert row["profile_T_error"] == pytest.approx(11.0, abs=0.01)
    assert row["peak_errors"]["OH"] == pytest.approx(0.25) and row["peak_errors"]["H"] == 0.0
    assert result["worst_case"] == str(ref.case)
    assert result["speed_error"]["worst"] == row["speed_error"]
    assert result["speed_error"]["median"] == pytest.approx(0.05)


def test_where_a_front_lies_is_no_error(h2o2, references):
    ref = references[0]
    moved = altered(ref, x=ref.x + 3e-5)
    assert compare(h2o2, [moved], [ref])["profile_T_error"]["worst"] < 1e-6
    wider = altered(ref, x=1.02 * ref.x)  # but its shape is: 2 % of a thickness of ~2000 K
    assert 5.0 < compare(h2o2, [wider], [ref])["profile_T_error"]["worst"] < 60.0


def test_a_failed_flame_is_never_a_success(h2o2, begin, references):
    broken = replace(failed(h2o2, begin, INERT), x=references[0].x, profile=references[0].profile)
    result = compare(h2o2, [broken, references[1]], references)
    assert not result["all_burn"] and not result["all_steady"]
    for name in ("speed_error", "thickness_error", "burnt_T_error", "profile_T_error"):
        assert result[name]["worst"] == np.inf
    assert result["peak_errors"]["H"]["worst"] == np.inf
    assert result["worst_case"] == str(references[0].case)
    assert result["cases"][0]["outcome"] == flame.WENT_OUT


# -- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, told",
    [
        ({"flame_phi": [1.0, -1.0]}, "flame_phi"),
        ({"flame_T": []}, "flame_T"),
        ({"flame_T": [0.0]}, "flame_T"),
        ({"flame_cells": 10}, "at least 40"),
        ({"flame_tolerance": 0.0}, "flame_tolerance"),
        ({"flame_tolerance": 0.5}, "flame_tolerance"),
        ({"flame_longest": 0.5}, "flame_longest"),
    ],
)
def test_settings_refuse_nonsense(given, told):
    with pytest.raises(ValueError, match=told):
        ValidationSettings(**given)

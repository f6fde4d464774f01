"""1D flames: CVODE against Cantera's FreeFlame, flames that fail, outcomes of made-up speeds."""

from dataclasses import replace
from types import SimpleNamespace

import cantera as ct
import numpy as np
import pytest
from hydrogen import AIR, FLAME, FLAME_DT, FLAME_MARCH, FLAME_TOLERANCES, FUEL, solver

from combred.chemistry.reactor import CVODE
from combred.experiments import cells
from combred.experiments.premixed import flame
from combred.experiments.premixed.flame import FlameMarch, burn, fuel_index, start
from combred.experiments.premixed.grid import MovingGrid

DT = FLAME_DT


def cvode(mechanism):
    """CVODE with the tolerances of the references."""
    return CVODE(mechanism, *FLAME_TOLERANCES)


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
    with pytest.raises(ValueError, match=r"no flame for the case 300 K, phi 1.*equivalence ratio"):
        start(h2o2, FLAME, h2o2.mixture(FUEL, AIR, 1.0), 60)


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


def test_enthalpy_does_not_depend_on_the_temperature_of_the_solver(h2o2, begin):
    grid = MovingGrid(h2o2, begin)
    h, T = grid.h.copy(), grid.T.copy()
    change = grid.react(solver(lambda T, p, Y: (T + 40.0, Y)), FLAME_DT)
    assert np.array_equal(grid.h, h) and np.all(change == 0.0)
    assert np.allclose(grid.T, T, atol=1e-6)


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
    assert found.outcome == cells.NOT_FINITE and not found.burns and not found.steady
    assert np.isnan([found.speed, found.displacement_speed, found.thickness]).all()
    assert len(found.t) == after
    assert np.isfinite(found.T).all()  # the last finite profile


def test_a_mixture_that_burns_in_every_cell_has_no_front(h2o2, begin):
    burnt = begin.Y[-1]
    everywhere = solver(lambda T, p, Y: (T, np.tile(burnt, (len(T), 1))))
    found = burn(h2o2, everywhere, DT, begin, FLAME_MARCH)
    assert found.outcome == cells.LOST and not found.burns


def test_a_march_ends_after_the_longest_time(h2o2, solver_of, begin):
    settings = replace(FLAME_MARCH, tolerance=1e-9, longest=1.0)
    found = burn(h2o2, solver_of(h2o2), DT, begin, settings)
    assert found.outcome == cells.UNSTEADY and found.burns and not found.steady
    assert np.isfinite(found.speed)
    assert found.t[-1] == pytest.approx(MovingGrid(h2o2, begin).thickness() / begin.speed, rel=0.02)


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


EVERY, SPEED = 20, 0.4  # steps of an interval, m/s


def judged(speeds: np.ndarray, front: float = 30.0, T0: float = 300.0, moved: float = 1.0) -> str:
    """The outcome of a flame with its front at 1500 K and the unburnt end at T0, whose displacement
    is `moved` times that of its speeds, in time steps of 1 s."""
    profile = SimpleNamespace(speed=SPEED, front_T=1500.0)
    grid = SimpleNamespace(front=lambda: front, T=[T0], profile=profile)
    return flame.judge(grid, list(speeds), moved * np.cumsum(speeds), EVERY, 1e-3)


def test_equal_speeds_are_steady_after_all_intervals():
    for intervals in range(1, flame.INTERVALS):
        assert judged(np.full(intervals * EVERY, SPEED)) == cells.UNSTEADY
    assert judged(np.full(flame.INTERVALS * EVERY, SPEED)) == cells.STEADY


@pytest.mark.parametrize("change, outcome", [(0.5e-3, cells.STEADY), (2e-3, cells.UNSTEADY)])
def test_the_means_of_the_intervals_must_agree_within_the_tolerance(change, outcome):
    speeds = np.full(flame.INTERVALS * EVERY, SPEED)
    speeds[:EVERY] *= 1 + change
    assert judged(speeds) == outcome


def test_consumption_and_displacement_must_agree():
    speeds = np.full(flame.INTERVALS * EVERY, SPEED)
    assert judged(speeds, moved=1.0005) == cells.STEADY
    assert judged(speeds, moved=1.01) == cells.UNSTEADY


def test_a_slow_flame_or_one_without_a_front_has_failed():
    speeds = np.full(flame.INTERVALS * EVERY, SPEED)
    assert judged(0.9 * flame.OUT * speeds) == cells.WENT_OUT
    assert judged(speeds, front=np.nan, T0=300.0) == cells.WENT_OUT
    assert judged(speeds, front=np.nan, T0=1800.0) == cells.LOST

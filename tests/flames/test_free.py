"""Freely propagating flames beside Cantera's."""

from dataclasses import replace

import cantera as ct
import numpy as np
import pytest

from combred.flames.free import _steady, require_flame
from combred.flames.problems import FlameError, NoFlame, density
from combred.flames.result import FreeFlame
from combred.flames.speeds import flame
from combred.native.flame_library import Method
from tests.flames.conftest import AIR, COARSE, continued_by_cantera, problem_of

OXYGEN = "O2:1"
# T [K], p [atm], phi, oxidizer: lean and rich, hot, at high pressure, with oxygen alone.
CASES = [
    (300.0, 1.0, 0.5, AIR), (300.0, 1.0, 2.5, AIR), (700.0, 1.0, 0.4, AIR), (400.0, 20.0, 1.0, AIR),
    (300.0, 1.0, 1.0, OXYGEN), (250.0, 0.5, 0.7, AIR),
]  # fmt: skip


@pytest.mark.parametrize("transport", ["mixture-averaged", "unity-Lewis-number"])
def test_the_speed_on_cantera_s_grid_is_cantera_s(h2o2, unburnt, coarse, tight, transport):
    cantera = tight
    if transport != "mixture-averaged":
        cantera = continued_by_cantera(
            flame(h2o2, *unburnt, initial=coarse, transport=transport, **COARSE)
        )
    problem, x, M = problem_of(cantera, transport, unburnt[2])
    moved = x * (1.0 + 1e-3 * np.sin(np.arange(x.size)).reshape(x.shape))
    solution = coarse.profiles.gas.library.solve(problem, moved, 1.01 * M, Method(1e-9, 1e-15))
    assert solution.steady
    # Cantera's last step is below 1e-9.
    assert solution.M == pytest.approx(M, rel=1e-9)
    np.testing.assert_allclose(solution.x[:, 0], cantera.T, rtol=1e-8)
    np.testing.assert_allclose(solution.x[:, 1:], cantera.Y.T, rtol=0, atol=1e-9)


def test_a_flame_solved_alone_is_cantera_s_at_its_tolerance(coarse, tight):
    # The tolerance of both Newton methods is 1e-4 of the mean.
    assert coarse.speed == pytest.approx(tight.velocity[0], rel=1e-4)
    np.testing.assert_allclose(coarse.T, tight.T, rtol=1e-4)
    largest = np.abs(tight.heat_release_rate).max()
    np.testing.assert_allclose(
        coarse.heat_release, tight.heat_release_rate, rtol=0, atol=1e-3 * largest
    )


@pytest.mark.parametrize(("T", "p", "phi", "oxidizer"), CASES)
def test_flames_from_nothing_are_those_of_cantera(h2o2, T, p, phi, oxidizer):
    solution = flame(h2o2, T, p * ct.one_atm, h2o2.mixture("H2:1", oxidizer, phi), **COARSE)
    assert solution.speed == pytest.approx(continued_by_cantera(solution).velocity[0], rel=3e-4)
    assert np.ptp(solution.T[:2]) < 1.0 and solution.T[0] == pytest.approx(T)


def test_a_flame_conserves_mass_elements_and_enthalpy(h2o2, coarse):
    mass = coarse.density * coarse.velocity
    np.testing.assert_allclose(mass, coarse.profiles.M, rtol=1e-12)
    elements = h2o2.elements @ coarse.Y.T
    # The fluxes at the ends are those of convection alone; 2 % of the gradients are left there.
    np.testing.assert_allclose(elements[:, -1], elements[:, 0], rtol=0, atol=2e-3)
    gas = coarse.profiles.gas
    # Radicals recombine far behind the flame.
    assert coarse.T[-1] == pytest.approx(gas.burnt_T, rel=0.03)


def test_a_flame_starts_from_one_near_it(h2o2, unburnt, coarse):
    T, p, _ = unburnt
    Y = h2o2.mixture("H2:1", AIR, 1.1)
    initial, alone = flame(h2o2, T, p, Y, initial=coarse, **COARSE), flame(h2o2, T, p, Y, **COARSE)
    # Their grids differ: the criteria leave an error of the order of slope^2.
    assert initial.speed == pytest.approx(alone.speed, rel=0.02)
    assert initial.profiles.counts["jacobians"] < alone.profiles.counts["jacobians"]


def test_multipliers_of_rates_count(solver_of, h2o2, unburnt, coarse):
    solver = solver_of(h2o2)
    factors = np.full(h2o2.solution(transport=False).n_reactions, 1.2)
    faster = flame(solver.with_multipliers(factors), *unburnt, initial=coarse, **COARSE)
    # S_L is of the order of the root of the rates.
    assert faster.speed / coarse.speed == pytest.approx(np.sqrt(1.2), rel=0.02)
    assert continued_by_cantera(faster).velocity[0] == pytest.approx(faster.speed, rel=1e-4)


def test_cantera_continues_with_the_factors_of_solver_and_file(coarse, h2o2):
    of_file, of_solver = np.ones(29), np.ones(29)
    of_file[2], of_solver[[2, 5]] = 0.5, 1.2
    gas = replace(
        coarse.profiles.gas, mechanism=replace(h2o2, multipliers=of_file), factors=of_solver
    )
    cantera = FreeFlame(replace(coarse.profiles, gas=gas)).to_cantera()
    factors = [cantera.gas.multiplier(i) for i in range(29)]
    assert np.allclose(factors, of_file * of_solver, rtol=1e-15)


def test_what_is_no_flame_is_no_result(coarse):
    from dataclasses import replace

    profiles = coarse.profiles
    cold = profiles.x.copy()
    cold[:, 0] = np.minimum(cold[:, 0], 600.0)
    with pytest.raises(FlameError, match="goes out"):
        require_flame(replace(profiles, x=cold))
    mixed = profiles.x.copy()
    mixed[-1, 1:] = profiles.gas.mechanism.mixture("H2:1", AIR, 3.0)
    with pytest.raises(FlameError, match="elements are not conserved"):
        require_flame(replace(profiles, x=mixed))
    hot = profiles.x.copy()
    hot[-1, 0] *= 1.1
    with pytest.raises(FlameError, match="enthalpy is not conserved"):
        require_flame(replace(profiles, x=hot))
    with pytest.raises(FlameError, match="not finite"):
        require_flame(replace(profiles, M=np.nan))


def test_a_flame_that_is_not_steady_tells_what_was_tried(coarse, monkeypatch):
    from dataclasses import replace

    library = coarse.profiles.gas.library
    solve = library.solve
    monkeypatch.setattr(library, "solve", lambda *a: replace(solve(*a), steady=False))
    with pytest.raises(FlameError, match="on a grid of .* points it is not steady after") as error:
        flame(coarse.mechanism, 300.0, ct.one_atm, coarse.profiles.gas.Y, **COARSE)
    assert not isinstance(error.value, NoFlame)
    assert str(error.value).count("from ") == 5


def test_a_flame_that_goes_out_is_told_apart(coarse, monkeypatch):
    from dataclasses import replace

    library = coarse.profiles.gas.library
    solve = library.solve
    monkeypatch.setattr(library, "solve", lambda *a: replace(solve(*a), steady=False, M=1e-4))
    with pytest.raises(NoFlame, match="does not burn. Tried .* goes out"):
        flame(coarse.mechanism, 300.0, ct.one_atm, coarse.profiles.gas.Y, **COARSE)


def test_a_long_solution_can_be_interrupted(coarse, monkeypatch):
    """Python answers between two calls, each of SECONDS: here after each unit of work."""
    from combred.native import flame_library

    library, calls = coarse.profiles.gas.library, []
    monkeypatch.setattr(flame_library, "SECONDS", 0.0)
    run = library.calls.combred_flame_run

    def interrupted(*arguments):
        calls.append(run(*arguments))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return calls[-1]

    profiles = coarse.profiles
    moved = profiles.x.copy()
    moved[:, 0] += 30.0 * np.sin(np.linspace(0.0, 9.0, len(moved)))
    with monkeypatch.context() as patch:
        patch.setattr(library.calls, "combred_flame_run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            library.solve(profiles.problem, moved, profiles.M, Method(newton_first=False))
    assert calls == [flame_library.GOES_ON] * 3
    # In as many calls as units, the result is the same.
    expected = _steady(profiles, Method(1e-9, 1e-15))
    monkeypatch.undo()
    assert expected.M == pytest.approx(_steady(profiles, Method(1e-9, 1e-15)).M, rel=1e-12)


def test_a_result_tells_and_saves_its_profiles(coarse, tmp_path):
    import csv

    import h5py

    assert "2." in repr(coarse) and "m/s" in repr(coarse)
    rows = list(csv.reader(coarse.save(tmp_path / "flame.csv").open()))
    assert rows[0][:2] == ["grid [m]", "T [K]"] and rows[0][5] == "Y_H2"
    values = np.array(rows[1:], dtype=float)
    assert np.array_equal(values[:, 1], coarse.T) and np.array_equal(values[:, 5:], coarse.Y)
    with h5py.File(coarse.save(tmp_path / "flame.h5")) as file:
        assert np.array_equal(file["Y"], coarse.Y) and file["T"].attrs["units"] == "K"
        assert file.attrs["speed [m/s]"] == coarse.speed
    with pytest.raises(ValueError, match="ends in .csv, .h5"):
        coarse.save(tmp_path / "flame.txt")
    solution = density(coarse.mechanism, coarse.p, coarse.T, coarse.Y)
    assert np.array_equal(solution, coarse.density) and isinstance(coarse, FreeFlame)
    assert 1e-4 < coarse.thickness < 1e-3

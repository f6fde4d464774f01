"""Counterflow flames: transport against exact solutions, marches with hydrogen, extinction."""

from dataclasses import replace
from types import SimpleNamespace

import cantera as ct
import numpy as np
import pytest
from hydrogen import INERT
from scipy.special import erfc

from combred.chemistry.reactor import CVODE
from combred.experiments.cells import NOT_FINITE, STEADY, UNSTEADY, WENT_OUT
from combred.experiments.counterflow import flame as counterflow
from combred.experiments.counterflow.cantera_flame import CounterflowCase, solve_counterflow
from combred.experiments.counterflow.experiment import Curve, compare, of_flame
from combred.experiments.counterflow.flame import CounterflowMarch, burn
from combred.experiments.counterflow.grid import CounterflowGrid, CounterflowProfile, profile_of
from combred.experiments.diffusion import Diffusion

CASE = CounterflowCase("H2:1, N2:4", "O2:1, N2:3.76")
STRAIN, CELLS, DT = 400.0, 40, 4e-6


def of_cantera(flame: ct.CounterflowDiffusionFlame) -> Curve:
    """Cantera's solution."""
    mass_flux = flame.density * flame.velocity
    stagnation = np.interp(0.0, -mass_flux, flame.grid)
    return Curve(flame.grid - stagnation, flame.T.copy(), flame.Y.T.copy())


@pytest.fixture(scope="module")
def cantera_flame(h2o2):
    return solve_counterflow(h2o2, CASE, STRAIN)


@pytest.fixture(scope="module")
def begin(h2o2, cantera_flame):
    return profile_of(h2o2, cantera_flame, CASE, CELLS)


def by_cvode(mechanism):
    """CVODE with the tolerances of the references of flames."""
    return CVODE(mechanism, rtol=1e-6, atol=1e-10)


def mixing_profile(mechanism, fuel, oxidizer, T, cells, strain, width):
    """A profile of two streams without reactions, on equal cells over `width` [m], with the flux of
    a constant V = strain / 2 and the density of the fuel stream."""
    gas, Y, rho = mechanism.solution(), [], []
    for composition, temperature in zip((fuel, oxidizer), T, strict=True):
        gas.TPX = temperature, ct.one_atm, composition
        Y.append(gas.Y)
        rho.append(gas.density)
    m = rho[0] * np.linspace(-width / 2, width / 2, cells + 1)
    left = np.arange(cells) < cells // 2
    case = CounterflowCase(fuel=fuel, oxidizer=oxidizer)
    inside = np.where(left, *T).astype(float), np.where(left[:, None], *Y)
    streams = np.array(T, float), np.array(Y)
    return CounterflowProfile(case, strain, np.diff(m), -strain * m, *inside, *streams)


def test_the_profile_is_that_of_cantera(h2o2, cantera_flame, begin):
    assert begin.strain == pytest.approx(STRAIN, rel=1e-3)
    assert np.allclose(begin.Y.sum(1), 1.0, atol=1e-12) and begin.Y.min() >= 0.0
    assert begin.T.max() == pytest.approx(cantera_flame.T.max(), rel=0.005)
    assert np.all(np.diff(begin.flux) < 0) and begin.flux[0] > 0 > begin.flux[-1]
    assert begin.T[[0, -1]] == pytest.approx(300.0, abs=5.0)
    assert begin.stream_T.tolist() == [300.0, 300.0]
    assert begin.stream_Y[0, h2o2.index("O2")] == 0.0 == begin.stream_Y[1, h2o2.index("H2")]
    grid = CounterflowGrid(h2o2, begin)
    curve, reference = Curve(grid.x, grid.T, grid.Y), of_cantera(cantera_flame)
    found = compare(h2o2, curve, reference)
    assert found["profile_T_error"] < 10.0 and abs(found["shift"]) < 0.01 * found["thickness"]
    ratio = np.diff(grid.x)[1:] / np.diff(grid.x)[:-1]
    assert 0.6 < ratio.min() and ratio.max() < 1.6


def test_more_strain_makes_a_similar_flame_thinner(h2o2, begin):
    other = begin.strained(4.0)
    x, thinner = CounterflowGrid(h2o2, begin).x, CounterflowGrid(h2o2, other).x
    assert other.strain == 4 * begin.strain and thinner == pytest.approx(x / 2)
    assert other.flux == pytest.approx(2 * begin.flux)


def test_cells_of_unequal_mass_conserve_elements_and_enthalpy(h2o2, begin):
    diffusion = Diffusion(h2o2, ct.one_atm, begin.cell_mass)
    T, Y = begin.T, begin.Y
    h = diffusion.enthalpy(T, Y)
    before = begin.cell_mass @ np.column_stack([Y @ h2o2.elements.T, h])
    for _ in range(5):
        T, Y, h = diffusion.step(T, Y, h, 2e-6)
    after = begin.cell_mass @ np.column_stack([Y @ h2o2.elements.T, h])
    assert after == pytest.approx(before, rel=1e-12, abs=1e-12 * np.abs(before).max())
    assert not np.allclose(T, begin.T, atol=0.1)


def test_convection_takes_from_the_streams_what_it_gives_to_the_cells_and_the_sides(h2o2, begin):
    grid = CounterflowGrid(h2o2, begin)
    dY, dh = grid.convection(grid.Y, grid.h)
    G = begin.flux
    for rate, phi, stream in ((dY, grid.Y, begin.stream_Y), (dh, grid.h, grid.stream_h)):
        inflow = G[0] * stream[0] - G[-1] * stream[1]
        sides = (G[:-1] - G[1:]) @ phi
        assert begin.cell_mass @ rate == pytest.approx(inflow - sides, rel=1e-9, abs=1e-12)
    assert np.allclose(dY.sum(1), 0.0, atol=1e-9 * np.abs(dY).max())


def test_a_trace_mixes_as_the_error_function(h2o2):
    """Of constant density and diffusivity, with the velocity u = -a z, the steady profile is
    erfc(z sqrt(a / (2 D))) / 2."""
    strain, fuel, oxidizer = 300.0, "N2:1, O2:1e-3", "N2:1"
    profile = mixing_profile(h2o2, fuel, oxidizer, (600.0, 600.0), 60, strain, 0.01)
    grid = CounterflowGrid(h2o2, profile)
    for _ in range(300):
        grid.transport(1e-4)
    gas, k = h2o2.solution(), h2o2.index("O2")
    gas.transport_model = "mixture-averaged"
    gas.TPX = 600.0, ct.one_atm, fuel
    expected = 0.5 * erfc(grid.x * np.sqrt(strain / (2 * gas.mix_diff_coeffs[k])))
    got = grid.Y[:, k] / profile.stream_Y[0, k]
    assert got == pytest.approx(expected, abs=0.004)
    assert grid.T == pytest.approx(np.full(60, 600.0), abs=0.01)


def test_cvode_s_flame_stays_at_cantera_s(h2o2, cantera_flame, begin):
    short = CounterflowMarch(CELLS, tolerance=20.0, longest=0.5)
    flame = burn(h2o2, by_cvode(h2o2), DT, begin, short)
    assert flame.outcome in (STEADY, UNSTEADY) and flame.burns
    assert len(flame.t) == len(flame.peak_T) >= 150
    found = compare(h2o2, of_flame(flame), of_cantera(cantera_flame))
    assert found["peak_T_error"] < 15.0
    assert found["profile_T_error"] < 40.0
    assert found["peak_errors"]["OH"] < 0.05
    # Elements: the nitrogen of the flame is between those of the streams.
    elements = flame.Y @ h2o2.elements.T
    streams = begin.stream_Y @ h2o2.elements.T
    assert np.all(elements[:, h2o2.element_names.index("O")] <= streams[1].max() + 1e-9)
    assert flame.Y.sum(1) == pytest.approx(np.ones(CELLS), abs=1e-6)


def test_a_flame_without_chemistry_goes_out(h2o2, begin):
    seen = []
    flame = burn(h2o2, INERT, 2e-5, begin, on_progress=lambda *done: seen.append(done))
    assert flame.outcome == WENT_OUT and not flame.burns
    assert flame.peak_T[-1] < 300 + counterflow.OUT * (begin.T.max() - 300) < flame.peak_T[-2]
    assert all(done <= most for done, most in seen)


def test_a_solver_that_fails_ends_the_march(h2o2, begin):
    nan = SimpleNamespace(advance=lambda T, p, Y, dt: (T * np.nan, Y))
    flame = burn(h2o2, nan, DT, begin)
    assert flame.outcome == NOT_FINITE and len(flame.t) == 0
    assert np.isfinite(flame.T).all()


@pytest.mark.parametrize("wrong", [{"cells": 5}, {"tolerance": 0.0}, {"longest": 0.01}])
def test_a_march_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        CounterflowMarch(**wrong)


def test_profiles_are_compared_with_a_tolerance_of_position(h2o2, cantera_flame):
    reference = of_cantera(cantera_flame)
    near = replace(reference, x=reference.x + 0.03 * reference.thickness)
    found = compare(h2o2, near, reference)
    assert found["shift"] == pytest.approx(-0.03 * reference.thickness, rel=0.01)
    assert found["profile_T_error"] < 1.0 and found["peak_T_error"] == pytest.approx(0.0, abs=1e-6)
    far = replace(reference, x=reference.x + 0.3 * reference.thickness)
    found = compare(h2o2, far, reference)
    assert abs(found["shift"]) <= 0.05 * reference.thickness * (1 + 1e-9)
    assert found["profile_T_error"] > 200.0
    hotter = replace(reference, T=reference.T + 30.0 * (reference.T > 1000.0))
    found = compare(h2o2, hotter, reference)
    assert found["peak_T_error"] == pytest.approx(30.0, abs=0.5)
    assert found["peak_errors"]["OH"] == 0.0

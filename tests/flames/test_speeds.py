"""Speeds of many gases, and the errors that say what is wrong."""

import cantera as ct
import numpy as np
import pytest

import combred
from combred.flames import problems, speeds
from combred.flames.problems import FlameError, NoFlame
from combred.flames.speeds import flame, flame_speed
from tests.flames.conftest import AIR

CRITERIA = {"ratio": 3.0, "slope": 0.1, "curve": 0.2}
ION = """
phases:
- name: gas
  thermo: ideal-gas
  species: [H2, H, E, H+]
  kinetics: gas
  transport: mixture-averaged
species:
- name: H2
  composition: {H: 2}
  thermo: {model: constant-cp, h0: 0.0}
  transport: {model: gas, geometry: linear, well-depth: 38.0, diameter: 2.92}
- name: H
  composition: {H: 1}
  thermo: {model: constant-cp, h0: 2.0e+8 J/kmol}
  transport: {model: gas, geometry: atom, well-depth: 145.0, diameter: 2.05}
- name: E
  composition: {E: 1}
  thermo: {model: constant-cp, h0: 0.0}
  transport: {model: gas, geometry: atom, well-depth: 145.0, diameter: 2.05}
- name: H+
  composition: {H: 1, E: -1}
  thermo: {model: constant-cp, h0: 1.5e+9 J/kmol}
  transport: {model: gas, geometry: atom, well-depth: 145.0, diameter: 2.05}
reactions:
- equation: H + E <=> H+ + E + E
  rate-constant: {A: 1.0e+10, b: 0.0, Ea: 0.0}
"""
PHI = np.array([0.9, 1.4, 0.8, 2.0, 1.0])


@pytest.fixture(scope="module")
def mixtures(h2o2):
    """(5, n_species), in no order."""
    return h2o2.mixture("H2:1", AIR, PHI)


def test_speeds_are_those_of_single_flames_in_the_order_of_the_states(h2o2, mixtures):
    result = flame_speed(h2o2, 300.0, ct.one_atm, mixtures, **CRITERIA)
    expected = [flame(h2o2, 300.0, ct.one_atm, Y, **CRITERIA).speed for Y in mixtures]
    # The error of grids, which differ.
    np.testing.assert_allclose(result, expected, rtol=0.03)


def test_processes_share_them(h2o2, mixtures, in_this_process):
    alone = flame_speed(h2o2, 300.0, ct.one_atm, mixtures, **CRITERIA)
    shared = flame_speed(h2o2, 300.0, ct.one_atm, mixtures, workers=2, **CRITERIA)
    np.testing.assert_allclose(shared, alone, rtol=0.03)


def test_one_gas_may_have_many_pressures_and_temperatures(h2o2, mixtures):
    T, p = np.array([300.0, 400.0, 500.0]), ct.one_atm * np.array([1.0, 2.0, 1.0])
    result = flame_speed(h2o2, T, p, mixtures[4], **CRITERIA)
    assert result.shape == (3,) and result[2] > result[0] > 0.0


def test_of_gas_that_does_not_burn_the_speed_is_zero(h2o2, mixtures):
    air = h2o2.mixture("H2:1", AIR, 1e-6)
    result = flame_speed(h2o2, 300.0, ct.one_atm, np.array([air, mixtures[4]]), **CRITERIA)
    assert result[0] == 0.0 and result[1] > 2.0
    with pytest.raises(NoFlame, match="does not burn: at equilibrium it has 300 K. Give fuel"):
        flame(h2o2, 300.0, ct.one_atm, air)
    assert not flame_speed(h2o2, 300.0, ct.one_atm, air[None], **CRITERIA).any()


def test_of_a_flame_that_is_not_found_the_speed_is_nan(h2o2, mixtures, monkeypatch):
    expected = speeds.free_flame

    def fails(gas, *arguments):
        if abs(gas.Y[0] - mixtures[1][0]) < 1e-9:
            raise FlameError("why")
        return expected(gas, *arguments)

    monkeypatch.setattr(speeds, "free_flame", fails)
    with pytest.warns(UserWarning, match="1 of 5 flames: row 1: why"):
        result = flame_speed(h2o2, 300.0, ct.one_atm, mixtures, **CRITERIA)
    assert np.isnan(result).tolist() == [False, True, False, False, False]


def test_gas_without_an_equilibrium_is_told(h2o2, mixtures, monkeypatch):
    def fails(gas, T, p, Y):
        return np.full(len(T), np.nan), np.full(Y.shape, np.nan)

    monkeypatch.setattr(problems, "equilibrium", fails)
    with pytest.warns(UserWarning, match="2 of 2 flames: row 0: Cantera finds no equilibrium of"):
        speeds_ = flame_speed(h2o2, 300.0, ct.one_atm, mixtures[:2], **CRITERIA)
    assert np.isnan(speeds_).all()
    arguments = h2o2, 300.0, ct.one_atm, mixtures[0]
    refused("Cantera finds no equilibrium of the gas of T = 300 K", *arguments)


def test_like_gases_are_neighbours(h2o2, mixtures):
    T, p = np.full(5, 300.0), np.full(5, ct.one_atm)
    burning = speeds.gases(h2o2, T, p, mixtures, "mixture-averaged")
    # From the hottest, phi = 1, outwards.
    order = [PHI[i] for i in speeds._order(burning)]
    assert order[0] == 1.0 and order.index(0.9) < order.index(0.8)
    assert order.index(1.4) < order.index(2.0)


def refused(match, *arguments, **options):
    with pytest.raises(ValueError, match=match):
        flame(*arguments, **options)


def test_what_has_no_flame_is_told_in_one_sentence(h2o2, solver_of, unburnt, coarse):
    solver = solver_of(h2o2)
    for reactor in ((True,), (False, False, True)):  # constant volume; isothermal
        refused("flame has constant pressure", solver_of(h2o2, *reactor), *unburnt)
    sources = solver.with_sources(combred.Sources(rate=1.0, T0=300.0, Y0=unburnt[2]))
    refused("no sources beside its own", sources, *unburnt)
    refused("CVODE has no rates of a mechanism", combred.CVODE(h2o2), *unburnt)
    refused("transport='multicomponent': give one of", h2o2, *unburnt, transport="multicomponent")
    refused("give a ratio from 2", h2o2, *unburnt, ratio=1.0)
    refused("there are 10 species", h2o2, *unburnt[:2], unburnt[2][:-1])
    refused("unburnt gases are not valid", h2o2, 30.0, *unburnt[1:])
    drm19 = combred.load_mechanism("drm19.yaml")
    refused("give one of the same mechanism", drm19, 300.0, ct.one_atm,
            drm19.mixture("CH4:1", AIR, 1.0), initial=coarse)  # fmt: skip
    with pytest.raises(ValueError, match="T is of 3 gases: give one for all, or 3|Y is of 2 gases"):
        flame_speed(h2o2, np.full(3, 300.0), ct.one_atm, np.array([unburnt[2]] * 2))


def test_mechanisms_without_neutral_transport_are_told(mechanism_of):
    ions, Y = mechanism_of(ION), np.array([1.0, 0.0, 0.0, 0.0])
    refused("has ions .E H.*give a mechanism without them", ions, 300.0, ct.one_atm, Y)


def test_a_mechanism_without_transport_data_is_told(mechanism_of, unburnt):
    bare = mechanism_of(
        "phases:\n- name: gas\n  thermo: ideal-gas\n  species: [{h2o2.yaml/species: all}]\n"
        "  kinetics: gas\n  reactions: [h2o2.yaml/reactions]\n"
    )
    refused("has no transport data, which a flame needs: give", bare, *unburnt)

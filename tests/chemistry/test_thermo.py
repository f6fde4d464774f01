"""Thermodynamics against Cantera's, of polynomials of any type, and T from enthalpy."""

import cantera as ct
import numpy as np
import pytest
from nasa9 import HYDROGEN, MIXED

from combred.chemistry.mechanism import load_mechanism
from combred.chemistry.thermo import Thermo

MECHANISMS = {"one T_mid": "drm19.yaml", "some": "gri30.yaml", "NASA-9": HYDROGEN, "mixed": MIXED}
N = 60  # states


@pytest.fixture(scope="module", params=MECHANISMS)
def gas(request, mechanism_of):
    """A mechanism, its `Thermo`, and mixtures of its whole range of T; the last T are all T_mid."""
    mechanism = mechanism_of(MECHANISMS[request.param])
    thermo, rng = Thermo(mechanism), np.random.default_rng(0)
    joints = thermo.joints[thermo.joints < mechanism.T_max]
    T = np.append(rng.uniform(mechanism.T_min, mechanism.T_max, N), joints)
    return mechanism, thermo, T, rng.dirichlet(np.full(mechanism.n_species, 0.3), len(T))


def test_enthalpy_and_heat_capacity_are_cantera_s(gas):
    mechanism, thermo, T, Y = gas
    solution, rows = mechanism.solution(), []
    for T_i, Y_i in zip(T, Y, strict=True):
        solution.TPY = T_i, ct.one_atm, Y_i
        RT = ct.gas_constant * T_i / solution.molecular_weights
        of_species = solution.standard_enthalpies_RT * RT
        rows.append([solution.enthalpy_mass, solution.cp_mass, *of_species])
    rows = np.array(rows)
    h, cp, of_species = rows[:, 0], rows[:, 1], rows[:, 2:]
    # h passes through zero: its errors are set against cp T.
    off_h = np.abs(thermo.enthalpy(T, Y) - h) / (cp * T)
    off_species = np.abs(thermo.species_enthalpy(T) - of_species) / (cp * T)[:, None]
    off_cp = np.abs(thermo.heat_capacity(T, Y) / cp - 1.0)
    for off in (off_h, off_species, off_cp):
        assert off[:N].max() < 1e-12  # rounding
        # At a T_mid Cantera takes the upper region of NASA-9: there polynomials have small steps.
        assert off.max() < 1e-7


@pytest.mark.parametrize("guess", [0.0, 300.0, 1200.0, 1e4, "near", "other side"])
def test_temperature_is_found_to_rounding_from_any_guess(gas, guess):
    mechanism, thermo, T, Y = gas
    guess = {"near": T + 3.0, "other side": 2000.0 - T}.get(guess, guess)
    found = thermo.temperature(thermo.enthalpy(T, Y), Y, guess)
    assert found[:N] == pytest.approx(T[:N], rel=1e-13, abs=0)
    assert found == pytest.approx(T, rel=1e-8, abs=0)  # h has a step at T_mid


def test_where_no_temperature_has_the_enthalpy_it_is_the_nearer_bound(gas):
    mechanism, thermo, _, Y = gas
    h = np.array([-1e12, 1e12, np.nan, 0.0])
    found = thermo.temperature(h, np.vstack([Y[:3], np.full_like(Y[0], np.nan)]), 1000.0)
    assert found[:2].tolist() == [mechanism.T_min / 2, mechanism.T_max + 1000.0]
    assert np.isnan(found[2:]).all()


def test_a_step_that_leaves_the_bracket_is_halved():
    """A heat capacity that falls to a hundredth: Newton's method alone goes round in a circle."""
    thermo = Thermo(load_mechanism("h2o2.yaml"))
    thermo.coefficients = np.zeros((1, 2, 9))
    thermo.coefficients[0, :, 2] = 1000.0, 10.0  # cp below and above 1000 K
    thermo.coefficients[0, 1, 7] = 990.0 * 1000.0  # h is continuous
    thermo.breaks, thermo.joints = np.array([[1000.0]]), np.array([1000.0])
    T = np.array([200.0, 990.0, 999.0, 1000.0, 1001.0, 3000.0])
    Y = np.ones((len(T), 1))
    for guess in (300.0, 1001.0, 4000.0):
        found = thermo.temperature(thermo.enthalpy(T, Y), Y, guess)
        assert found == pytest.approx(T, rel=1e-12, abs=0)

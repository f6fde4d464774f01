"""Thermodynamics against Cantera's, along an ignition and across T_mid of the polynomials."""

import cantera as ct
import numpy as np
import pytest
import torch

from combred.chemistry.thermo import Thermo


def cantera_values(mechanism, path):
    """Enthalpy [J/kg] and cp [J/(kg K)] of the path, by Cantera."""
    gas = mechanism.solution()
    values = []
    for T, p, Y in zip(path.T, path.p, path.Y, strict=True):
        gas.TPY = T, p, Y
        values.append((gas.enthalpy_mass, gas.cp_mass))
    h, cp = np.array(values).T
    return torch.tensor(h), torch.tensor(cp)


@pytest.fixture(scope="module")
def thermo(mechanism):
    return Thermo(mechanism)


def test_mixture_enthalpy_and_cp_are_cantera_s(mechanism, path, thermo):
    h, cp = cantera_values(mechanism, path)
    T, Y = torch.tensor(path.T), torch.tensor(path.Y)
    # h of a mixture of elements and products passes through zero: the error is set against cp T.
    # float64 rounding of five polynomial terms.
    assert torch.allclose(thermo.enthalpy(T, Y) / (cp * T), h / (cp * T), rtol=0, atol=1e-13)
    assert torch.allclose(thermo.cp(T, Y), cp, rtol=1e-13)


def test_enthalpy_and_cp_of_species_are_cantera_s_over_the_whole_range(mechanism, thermo):
    gas = mechanism.solution()
    grid = np.linspace(mechanism.T_min, mechanism.T_max, 50)
    grid = np.sort(np.concatenate([grid, np.unique(mechanism.nasa7()[2])]))  # T_mid itself, too
    h = thermo.species_enthalpy(torch.tensor(grid)).numpy()
    cp = thermo.species_cp(torch.tensor(grid)).numpy()
    RT = ct.gas_constant * grid[:, None] / gas.molecular_weights
    for i, T in enumerate(grid):
        gas.TP = T, ct.one_atm
        # float64 rounding, in units of R T and R.
        assert np.allclose(h[i] / RT[i], gas.standard_enthalpies_RT, rtol=1e-12, atol=1e-12)
        assert np.allclose(cp[i] / RT[i] * T, gas.standard_cp_R, rtol=1e-12)


@pytest.mark.parametrize("away", [-500.0, -50.0, 0.0, 50.0, 500.0])
def test_temperature_is_found_from_enthalpy(mechanism, path, thermo, away):
    h, _ = cantera_values(mechanism, path)
    T, Y = torch.tensor(path.T), torch.tensor(path.Y)
    found = thermo.temperature(h, Y, T + away)
    assert (found - T).abs().max() < 1e-6  # K, as the docstring promises within 500 K


def test_temperature_is_found_across_T_mid_of_the_polynomials(mechanism, path, thermo):
    Y = torch.tensor(path.Y)
    T = torch.linspace(700.0, 1300.0, len(Y), dtype=torch.float64)
    found = thermo.temperature(thermo.enthalpy(T, Y), Y, 2000.0 - T)  # guesses on the other side
    assert (found - T).abs().max() < 1e-6  # K; cp jumps at T_mid by some 1e-4 of itself


def test_temperature_of_an_impossible_enthalpy_stays_in_its_bounds(mechanism, path, thermo):
    Y = torch.tensor(path.Y[:2])
    guess = torch.full((2,), 1500.0, dtype=torch.float64)
    found = thermo.temperature(torch.tensor([-1e9, 1e9], dtype=torch.float64), Y, guess, 20)
    assert found.tolist() == [mechanism.T_min / 2, mechanism.T_max + 1000.0]

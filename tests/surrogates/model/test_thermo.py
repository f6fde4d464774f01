"""Thermodynamics in torch against those in numpy, which are Cantera's."""

import numpy as np
import pytest
import torch
from nasa9 import MIXED

from combred.chemistry import thermo as in_numpy
from combred.surrogates.model.thermo import Thermo


@pytest.fixture(scope="module", params=["NASA-7", "mixed"])
def gas(request, drm19, mechanism_of):
    """Both thermodynamics, and mixtures over the range of T, the last at a T_mid."""
    mechanism = drm19 if request.param == "NASA-7" else mechanism_of(MIXED)
    exact, rng = in_numpy.Thermo(mechanism), np.random.default_rng(0)
    T = np.append(rng.uniform(mechanism.T_min, mechanism.T_max, 60), exact.joints[:1])
    Y = rng.dirichlet(np.full(mechanism.n_species, 0.3), len(T))
    return Thermo(mechanism), exact, T, Y


def test_enthalpy_and_cp_are_those_of_numpy(gas):
    thermo, exact, T, Y = gas
    t, y = torch.tensor(T), torch.tensor(Y)
    cp = exact.heat_capacity(T, Y)
    # h of a mixture of elements and products passes through zero: its error is set against cp T.
    off = thermo.enthalpy(t, y).numpy() - exact.enthalpy(T, Y)
    assert np.abs(off / (cp * T)).max() < 1e-12
    assert np.allclose(thermo.cp(t, y), cp, rtol=1e-12, atol=0)
    of_species = exact.species_enthalpy(T)
    assert np.allclose(thermo.species_enthalpy(t), of_species, rtol=1e-12, atol=1e-6)  # J/kg


@pytest.mark.parametrize("away", [-500.0, -50.0, 0.0, 50.0, 500.0])
def test_temperature_is_found_from_enthalpy(gas, away):
    thermo, exact, T, Y = gas
    h = torch.tensor(exact.enthalpy(T, Y))
    found = thermo.temperature(h, torch.tensor(Y), torch.tensor(T + away))
    off = np.abs(found.numpy() - T)
    assert off[:-1].max() < 1e-6  # K, as the docstring promises within 500 K
    assert off[-1] < 1e-5  # h has a step at T_mid


def test_temperature_of_an_impossible_enthalpy_stays_in_its_bounds(gas):
    thermo, exact, _, Y = gas
    h, guess = torch.tensor([-1e12, 1e12]).double(), torch.full((2,), 1500.0).double()
    found = thermo.temperature(h, torch.tensor(Y[:2]), guess, 20)
    assert tuple(found.tolist()) == exact.T_bounds

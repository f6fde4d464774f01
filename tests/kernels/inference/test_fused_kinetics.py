"""The reaction rates in Triton against `Kinetics` in float64, which is Cantera's: see
tests/chemistry/test_kinetics.py."""

import cantera as ct
import numpy as np
import pytest
import torch
from rate_kinds import random_states

from combred.chemistry.kinetics import Kinetics
from combred.chemistry.mechanism import load_mechanism
from combred.chemistry.thermo import Thermo
from combred.kernels.inference.reactions import rates_of


@pytest.fixture(scope="module")
def rates(triton, device):
    """A function: net and destruction (n_species, n) of states T, p (n,), Y (n_species, n)."""
    kernel = triton("rates_kernel").rates_kernel

    def evaluate(mechanism, T, p, Y):
        constants = rates_of(Kinetics(mechanism), Thermo(mechanism))
        out = torch.empty((2, *Y.shape), dtype=torch.float32, device=device)
        T, p, Y = (x.to(device).contiguous() for x in (T, p, Y))
        B = 1 << (len(T) - 1).bit_length()
        kernel[(1,)](T, p, Y, out[0], out[1], len(T), RATES=constants, N=len(Y), B=B)
        return out.cpu().double()

    return evaluate


def tensors(T, p, Y):
    """Of random states, mass fractions at least as large as what a network is shown."""
    return torch.tensor(T), torch.tensor(p), torch.tensor(np.maximum(Y.T, 1e-13))


def assert_as_in_float64(rates, mechanism, T, p, Y):
    net, destruction = rates(mechanism, T, p, Y)
    net_true, destruction_true = Kinetics(mechanism)(T, p, Y)
    turnover = net_true.abs() + 2 * destruction_true.abs()
    off = (net - net_true).abs() / (turnover + 1e-20)
    # Logarithms are sums of float32 that are up to 300 large (Ea / RT), and each reaction's own
    # error shows where it rules: 4e-7 in the median, 2e-5 at worst. Below 1e-25/s is nothing.
    assert off.max() < 4e-5 and off.median() < 1e-6
    assert torch.allclose(destruction, destruction_true, rtol=4e-5, atol=1e-25)


@pytest.mark.parametrize("name", ["drm19.yaml", "h2o2.yaml", "gri30.yaml"])
def test_rates_of_random_states(rates, name):
    mechanism = load_mechanism(name)
    assert_as_in_float64(rates, mechanism, *tensors(*random_states(mechanism)))


def test_every_kind_of_rate(rates, kinds):
    assert_as_in_float64(rates, kinds, *tensors(*random_states(kinds)))


def test_on_an_ignition(rates, mechanism, path):
    assert_as_in_float64(rates, mechanism, *tensors(path.T, path.p, path.Y))


def test_near_balance_what_is_left_of_a_reaction_keeps_its_digits(rates, h2o2):
    """Equilibrium, and then 1 mK hotter (see tests/chemistry/test_kinetics.py): net rates of 1e-5
    of the turnover and less, of which float32 logarithms would leave no more than a digit."""
    gas = h2o2.solution()
    gas.TPX = 1500.0, ct.one_atm, "H2:2, O2:1, AR:5"
    gas.equilibrate("TP", rtol=1e-14)
    state = tensors(np.array([gas.T + 1e-3]), np.array([gas.P]), gas.Y[None])
    net, destruction = rates(h2o2, *state)
    true = Kinetics(h2o2)(*state)[0]
    react = destruction > 0.0
    assert react.any() and (true.abs() < 1e-4 * destruction)[react].all()
    # 1e-6 of each; float32 logarithms would leave 1e-6 of the turnover, a hundredth of some.
    assert torch.allclose(net, true, rtol=1e-5, atol=1e-6 * true.abs().max().item())

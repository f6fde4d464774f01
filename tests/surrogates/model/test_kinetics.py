"""Reaction rates against Cantera's: along ignitions, at random states of three mechanisms, and in a
mechanism with every type of rate."""

import cantera as ct
import numpy as np
import pytest
import torch
from nasa9 import MIXED
from rate_kinds import KINDS, in_other_case, random_states, scarce_factors, with_multipliers

from combred.chemistry.mechanism import load_mechanism
from combred.surrogates.model.kinetics import Kinetics

PRESSURE_TABLE = """
- equation: CO2 + O <=> CO + O2
  type: pressure-dependent-Arrhenius
  rate-constants:
  - {P: 0.1 atm, A: 1.0e+10, b: 0.0, Ea: 0.0}
  - {P: 10.0 atm, A: 1.0e+12, b: 0.0, Ea: 0.0}
"""
FALLOFF = """
- equation: H2 + OH (+M) <=> H2O + H (+M)
  type: falloff
  low-P-rate-constant: {A: 1.0e+10, b: 0.0, Ea: 0.0}
  high-P-rate-constant: {A: 1.0e+12, b: 0.0, Ea: 0.0}
"""
TSANG = FALLOFF + "  Tsang: {A: 0.95, B: -1.0e-04}\n"
SRI_ZERO = FALLOFF + "  SRI: {A: 0.0, B: 100.0, C: 1000.0}\n"
PLASMA = """
- equation: CO2 + O => CO + O2
  type: two-temperature-plasma
  rate-constant: {A: 1.0, b: 0.0, Ea-gas: 1.0}
"""


def cantera_rates(mechanism, T, p, Y):
    """dY/dt and destruction [1/s] of states, by Cantera, reaction by reaction in float64."""
    gas, out = mechanism.solution(), []
    for state in zip(T, p, Y, strict=True):
        gas.TPY = state
        per = gas.molecular_weights / gas.density
        made, used = gas.product_stoich_coeffs, gas.reactant_stoich_coeffs
        forward = gas.forward_rates_of_progress * scarce_factors(gas)
        reverse = gas.reverse_rates_of_progress
        out.append(
            ((made - used) @ (forward - reverse) * per, (used @ forward + made @ reverse) * per)
        )
    return [np.array(side) for side in zip(*out, strict=True)]


def tensors(T, p, Y):
    """T, p and Y of states as `Kinetics` takes them: species by states."""
    return torch.tensor(T), torch.tensor(p), torch.tensor(Y.T)


def assert_cantera_s(mechanism, T, p, Y):
    """The rates of the states agree with Cantera's to rounding."""
    net, destruction = (x.T.numpy() for x in Kinetics(mechanism)(*tensors(T, p, Y)))
    net_true, destruction_true = cantera_rates(mechanism, T, p, Y)
    turnover = np.abs(net_true) + 2 * np.abs(destruction_true)
    # float64: sums of tens of terms, exponentials of up to 100; rates below 1e-30/s are zero.
    assert np.all(np.abs(net - net_true) <= 1e-12 * turnover + 1e-30)
    assert np.allclose(destruction, destruction_true, rtol=1e-12, atol=1e-30)


def test_rates_along_an_ignition_are_cantera_s(mechanism, path):
    assert_cantera_s(mechanism, path.T, path.p, path.Y)


@pytest.mark.parametrize("name", ["drm19.yaml", "h2o2.yaml", "gri30.yaml"])
def test_rates_of_random_states_are_cantera_s(name):
    mechanism = load_mechanism(name)
    assert_cantera_s(mechanism, *random_states(mechanism))


@pytest.mark.parametrize("name", ["drm19.yaml", "h2o2.yaml", "gri30.yaml"])
def test_float32_errors_are_those_of_rate_constants_wrong_by_1e_5(name):
    mechanism = load_mechanism(name)
    T, p, Y = tensors(*random_states(mechanism))
    net, destruction = Kinetics(mechanism)(T, p, Y)
    net32, destruction32 = Kinetics(mechanism, torch.float32)(T, p, Y)
    assert net32.dtype == destruction32.dtype == torch.float32
    turnover = net.abs() + 2 * destruction.abs()
    # Logarithms of up to 100 in float32 are off by 4e-6; rates below 1e-30/s are zero.
    assert ((net32 - net).abs() <= 1e-5 * turnover + 1e-30).all()
    assert torch.allclose(destruction32.double(), destruction, rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_net_rates_near_equilibrium_keep_their_digits(h2o2, dtype):
    """1 mK above equilibrium, net rates are 1e-5 or less of the forward rates. A float32 difference
    of forward and reverse rate would leave two digits of them."""
    gas = h2o2.solution()
    gas.TPX = 1500.0, ct.one_atm, "H2:2, O2:1, AR:5"
    gas.equilibrate("TP", rtol=1e-14)
    hotter, p, Y = np.array([gas.T + 1e-3]), np.array([gas.P]), gas.Y[None]
    net, destruction = (x[:, 0] for x in Kinetics(h2o2, dtype)(*tensors(hotter, p, Y)))
    true = cantera_rates(h2o2, hotter, p, Y)[0][0]
    assert (np.abs(true) < 1e-4 * destruction.numpy())[true != 0.0].all()
    # Cantera's own float64 leaves 1e-15 of the rates, and so 1e-9 here; float32 its own rounding.
    bound = {torch.float64: 1e-7, torch.float32: 1e-4}[dtype]
    assert np.allclose(net, true, rtol=bound, atol=bound * np.abs(true).max())


def test_rates_with_polynomials_of_any_type_are_cantera_s(mechanism_of):
    mechanism = mechanism_of(MIXED)
    assert_cantera_s(mechanism, *random_states(mechanism))


def test_every_type_of_rate_is_cantera_s(kinds):
    assert_cantera_s(kinds, *random_states(kinds))


def test_names_in_other_letters_and_multipliers_of_a_file(mechanism_of):
    text, factors = with_multipliers(in_other_case(KINDS), KINDS.count("- equation"))
    mechanism = mechanism_of(text)
    assert np.array_equal(mechanism.multipliers, factors) and 0.0 in factors and 1.0 in factors
    assert_cantera_s(mechanism, *random_states(mechanism))


UNKNOWN = {
    r"CO2 \+ O <=> CO \+ O2.*'pressure-dependent-Arrhenius'": PRESSURE_TABLE,
    r"H2 \+ OH \(\+M\).*'falloff-Tsang'": TSANG,
    r"'falloff-SRI'.*SRI with a > 0": SRI_ZERO,
    r"1 of the 13 reactions.*'two-temperature-plasma'": PLASMA,
}


@pytest.mark.parametrize("message", UNKNOWN)
def test_a_rate_of_another_type_is_refused_by_name(tmp_path, message):
    file = tmp_path / "other.yaml"
    file.write_text(KINDS + UNKNOWN[message])
    with pytest.raises(ValueError, match=message):
        Kinetics(load_mechanism(str(file)))

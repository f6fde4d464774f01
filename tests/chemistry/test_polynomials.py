"""Thermodynamic polynomials against Cantera's, of every type and number of regions."""

import cantera as ct
import numpy as np
import pytest
from nasa9 import MIXED

from combred.chemistry.polynomials import evaluate, nasa7, read_polynomials

CONSTANT = """
phases:
- name: gas
  thermo: ideal-gas
  species: [CP]
species:
- name: CP
  composition: {O: 1}
  thermo: {model: constant-cp, T0: 400.0 K, h0: 9.0 kJ/mol, s0: 160.0 J/mol/K, cp0: 21.0 J/mol/K}
"""


@pytest.mark.parametrize(
    "gas, regions",
    [
        (lambda: ct.Solution("gri30.yaml"), 2),
        (lambda: ct.Solution("airNASA9.yaml"), 3),
        (lambda: ct.Solution(yaml=MIXED), 3),
        (lambda: ct.Solution(yaml=CONSTANT), 1),
    ],
    ids=["NASA-7", "NASA-9", "mixed", "constant-cp"],
)
def test_values_are_cantera_s(gas, regions):
    gas = gas()
    coefficients, breaks = read_polynomials(gas.species())
    assert coefficients.shape == (gas.n_species, regions, 9)
    assert breaks.shape == (gas.n_species, regions - 1)
    low = max(200.0, gas.min_temp)
    T = np.linspace(low, min(20000.0, gas.max_temp), 101)
    for T_i, *ours in zip(T, *evaluate(coefficients, breaks, T), strict=True):
        gas.TP = T_i, ct.one_atm
        theirs = gas.standard_cp_R, gas.standard_enthalpies_RT, gas.standard_entropies_R
        for mine, true in zip(ours, theirs, strict=True):
            # The terms of a polynomial are up to 100 times its value, and cancel.
            assert np.allclose(mine, true, rtol=1e-12, atol=1e-12)


def test_at_T_mid_the_lower_polynomial_holds_as_in_cantera():
    gas = ct.Solution("gri30.yaml")
    k = gas.species_index("CH4")  # cp jumps by 6e-10 of itself
    coefficients, breaks = read_polynomials(gas.species())
    gas.TP = breaks[k, 0], ct.one_atm
    cp, _, _ = evaluate(coefficients, breaks, breaks[k])
    above, _, _ = evaluate(coefficients[:, 1:], breaks[:, 1:], breaks[k])
    assert cp[0, k] == pytest.approx(gas.standard_cp_R[k], rel=1e-14)  # float64 rounding
    assert above[0, k] != pytest.approx(gas.standard_cp_R[k], rel=1e-10)


def test_at_a_break_of_nasa_9_the_upper_polynomial_holds_as_in_cantera():
    gas = ct.Solution("airNASA9.yaml")
    coefficients, breaks = read_polynomials(gas.species())
    T = np.array([999.9999, 1000.0, 1000.0001, 6000.0])
    for T_i, cp, h, s in zip(T, *evaluate(coefficients, breaks, T), strict=True):
        gas.TP = T_i, gas.reference_pressure
        exact = gas.standard_cp_R, gas.standard_enthalpies_RT, gas.standard_entropies_R
        for mine, true in zip((cp, h, s), exact, strict=True):
            assert np.allclose(mine, true, rtol=1e-12, atol=0.0)


def test_nasa_7_is_what_has_two_ranges_and_no_reciprocal_terms():
    gas = ct.Solution(yaml=MIXED)
    names = tuple(gas.species_names)
    coefficients, breaks = read_polynomials(gas.species())
    with pytest.raises(ValueError, match=r"data: N2 O2 O\. Fit NASA-7.*another mechanism"):
        nasa7(coefficients, breaks, names)
    keep = [gas.species_index(name) for name in ("H2", "OH", "AR")]
    low, high, T_mid = nasa7(coefficients[keep], breaks[keep], ("H2", "OH", "AR"))
    assert T_mid.tolist() == [1000.0, 1000.0, 1000.0] and np.array_equal(low[2], high[2])
    for k, name in enumerate(("H2", "OH")):
        thermo = gas.species(name).thermo
        assert np.array_equal(thermo.coeffs, [T_mid[k], *high[k], *low[k]])


def test_one_region_for_all_is_nasa_7():
    coefficients, breaks = read_polynomials(ct.Solution(yaml=CONSTANT).species())
    low, high, T_mid = nasa7(coefficients, breaks, ("CP",))
    assert np.array_equal(low, high) and np.isfinite(T_mid).all()

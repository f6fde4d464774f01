"""Reactions against Cantera's, in every reacting ideal gas that Cantera installs, and in a
mechanism with every type of rate. Rates of all types: tests/native/solver/test_rates.py."""

import cantera as ct
import numpy as np
import pytest
from rate_kinds import quietly

from combred.chemistry.mechanism import load_mechanism
from combred.chemistry.rate_forms import Arrhenius
from combred.chemistry.reactions import read_reactions

INSTALLED = [
    ("SiF4_NH3_mec.yaml", "gas"),
    ("air.yaml", "air"),
    ("example_data/ammonia-CO-H2-Alzueta-2023.yaml", "baseline"),
    ("example_data/ammonia-CO-H2-Alzueta-2023.yaml", "linear-Burke"),
    ("gri30.yaml", "gri30"),
    ("gri30_highT.yaml", "gri30"),
    ("gri30_ion.yaml", "gas"),
    ("h2o2.yaml", "ohmech"),
    ("nDodecane_Reitz.yaml", "nDodecane_IG"),
    ("ohn.yaml", "gas"),
    ("ptcombust.yaml", "gas"),
]
LARGE = pytest.param("example_data/n-hexane-NUIG-2015.yaml", "gas", marks=pytest.mark.mechanisms)
GAS = """
phases:
- name: gas
  thermo: ideal-gas
  species: [{h2o2.yaml/species: all}]
  kinetics: gas
  reactions: all
reactions:
"""


def gas_with(tmp_path, reactions):
    """The species of h2o2.yaml with reactions of their own, as YAML."""
    file = tmp_path / "gas.yaml"
    file.write_text(GAS + reactions)
    return load_mechanism(str(file))


@pytest.mark.parametrize("file, phase", [*INSTALLED, LARGE, ("every_kind", "")])
def test_stoichiometry_direction_and_constants_are_cantera_s(file, phase, request):
    if phase:
        mechanism = quietly(lambda: load_mechanism(file, phase))
    else:
        mechanism = request.getfixturevalue(file)
    gas = quietly(lambda: mechanism.solution(transport=False))
    reactions = quietly(lambda: read_reactions(mechanism))
    for side, given in (
        ("reactants", gas.reactant_stoich_coeffs),
        ("products", gas.product_stoich_coeffs),
    ):
        ours = np.zeros_like(given)
        for reaction in reactions:
            for i, nu in getattr(reaction, side).items():
                ours[i, reaction.index] = nu
        assert np.array_equal(ours, given)
    assert [r.reversible for r in reactions] == [r.reversible for r in gas.reactions()]
    assert [r.equation for r in reactions] == [r.equation for r in gas.reactions()]
    T = 1500.0
    gas.TP = T, ct.one_atm
    for reaction, k in zip(reactions, gas.forward_rate_constants, strict=True):
        if isinstance(rate := reaction.rate, Arrhenius):
            found = rate.sign * np.exp(rate.ln_A + rate.b * np.log(T) - rate.T_a / T)
            assert found == pytest.approx(k, rel=1e-12)


def test_an_efficiency_below_zero_is_refused(tmp_path):
    text = "- equation: H + O2 + M <=> HO2 + M\n  efficiencies: {H2O: -3.0}\n"
    mechanism = gas_with(tmp_path, f"{text}  rate-constant: [1.0, 0.0, 0.0]\n")
    with pytest.raises(ValueError, match=r"reaction 1, H .*has an efficiency below zero"):
        read_reactions(mechanism)


def test_unknown_types_are_named_and_counted_before_anything_else(tmp_path):
    plasma = "  type: two-temperature-plasma\n  rate-constant: {A: 1.0, b: 0.0, Ea-gas: 1.0}\n"
    equations = ("O + H2 => H + OH", "H + O2 => O + OH", "H2 + O2 => 2 OH", "O + HO2 => OH + O2")
    mechanism = gas_with(
        tmp_path,
        "- equation: 2 OH <=> O + H2O\n  rate-constant: {A: 1.0, b: 0.0, Ea: 0.0}\n"
        + "".join(f"- equation: {equation}\n{plasma}" for equation in equations),
    )
    message = (
        r"4 of the 5 reactions of gas.yaml.*reaction 2, .*H2 \+ O.*two-temperature-plasma.*; ..."
    )
    with pytest.raises(ValueError, match=message) as error:
        read_reactions(mechanism)
    assert "O + HO2" not in str(error.value) and "another mechanism" in str(error.value)

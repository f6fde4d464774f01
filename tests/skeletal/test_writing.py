"""A skeleton as a file: Cantera reads it, and its rates are those of the detailed mechanism."""

import re
from dataclasses import replace

import numpy as np
import pytest

from combred.skeletal import writing
from combred.skeletal.phases import phase_of
from combred.skeletal.skeleton import ReactionNetwork
from combred.skeletal.writing import require_same_rates, text_of

pytestmark = pytest.mark.filterwarnings("ignore:.*T2=0", "ignore:NasaPoly2")  # of Cantera
MECHANISMS = "gri30.yaml", "drm19.yaml", "example_data/ammonia-CO-H2-Alzueta-2023.yaml"
SECTIONS = """
units: {length: cm, quantity: mol, activation-energy: cal/mol}
phases:
- name: other
  thermo: ideal-gas
  species: [{gri30.yaml/species: [N2]}]
- name: gas
  thermo: ideal-gas
  elements: [{heavy: [O]}, {default: [H, Ar, N]}]
  species: [{gri30.yaml/species: [H2, H, O, O2, OH, H2O, N2]}, {own: [AR]}]
  kinetics: gas
  reactions: [{first: all}, {second: declared-species}]
  state: {T: 300.0, P: 1 atm, X: {AR: 1.0}}
heavy:
- {symbol: O, atomic-weight: 17.999}
own:
- {name: AR, composition: {Ar: 1}, thermo: {model: constant-cp, cp0: 20.786 J/mol/K}}
first:
- {equation: O + H2 <=> H + OH, rate-constant: {A: 3.8700e+04, b: 2.7, Ea: 6260.0}}
- {equation: 2 H + AR <=> H2 + AR, rate-constant: {A: 1.0e+18, b: -1.0, Ea: 0.0}, duplicate: true}
- {equation: 2 H + M <=> H2 + M, type: three-body, efficiencies: {AR: 0.5, H2O: 3.0},
   rate-constant: {A: 1.0e+18, b: -1.0, Ea: 0.0}, duplicate: true}
second:
- units: {length: m, quantity: kmol, activation-energy: K}
- {equation: H + O2 <=> O + OH, rate-constant: [2.65e+13, -0.6707, 8575.0]}
- {equation: CH4 + H <=> CH3 + H2, rate-constant: [6.6e+5, 1.62, 5450.0]}
- {equation: 2 OH => H2 + O2, orders: {CH4: 1.0}, nonreactant-orders: true,
   rate-constant: [6.6e+5, 1.62, 5450.0]}
"""


@pytest.mark.parametrize("name", [*MECHANISMS, "every_kind", "respelled"])
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_rates_are_those_of_the_detailed_mechanism(request, mechanism_of, name, share):
    """Of random species, without a tenth of the reactions, with factors on the others."""
    known = name.endswith(".yaml")
    mechanism = mechanism_of(name) if known else request.getfixturevalue(name)
    network, rng = ReactionNetwork.of(mechanism), np.random.default_rng(3)
    n = len(network.reactions)
    skeleton = network.whole().without(*np.flatnonzero(rng.random(mechanism.n_species) < share))
    skeleton = skeleton.without_reactions(np.flatnonzero(rng.random(n) < 0.1))
    skeleton = replace(skeleton, factors=rng.uniform(0.5, 2.0, n))
    reduced = writing.mechanism_of(skeleton, "reduced.yaml", "A note.")
    assert list(reduced.species_names) == skeleton.names()
    assert reduced.solution(transport=False).n_reactions == skeleton.reactions.sum() > 0
    assert all(reduced.elements.sum(axis=1) > 0.0) or not known
    assert np.array_equal(reduced.multipliers, mechanism.multipliers[skeleton.reactions])
    require_same_rates(skeleton, reduced)
    others = network.whole().without(*np.flatnonzero(~skeleton.species))
    with pytest.raises(RuntimeError, match="reduced.yaml has other rates"):
        require_same_rates(others, reduced)


def test_constants_that_share_an_anchor_are_scaled_once_each(mechanism_of):
    text = SECTIONS.replace(
        "{A: 1.0e+18, b: -1.0, Ea: 0.0}, duplicate",
        "&k {A: 1.0e+18, b: -1.0, Ea: 0.0}, duplicate",
        1,
    )
    text = text.replace(
        "rate-constant: {A: 1.0e+18, b: -1.0, Ea: 0.0}, duplicate", "rate-constant: *k, duplicate"
    )
    assert text.count("*k") == text.count("&k") == 1
    whole = ReactionNetwork.of(mechanism_of(text)).whole()
    skeleton = replace(whole, factors=np.array([1.0, 1.2, 1.3, 1.0]))
    require_same_rates(skeleton, writing.mechanism_of(skeleton, "refitted.yaml"))


SPELLED = """
phases:
- name: gas
  thermo: ideal-gas
  species: [{h2o2.yaml/species: [H2, H, O, O2, OH, H2O, HO2, N2, AR]}]
  kinetics: gas
  reactions: declared-species
  skip-undeclared-third-bodies: true
  rate-multipliers: {default: 0.5, 1: 3.0, 4: 0.0}
reactions:
- {equation: h2 + o <=> h + oh, rate-constant: [38.7, 2.7, 2.6e+7]}
- {equation: H + O2 + co <=> HO2 + co, rate-constant: [1.0e+10, 0.0, 0.0]}
- {equation: CO + OH <=> CO2 + H, rate-constant: [1.0e+10, 0.0, 0.0]}
- equation: H + O2 + M <=> HO2 + M
  rate-constant: [1.0e+10, 0.0, 0.0]
  efficiencies: {ar: 0.5, h2O: 6.0, CO: 2.0}
- {equation: H + o2 <=> O + OH, rate-constant: [1.0e+10, 0.0, 1.0e+7], duplicate: true}
- {equation: h + O2 <=> o + OH, rate-constant: [1.0e+10, 0.1, 2.0e+7], duplicate: true}
- {equation: 2 OH => o + H2O, rate-constant: [1.0e+10, 0.1, 2.0e+7]}
"""


def test_names_in_other_letters_stay_with_their_reactions_and_multipliers(mechanism_of):
    """Two reactions of the file are none of Cantera's; the multipliers are by those that it has."""
    mechanism = mechanism_of(SPELLED)
    assert mechanism.multipliers.tolist() == [0.5, 3.0, 0.5, 0.5, 0.0]
    skeleton = ReactionNetwork.of(mechanism).whole().without(mechanism.index("ar"))
    reduced = writing.mechanism_of(skeleton.without_reactions(0), "reduced.yaml")
    text = reduced.text
    assert "efficiencies: {h2O: 6.0}" in text and text.count("duplicate:") == 2
    gas, detailed = reduced.solution(transport=False), mechanism.solution(transport=False)
    rates = {}
    for one in (gas, detailed):
        one.TPX = 1500.0, 1e6, {name: 1.0 for name in reduced.species_names}
        rates[one] = one.net_rates_of_progress
    # Of the same numbers in another order.
    assert np.allclose(rates[gas], rates[detailed][1:], rtol=1e-12, atol=0.0)
    memory = phase_of(skeleton.without_reactions(0), transport=False)
    memory.TPX = gas.TPX
    assert np.allclose(memory.net_rates_of_progress, rates[gas], rtol=1e-12, atol=0.0)


def test_an_element_of_ions_stays(mechanism_of):
    """A cation has fewer electrons than none."""
    mechanism = mechanism_of("gri30_ion.yaml")
    skeleton = ReactionNetwork.of(mechanism).whole()
    skeleton = skeleton.without(mechanism.index("E"), mechanism.index("HCO+"))
    assert "H3O+" in writing.mechanism_of(skeleton, "ions.yaml").species_names


def test_what_stands_for_nothing_any_more_is_gone(mechanism_of):
    """Without argon: its element, its reaction as a collider, its efficiency, the mark of the
    duplicate that it leaves alone, the state, the other phase, and a species that is not declared.
    Numbers keep their digits."""
    mechanism = mechanism_of(SECTIONS)
    skeleton = ReactionNetwork.of(mechanism).whole().without(mechanism.index("AR"))
    text = text_of(skeleton, "Hydrogen.")
    assert not re.search(r"\b(Ar|duplicate|state|other|CH4)\b", text, re.IGNORECASE)
    assert "A: 3.8700e+04" in text and "description: Hydrogen." in text
    assert "efficiencies: {H2O: 3.0}" in text
    reduced = mechanism_of(text)
    assert reduced.solution(transport=False).n_reactions == 3
    require_same_rates(skeleton, reduced)
    weights = mechanism.molecular_weights[skeleton.species]  # of the file's own oxygen
    assert np.array_equal(reduced.molecular_weights, weights) and 17.0 < weights[2] < 18.0
    assert np.array_equal(phase_of(skeleton, transport=False).molecular_weights, weights)

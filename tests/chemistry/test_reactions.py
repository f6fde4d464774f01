"""Reactions and their forward rate constants against Cantera's: in every reacting ideal gas that
Cantera installs, and in a mechanism with every type of rate."""

import cantera as ct
import numpy as np
import pytest
from rate_constants import at_pressure, forward_constants
from rate_kinds import quietly

from combred.chemistry.mechanism import load_mechanism
from combred.chemistry.rate_forms import (
    SRI,
    Arrhenius,
    BlowersMasel,
    Chebyshev,
    Falloff,
    LinearBurke,
    Plog,
    Troe,
    Tsang,
)
from combred.chemistry.reactions import read_reactions

INSTALLED = [
    ("SiF4_NH3_mec.yaml", "gas"),
    ("air.yaml", "air"),
    ("example_data/ammonia-CO-H2-Alzueta-2023.yaml", "baseline"),
    ("example_data/ammonia-CO-H2-Alzueta-2023.yaml", "linear-Burke"),
    ("example_data/n-hexane-NUIG-2015.yaml", "gas"),
    ("gri30.yaml", "gri30"),
    ("gri30_highT.yaml", "gri30"),
    ("gri30_ion.yaml", "gas"),
    ("h2o2.yaml", "ohmech"),
    ("nDodecane_Reitz.yaml", "nDodecane_IG"),
    ("ohn.yaml", "gas"),
    ("ptcombust.yaml", "gas"),
]
GAS = """
phases:
- name: gas
  thermo: ideal-gas
  species: [{h2o2.yaml/species: all}]
  kinetics: gas
  reactions: all
reactions:
"""


@pytest.fixture(scope="module")
def by_equation(every_kind):
    """Its reactions; of several with one equation the last."""
    return {r.equation: r for r in quietly(lambda: read_reactions(every_kind))}


def gas_with(tmp_path, reactions):
    """The species of h2o2.yaml with reactions of their own, as YAML."""
    file = tmp_path / "gas.yaml"
    file.write_text(GAS + reactions)
    return load_mechanism(str(file))


def states(n_species, n=30):
    """T (n,) over 300 to 3000 K, p (n,) of 1e3 to 1e7 Pa, mole fractions X (n, n_species), a third
    of them zero."""
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.ones(n_species), n) ** 3
    X[rng.random(X.shape) < 1 / 3] = 0.0
    X[np.arange(n), rng.integers(n_species, size=n)] += 0.1
    return np.linspace(300.0, 3000.0, n), 10 ** rng.uniform(3, 7, n), X / X.sum(1, keepdims=True)


def assert_cantera_s(mechanism):
    """Forward constants and forward rates of progress are Cantera's; returns the constants."""
    reactions = quietly(lambda: read_reactions(mechanism))
    gas = quietly(mechanism.solution)
    T, p, X = states(mechanism.n_species)
    k = forward_constants(mechanism, reactions, T, p, X)
    for T_i, p_i, X_i, k_i in zip(T, p, X, k, strict=True):
        gas.TPX = T_i, p_i, X_i
        # Exponents of up to 500 in float64 leave errors of up to 1e-13.
        assert np.allclose(k_i, gas.forward_rate_constants, rtol=1e-12, atol=0)
        progress = k_i * [factor(reaction, gas.concentrations) for reaction in reactions]
        # Powers of up to 6 of a concentration; a rate below 1e-290 may be one of zero in Cantera.
        assert np.allclose(progress, gas.forward_rates_of_progress, rtol=1e-12, atol=1e-290)
    return k


def factor(reaction, c):
    """What multiplies the rate constant in the forward rate of progress, of concentrations c."""
    M = 1.0
    if reaction.efficiencies is not None and not isinstance(reaction.rate, Falloff):
        M = reaction.efficiencies @ c
    # Of an absent species Cantera takes zero, also where its order is negative.
    return M * np.prod([c[i] ** order if c[i] > 0 else 0.0 for i, order in reaction.orders.items()])


@pytest.mark.parametrize("file, phase", INSTALLED)
def test_forward_rates_are_cantera_s(file, phase):
    assert_cantera_s(quietly(lambda: load_mechanism(file, phase)))


def test_forward_rates_of_every_type_are_cantera_s(every_kind):
    k = assert_cantera_s(every_kind)
    kinds = {kind: 0 for kind in (Arrhenius, Falloff, Plog, Chebyshev, BlowersMasel, LinearBurke)}
    forms = {None: 0, Troe: 0, SRI: 0, Tsang: 0}
    reactions = quietly(lambda: read_reactions(every_kind))
    for reaction, values in zip(reactions, k.T, strict=True):
        kinds[type(reaction.rate)] += 1
        if isinstance(reaction.rate, Falloff):
            form = reaction.rate.broadening
            forms[type(form) if form else None] += 1
        never = isinstance(reaction.rate, Arrhenius) and reaction.rate.sign == 0.0
        assert never == (not values.any())
    assert min(kinds.values()) > 0 and min(forms.values()) > 0


@pytest.mark.parametrize("name", ["every_kind", "h2o2"])
def test_stoichiometry_and_direction_are_cantera_s(name, request):
    mechanism = request.getfixturevalue(name)
    gas = quietly(mechanism.solution)
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


def test_an_explicit_collider_is_a_third_body_and_no_reactant(every_kind, by_equation):
    for equation, collider, efficiency in (
        ("2 O + AR <=> O2 + AR", "AR", 1.0),
        ("H + OH + N2 <=> H2O + N2", "N2", 1.5),
        ("CO2 + H2 (+AR) <=> CO + H2O (+AR)", "AR", 1.0),
        ("CH4 + H <=> CH3 + H + H", "H", 1.0),  # and one H among the products
    ):
        found, k = by_equation[equation], every_kind.index(collider)
        assert found.efficiencies[k] == efficiency and np.count_nonzero(found.efficiencies) == 1
        assert k not in found.reactants and found.products.get(k, 1.0) == 1.0


def test_orders_are_those_of_the_reactants_unless_told(every_kind, by_equation):
    def named(equation):
        orders = by_equation[equation].orders
        return {every_kind.species_names[i]: order for i, order in orders.items()}

    assert named("CO + OH => CO2 + H") == {"CO": 1.2, "OH": -0.1, "H2O": 0.5}
    assert named("2 O + M <=> O2 + M") == {"O": 2.0}


def test_a_reversible_reaction_with_orders_is_refused_by_cantera(tmp_path):
    with pytest.raises(ValueError, match="orders may only be given for irreversible"):
        gas_with(
            tmp_path,
            "- equation: H2 + O <=> H + OH\n  orders: {H2: 0.5}\n"
            "  rate-constant: {A: 1.0, b: 0.0, Ea: 0.0}\n",
        )


def test_negative_and_vanishing_factors_have_their_sign(by_equation):
    assert by_equation["2 OH <=> H2O + O"].rate.sign == -1.0
    never = by_equation["CO + O2 <=> CO2 + O"].rate
    assert never == Arrhenius(0.0, 1.0, never.T_a, 0.0)


def test_T2_of_zero_is_no_third_term(by_equation):
    form = by_equation["2 O (+M) <=> O2 (+M)"].rate.broadening
    assert (form.a, form.T2) == (0.5, 0.0)


def test_expressions_at_one_pressure_are_summed_and_pressures_ascend(by_equation):
    rate = by_equation["CH3 + OH <=> CO + 2 H2"].rate
    # The levels went through a logarithm in Cantera.
    assert np.allclose(rate.pressures, np.array([0.1, 1.0, 10.0]) * ct.one_atm, rtol=1e-14)
    assert [[one.sign for one in at] for at in rate.rates] == [[1.0], [1.0, -1.0], [1.0]]
    T = np.full(4, 1500.0)
    p = np.array([0.001, 0.1, 10.0, 1000.0]) * ct.one_atm
    low, at_low, at_high, high = at_pressure(rate, T, p)
    assert low == at_low and high == at_high  # constant beyond the ends


def test_a_linear_burke_rate_is_not_one_of_T_and_p(by_equation):
    rate = by_equation["H2O (+M) <=> H + OH (+M)"].rate
    with pytest.raises(ValueError, match="LinearBurke.*forward_constants"):
        at_pressure(rate, np.array([1000.0]), np.array([1e5]))


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

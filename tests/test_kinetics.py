"""Reaction rates against Cantera: two mechanisms on a reactor path, gri30 on random states, and a
small one with every kind of rate."""

import cantera as ct
import numpy as np
import pytest
import torch

from combred.kinetics import Kinetics
from combred.mechanism import load_mechanism

KINDS = """
phases:
- name: gas
  thermo: ideal-gas
  elements: [H, C, O, N, Ar]
  species: [{gri30.yaml/species: [H2, H, O, O2, OH, H2O, CH3, CH4, C2H6, CO, CO2, N2, AR]}]
  kinetics: gas
  reactions: all
units: {length: cm, quantity: mol, activation-energy: cal/mol}
reactions:
- equation: O + H2 <=> H + OH
  rate-constant: {A: 3.87e+04, b: 2.7, Ea: 6260.0}
- equation: H + O2 => O + OH  # irreversible
  rate-constant: {A: 2.65e+16, b: -0.6707, Ea: 17041.0}
- equation: 2 O + M <=> O2 + M  # a third body with efficiencies, one of them zero
  type: three-body
  rate-constant: {A: 1.2e+17, b: -1.0, Ea: 0.0}
  efficiencies: {H2: 2.4, H2O: 15.4, AR: 0.0}
- equation: CH3 + H (+M) <=> CH4 (+M)  # Troe, four coefficients
  type: falloff
  low-P-rate-constant: {A: 2.62e+33, b: -4.76, Ea: 2440.0}
  high-P-rate-constant: {A: 1.39e+16, b: -0.534, Ea: 536.0}
  Troe: {A: 0.783, T3: 74.0, T1: 2941.0, T2: 6964.0}
  efficiencies: {H2: 2.0, AR: 0.7}
- equation: 2 CH3 (+M) <=> C2H6 (+M)  # Troe, three coefficients, one of them zero
  type: falloff
  low-P-rate-constant: {A: 3.4e+41, b: -7.03, Ea: 2762.0}
  high-P-rate-constant: {A: 6.77e+16, b: -1.18, Ea: 654.0}
  Troe: {A: 0.619, T3: 73.2, T1: 0.0}
- equation: CO + O (+M) <=> CO2 (+M)  # Lindemann
  type: falloff
  low-P-rate-constant: {A: 6.02e+14, b: 0.0, Ea: 3000.0}
  high-P-rate-constant: {A: 1.8e+10, b: 0.0, Ea: 2385.0}
- equation: H + OH (+M) <=> H2O (+M)  # SRI, five coefficients
  type: falloff
  low-P-rate-constant: {A: 2.2e+22, b: -2.0, Ea: 0.0}
  high-P-rate-constant: {A: 2.0e+14, b: 0.1, Ea: 300.0}
  SRI: {A: 0.54, B: 201.0, C: 1024.0, D: 1.3, E: 0.1}
- equation: H + O (+M) <=> OH (+M)  # SRI, three coefficients
  type: falloff
  low-P-rate-constant: {A: 4.7e+18, b: -1.0, Ea: 0.0}
  high-P-rate-constant: {A: 1.0e+14, b: 0.0, Ea: 0.0}
  SRI: {A: 1.1, B: 700.0, C: 1234.0}
- equation: CH3 + OH (+M) <=> H2 + CO + H2 (+M)  # chemically activated; not elementary, for once
  type: chemically-activated
  low-P-rate-constant: {A: 282.3, b: 2.9, Ea: -1600.0}
  high-P-rate-constant: {A: 2.2e+04, b: 2.1, Ea: -4000.0}
  Troe: {A: 0.2, T3: 800.0, T1: 300.0, T2: 5000.0}
- equation: CH4 + 0.5 O2 => CO + 2 H2  # orders that are not the coefficients
  rate-constant: {A: 4.0e+10, b: 0.0, Ea: 30000.0}
  orders: {CH4: 0.7, O2: 0.8}
  nonreactant-orders: true
- equation: OH + OH <=> O + H2O  # the sum of two, one negative
  rate-constant: {A: 3.5e+04, b: 2.4, Ea: -2110.0}
  duplicate: true
- equation: OH + OH <=> O + H2O
  rate-constant: {A: -1.0e+03, b: 2.4, Ea: -1000.0}
  duplicate: true
  negative-A: true
"""
PRESSURE_TABLE = """
- equation: H2 + O <=> H2 + O
  type: pressure-dependent-Arrhenius
  rate-constants:
  - {P: 0.1 atm, A: 1.0e+10, b: 0.0, Ea: 0.0}
  - {P: 10.0 atm, A: 1.0e+12, b: 0.0, Ea: 0.0}
"""


def cantera_rates(mechanism, T, p, Y):
    """dY/dt and destruction [1/s] of states, by Cantera, reaction by reaction in float64."""
    gas, out = mechanism.solution(), []
    for state in zip(T, p, Y, strict=True):
        gas.TPY = state
        per = gas.molecular_weights / gas.density
        out.append((gas.net_production_rates * per, gas.destruction_rates * per))
    return [np.array(side) for side in zip(*out, strict=True)]


def tensors(T, p, Y):
    """T, p and Y of states as `Kinetics` takes them: species by states."""
    return torch.tensor(T), torch.tensor(p), torch.tensor(Y.T)


def random_states(mechanism, n=200, seed=0):
    """From unburnt to hot, from a hundredth of an atmosphere to a hundred, a third of the species
    absent."""
    rng = np.random.default_rng(seed)
    T, p = rng.uniform(300.0, 2900.0, n), ct.one_atm * 10 ** rng.uniform(-2, 2, n)
    Y = rng.dirichlet(np.ones(mechanism.n_species), n) ** 3
    Y[rng.random(Y.shape) < 1 / 3] = 0.0
    Y[:, mechanism.index("N2")] += 1e-3
    return T, p, Y / Y.sum(axis=1, keepdims=True)


def assert_cantera_s(mechanism, T, p, Y):
    net, destruction = (x.T.numpy() for x in Kinetics(mechanism)(*tensors(T, p, Y)))
    net_true, destruction_true = cantera_rates(mechanism, T, p, Y)
    turnover = np.abs(net_true) + 2 * np.abs(destruction_true)
    # float64: sums of tens of terms, exponentials of up to 100; below 1e-30/s is nothing.
    assert np.all(np.abs(net - net_true) <= 1e-12 * turnover + 1e-30)
    assert np.allclose(destruction, destruction_true, rtol=1e-12, atol=1e-30)


def test_rates_on_an_ignition_are_cantera_s(mechanism, path):
    assert_cantera_s(mechanism, path.T, path.p, path.Y)


@pytest.mark.parametrize("name", ["drm19.yaml", "h2o2.yaml", "gri30.yaml"])
def test_rates_of_random_states_are_cantera_s(name):
    mechanism = load_mechanism(name)
    assert_cantera_s(mechanism, *random_states(mechanism))


@pytest.mark.parametrize("name", ["drm19.yaml", "h2o2.yaml", "gri30.yaml"])
def test_float32_errs_as_rate_constants_off_by_a_millionth(name):
    mechanism = load_mechanism(name)
    T, p, Y = tensors(*random_states(mechanism))
    net, destruction = Kinetics(mechanism)(T, p, Y)
    net32, destruction32 = Kinetics(mechanism, torch.float32)(T, p, Y)
    assert net32.dtype == destruction32.dtype == torch.float32
    turnover = net.abs() + 2 * destruction.abs()
    # Logarithms of up to 100 in float32 are off by 4e-6; below 1e-30/s is nothing.
    assert ((net32 - net).abs() <= 1e-5 * turnover + 1e-30).all()
    assert torch.allclose(destruction32.double(), destruction, rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_near_balance_what_is_left_of_a_reaction_keeps_its_digits(h2o2, dtype):
    """Equilibrium, and then 1 mK hotter: reactions are out of balance by 1e-5 of their rates or
    less, of which float32 would leave two digits, were the reverse rate taken from the forward."""
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


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """A mechanism with every kind of rate that `Kinetics` knows."""
    file = tmp_path_factory.mktemp("kinds") / "kinds.yaml"
    file.write_text(KINDS)
    return load_mechanism(str(file))


def test_every_kind_of_rate_is_cantera_s(kinds):
    assert_cantera_s(kinds, *random_states(kinds))


def test_every_kind_of_rate_matters_there(kinds):
    """None is so slow that an error in it would pass."""
    T, p, Y = random_states(kinds)
    gas, shares = kinds.solution(), []
    for state in zip(T, p, Y, strict=True):
        gas.TPY = state
        forward = np.abs(gas.forward_rates_of_progress)
        used = gas.reactant_stoich_coeffs * forward / (gas.destruction_rates[:, None] + 1e-300)
        shares.append(used.max(axis=0))
    assert np.all(np.max(shares, axis=0) > 1e-3)


def test_nothing_is_made_at_equilibrium(mechanism, path):
    gas = mechanism.solution()
    gas.TPY = path.T[-1], path.p[-1], path.Y[-1]
    gas.equilibrate("HP", rtol=1e-13)
    state = (np.array([gas.T]), np.array([gas.P]), gas.Y[None])
    net, destruction = Kinetics(mechanism)(*tensors(*state))
    some = torch.tensor(gas.Y[:, None] > 1e-12)
    assert (net[some].abs() <= 1e-8 * destruction[some]).all()  # of the equilibrium solver


def test_rates_are_the_same_scripted(kinds):
    states = tensors(*random_states(kinds, n=16))
    kinetics = Kinetics(kinds)
    for ours, theirs in zip(torch.jit.script(kinetics)(*states), kinetics(*states), strict=True):
        assert torch.equal(ours, theirs)


def test_a_pressure_table_is_refused_by_name(tmp_path):
    file = tmp_path / "tables.yaml"
    file.write_text(KINDS + PRESSURE_TABLE.replace("H2 + O <=> H2 + O", "CO2 + O <=> CO + O2"))
    with pytest.raises(ValueError, match=r"CO2 \+ O <=> CO \+ O2.*network\.kinetics=0"):
        Kinetics(load_mechanism(str(file)))

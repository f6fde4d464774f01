"""A mechanism with every type of rate, and random states of any mechanism, for tests of rates."""

import cantera as ct
import numpy as np

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
- equation: CH3 + OH (+M) <=> H2 + CO + H2 (+M)  # chemically activated; not elementary
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


def random_states(mechanism, n=200, seed=0):
    """T (n,) of 300 to 2900 K, p (n,) of 0.01 to 100 atm, Y (n, n_species), a third of it zero."""
    rng = np.random.default_rng(seed)
    T, p = rng.uniform(300.0, 2900.0, n), ct.one_atm * 10 ** rng.uniform(-2, 2, n)
    Y = rng.dirichlet(np.ones(mechanism.n_species), n) ** 3
    Y[rng.random(Y.shape) < 1 / 3] = 0.0
    Y[:, mechanism.index("N2")] += 1e-3
    return T, p, Y / Y.sum(axis=1, keepdims=True)

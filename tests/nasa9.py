"""Mechanisms with NASA-9 polynomials: one of known results, and one with all other types, too."""

from combred.chemistry.mechanism import load_mechanism

# h2o2.yaml in NASA-9 form: each polynomial of NASA-7 is one without terms in 1 / T^2 and 1 / T.
HYDROGEN = (
    load_mechanism("h2o2.yaml")
    .text.replace("model: NASA7", "model: NASA9")
    .replace("    - [", "    - [0.0, 0.0, ")
)
# A phase with NASA-9 of three regions, NASA-7 of two, and a constant heat capacity.
PHASE = """
phases:
- name: gas
  thermo: ideal-gas
  elements: [H, O, N, Ar]
  species:
  - airNASA9.yaml/species: [N2, O2, O]
  - h2o2.yaml/species: [H2, H, OH, H2O]
  - species: [AR]
  kinetics: gas
  reactions: all
species:
- name: AR
  composition: {Ar: 1}
  thermo: {model: constant-cp, h0: 10.0 J/mol, s0: 154.8 J/mol/K, cp0: 20.786 J/mol/K}
"""
MIXED = (
    PHASE
    + """
reactions:
- equation: O + H2 <=> H + OH
  rate-constant: {A: 38.7, b: 2.7, Ea: 6260.0 cal/mol}
- equation: 2 O + M <=> O2 + M
  rate-constant: {A: 1.2e+11, b: -1.0, Ea: 0.0}
"""
)

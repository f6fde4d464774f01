"""Mechanisms for tests of the generated stiff solver."""

import pytest
from nasa9 import PHASE

from combred.chemistry.mechanism import Mechanism

# No reaction changes the number of moles, and none has a third body.
EQUIMOLAR_REACTIONS = """\
units: {length: cm, quantity: mol, activation-energy: cal/mol}
reactions:
- equation: O + H2 <=> H + OH
  rate-constant: {A: 3.87e+04, b: 2.7, Ea: 6260.0}
- equation: H + O2 <=> O + OH
  rate-constant: {A: 2.65e+16, b: -0.6707, Ea: 17041.0}
- equation: OH + H2 <=> H + H2O
  rate-constant: {A: 2.16e+08, b: 1.51, Ea: 3430.0}
- equation: 2 OH <=> O + H2O
  rate-constant: {A: 3.57e+04, b: 2.4, Ea: -2110.0}
"""

# Polynomials of every type that are read, with three, two and one regions; factors that are zero.
THERMO = (
    PHASE
    + EQUIMOLAR_REACTIONS
    + """- equation: 2 O + M <=> O2 + M
  type: three-body
  rate-constant: {A: 1.2e+17, b: -1.0, Ea: 0.0}
  efficiencies: {H2: 2.4, H2O: 15.4, AR: 0.83}
- equation: H + OH + M <=> H2O + M
  type: three-body
  rate-constant: {A: 2.2e+22, b: -2.0, Ea: 0.0}
  efficiencies: {H2: 0.73, H2O: 3.65, AR: 0.38}
- equation: H + OH (+M) <=> H2O (+M)  # limits that are zero
  type: falloff
  low-P-rate-constant: {A: 0.0, b: -2.0, Ea: 0.0}
  high-P-rate-constant: {A: 2.0e+14, b: 0.1, Ea: 300.0}
- equation: H2 + O2 (+M) <=> 2 OH (+M)
  type: chemically-activated
  low-P-rate-constant: {A: 0.0, b: -2.0, Ea: 0.0}
  high-P-rate-constant: {A: 2.0e+14, b: 0.1, Ea: 300.0}
- equation: 2 H (+M) <=> H2 (+M)
  type: falloff
  low-P-rate-constant: {A: 2.0e+18, b: -2.0, Ea: 0.0}
  high-P-rate-constant: {A: 0.0, b: 0.1, Ea: 300.0}
- equation: 2 O (+M) <=> O2 (+M)
  type: linear-Burke  # an efficiency of zero; beside a rate of its own it crashes Cantera 3.2
  colliders:
  - name: M
    type: pressure-dependent-Arrhenius
    rate-constants:
    - {P: 0.1 atm, A: 1.0e+10, b: 0.3, Ea: 900.0}
    - {P: 10.0 atm, A: 1.0e+12, b: 0.0, Ea: 700.0}
  - name: N2
    efficiency: {A: 0.0, b: 0.0, Ea: 0.0}
"""
)

EQUIMOLAR = (
    """
phases:
- name: gas
  thermo: ideal-gas
  species: [{h2o2.yaml/species: [H2, H, O, O2, OH, H2O, N2]}]
  kinetics: gas
  reactions: all
"""
    + EQUIMOLAR_REACTIONS
)


@pytest.fixture(scope="session")
def every_thermo(mechanism_of) -> Mechanism:
    """A mechanism with NASA-7, NASA-9 and constant-cp species, and with factors that are zero."""
    return mechanism_of(THERMO)


@pytest.fixture(scope="session")
def equimolar(mechanism_of) -> Mechanism:
    """A mechanism whose reactions keep the number of moles."""
    return mechanism_of(EQUIMOLAR)

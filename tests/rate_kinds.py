"""Mechanisms with every type of rate, and random states of any mechanism, for tests of rates.

`KINDS` has the types that `Kinetics` evaluates; `KINDS + OTHER_KINDS` has all others, too.
"""

import re
import warnings

import cantera as ct
import numpy as np

from combred.chemistry.rate_forms import SCARCE

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


OTHER_KINDS = """\
- equation: 2 O + AR <=> O2 + AR  # an explicit collider
  rate-constant: {A: 3.0e+16, b: -0.9, Ea: 100.0}
- equation: H + OH + N2 <=> H2O + N2  # an explicit collider with an efficiency
  type: three-body
  rate-constant: {A: 2.2e+22, b: -2.0, Ea: 0.0}
  efficiencies: {N2: 1.5}
- equation: CO2 + H2 (+AR) <=> CO + H2O (+AR)  # falloff with an explicit collider; T1 is negative
  type: falloff
  low-P-rate-constant: {A: 2.62e+33, b: -4.76, Ea: 2440.0}
  high-P-rate-constant: {A: 1.39e+16, b: -0.534, Ea: 536.0}
  Troe: {A: 0.683, T3: 1.0e-30, T1: -2941.0}
- equation: CO + O2 <=> CO2 + O  # never happens
  rate-constant: {A: 0.0, b: 1.0, Ea: 100.0}
- equation: CO + OH => CO2 + H  # orders that are negative, and of a species that takes no part
  rate-constant: {A: 4.0e+10, b: 0.0, Ea: 3000.0}
  orders: {CO: 1.2, OH: -0.1, H2O: 0.5}
  nonreactant-orders: true
  negative-orders: true
- equation: O + CH4 <=> OH + CH3  # activation energy of an enthalpy of reaction near zero
  type: Blowers-Masel
  rate-constant: {A: 3.87e+04, b: 2.7, Ea0: 6260.0 cal/mol, w: 1.0e+05 cal/mol}
- equation: H2 + O2 <=> 2 OH  # an activation energy that is the enthalpy of reaction
  type: Blowers-Masel
  rate-constant: {A: 3.87e+04, b: 2.7, Ea0: 400.0 cal/mol, w: 1.0e+05 cal/mol}
- equation: OH + CO <=> CO2 + H  # an activation energy of zero
  type: Blowers-Masel
  rate-constant: {A: 3.87e+04, b: 2.7, Ea0: 4.0 cal/mol, w: 1.0e+05 cal/mol}
- equation: H + H + M <=> H2 + M  # with a third body
  type: Blowers-Masel
  rate-constant: {A: 1.0e+18, b: -1.0, Ea0: 30000.0 cal/mol, w: 1.0e+05 cal/mol}
  efficiencies: {H2O: 0.0}
- equation: C2H6 (+M) <=> CH3 + CH3 (+M)  # Tsang
  type: falloff
  low-P-rate-constant: {A: 1.0e+20, b: 0.0, Ea: 60000.0}
  high-P-rate-constant: {A: 1.0e+17, b: 0.0, Ea: 88000.0}
  Tsang: {A: 0.95, B: -2.0e-04}
- equation: H2 + O (+M) <=> H2O (+M)  # Tsang, B is zero
  type: falloff
  low-P-rate-constant: {A: 1.0e+18, b: 0.0, Ea: 6000.0}
  high-P-rate-constant: {A: 1.0e+13, b: 0.0, Ea: 8000.0}
  Tsang: {A: 0.4, B: 0.0}
- equation: O + O (+M) <=> O2 (+M)  # negative, with T2 = 0
  type: falloff
  low-P-rate-constant: {A: -1.0e+14, b: 0.0, Ea: 0.0}
  high-P-rate-constant: {A: -1.0e+12, b: 0.1, Ea: 100.0}
  Troe: {A: 0.5, T3: 100.0, T1: 1000.0, T2: 0.0}
  negative-A: true
- equation: CH3 + O2 (+M) <=> CO + H2O + H (+M)  # chemically activated, SRI
  type: chemically-activated
  low-P-rate-constant: {A: 1.0e+09, b: 0.5, Ea: 9000.0}
  high-P-rate-constant: {A: 1.0e+08, b: 0.0, Ea: 1000.0}
  SRI: {A: 0.5, B: 100.0, C: 0.0, D: 1.1, E: 0.05}
- equation: CH3 + OH <=> CO + H2 + H2  # several expressions at one pressure, one negative
  type: pressure-dependent-Arrhenius
  rate-constants:
  - {P: 10.0 atm, A: 1.0e+12, b: 0.1, Ea: 1000.0}
  - {P: 0.1 atm, A: 1.0e+10, b: 0.0, Ea: 0.0}
  - {P: 1.0 atm, A: 3.0e+11, b: 0.2, Ea: 500.0}
  - {P: 1.0 atm, A: -1.0e+11, b: 0.2, Ea: 700.0}
- equation: CH4 + H <=> CH3 + H + H  # the collider H, and one pressure
  type: pressure-dependent-Arrhenius
  rate-constants:
  - {P: 1.0 atm, A: 1.0e+15, b: 0.0, Ea: 80000.0}
- equation: CH4 + O2 <=> CO2 + 2 H2  # Chebyshev
  type: Chebyshev
  temperature-range: [290.0, 3000.0]
  pressure-range: [0.01 atm, 100.0 atm]
  data:
  - [8.2883, -1.1397, -0.12059, 0.016034]
  - [1.9764, 1.0037, 7.2865e-03, -0.030432]
  - [0.3177, 0.26889, 0.094806, -7.6385e-03]
- equation: H2O (+M) <=> H + OH (+M)  # linear-Burke: M's is a PLOG, its pressures descend
  type: linear-Burke
  colliders:
  - name: M
    type: pressure-dependent-Arrhenius
    rate-constants:
    - {P: 10.0 atm, A: 1.0e+12, b: 0.0, Ea: 7000.0}
    - {P: 0.1 atm, A: 1.0e+10, b: 0.3, Ea: 9000.0}
  - name: AR
    efficiency: {A: 0.5, b: 0.1, Ea: 100.0}
  - name: H2O
    efficiency: {A: 10.0, b: 0.0, Ea: -50.0}
    type: falloff
    low-P-rate-constant: {A: 1.0e+20, b: -1.76, Ea: 2440.0}
    high-P-rate-constant: {A: 1.39e+13, b: -0.534, Ea: 536.0}
    Troe: {A: 0.783, T3: 74.0, T1: 2941.0, T2: 6964.0}
  - name: N2
    efficiency: {A: 1.5, b: 0.05, Ea: 10.0}
    type: Chebyshev
    temperature-range: [290.0, 3000.0]
    pressure-range: [0.001 atm, 1000.0 atm]
    data:
    - [5.2, -1.1, -0.1]
    - [1.9, 1.0, 7.0e-03]
- equation: CO2 (+M) <=> CO + O (+M)  # linear-Burke: M's is a falloff, and efficiencies over M's
  type: linear-Burke
  colliders:
  - name: M
    eig0: {A: 2.0, b: 0.1, Ea: 30.0}
    type: falloff
    low-P-rate-constant: {A: 1.0e+20, b: -1.76, Ea: 2440.0}
    high-P-rate-constant: {A: 1.39e+13, b: -0.534, Ea: 536.0}
    Troe: {A: 0.783, T3: 74.0, T1: 2941.0}
  - name: O2
    eig0: {A: 3.0, b: 0.2, Ea: 100.0}
    type: pressure-dependent-Arrhenius
    rate-constants:
    - {P: 0.1 atm, A: 1.0e+10, b: 0.0, Ea: 0.0}
    - {P: 10.0 atm, A: 1.0e+12, b: 0.0, Ea: 0.0}
- equation: CH3 + CH3 (+M) <=> C2H6 (+M)  # linear-Burke: M's is a Chebyshev polynomial
  type: linear-Burke
  colliders:
  - name: M
    type: Chebyshev
    temperature-range: [290.0, 3000.0]
    pressure-range: [0.001 atm, 1000.0 atm]
    data:
    - [8.2, -1.1, -0.1]
    - [1.9, 1.0, 7.0e-03]
  - name: H2
    efficiency: {A: 2.0, b: 0.0, Ea: 0.0}
  - name: HE  # no species of the mechanism
    efficiency: {A: 3.0, b: 0.0, Ea: 0.0}
"""


def quietly(make):
    """The value of make(), without Cantera's warnings of T2 = 0 and of steps in polynomials."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def random_states(mechanism, n=200, seed=0):
    """T (n,) of 300 to 2900 K, p (n,) of 0.01 to 100 atm, Y (n, n_species), a third of it zero."""
    rng = np.random.default_rng(seed)
    T, p = rng.uniform(300.0, 2900.0, n), ct.one_atm * 10 ** rng.uniform(-2, 2, n)
    Y = rng.dirichlet(np.ones(mechanism.n_species), n) ** 3
    Y[rng.random(Y.shape) < 1 / 3] = 0.0
    Y[:, mechanism.index("N2")] += 1e-3
    return T, p, Y / Y.sum(axis=1, keepdims=True)


def scarce_factors(gas: ct.Solution) -> np.ndarray:
    """By how much combred's forward rates are smaller than Cantera's (n_reactions,): powers of
    orders below 1 go straight to zero below `SCARCE`."""
    found, c = np.ones(gas.n_reactions), gas.concentrations
    for i, reaction in enumerate(gas.reactions()):
        for name, m in reaction.orders.items():
            if m < 1:
                found[i] *= min(1.0, c[gas.species_index(name)] / SCARCE) ** (1.0 - m)
    return found


# Of creation + destruction. Exponents E / RT and g / RT of up to some hundred leave rounding errors
# of up to 1e-13 in both codes, powers of small concentrations as much; seen: 2e-13.
RELATIVE = 1e-12
# 1/s: a falloff whose only collider is absent has a rate of zero in Cantera; here its third body is
# 1e-37 of C0 at least.
LEAST = 1e-30


def assert_cantera_s(solver, truth, T, p, Y) -> None:
    """The rates of a solver are Cantera's (`truth`); net ones of inert species are zero. A net rate
    is a sum in which reactions cancel: errors are over the sum of all creation and destruction of
    the species."""
    net, destruction = solver.rates(T, p, Y)
    assert net.shape == destruction.shape == Y.shape
    reacts = ~solver.mechanism.inert
    for i in range(len(T)):
        true_net, true_destruction, size = truth.rates(T[i], p[i], Y[i])
        allowed = RELATIVE * size + LEAST
        assert np.all(np.abs(net[i] - true_net) <= allowed)
        assert np.all(np.abs(destruction[i] - true_destruction) <= allowed)
        assert not net[i, ~reacts].any()
    assert np.abs(net).max() > 1.0  # 1/s: something reacts


def in_other_case(text: str, seed: int = 0) -> str:
    """A mechanism's text whose reactions have the names of their species in random letters, small
    or capital: one spelling in each reaction."""
    rng = np.random.default_rng(seed)
    head, *entries = re.split(r"(?m)^(?=- equation)", text)
    names = set(re.findall(r"[A-Z][A-Z0-9]*", re.search(r"species: \[\{.*?\[(.*?)\]", text)[1]))
    found = [head]
    for entry in entries:
        spelled = {name: name.swapcase() if rng.random() < 0.7 else name for name in sorted(names)}
        words = "|".join(sorted(names, key=len, reverse=True))
        # The efficiency of a species, its order, a collider or a word of an equation.
        found.append(
            re.sub(rf"(?<![\w(-])({words})(?![\w-])|(?<=\(\+)({words})(?=\))",
                   lambda word, spelled=spelled: spelled[word[0]], entry)
        )  # fmt: skip
    return "".join(found)


def with_multipliers(text: str, n: int, seed: int = 0) -> tuple[str, np.ndarray]:
    """A mechanism's text with random `rate-multipliers` of its n reactions, some of them 0 and 1;
    and these."""
    rng = np.random.default_rng(seed)
    factors = np.where(rng.random(n) < 0.6, 10.0 ** rng.uniform(-2.0, 2.0, n), 1.0)
    factors[rng.random(n) < 0.15] = 0.0
    entries = ", ".join(f"{i}: {factor}" for i, factor in enumerate(factors) if factor != 1.0)
    key = f"  rate-multipliers: {{default: 1.0, {entries}}}\n"
    return text.replace("  kinetics: gas\n", "  kinetics: gas\n" + key, 1), factors

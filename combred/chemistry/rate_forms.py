"""The forms of rate constants that combred knows, as plain numbers, one class each.

`read_reactions` makes them of a mechanism; generated C++ evaluates them. Units are kmol, m3, s
and K.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

# Below this concentration [kmol/m3] c^m of an order m < 1 is c SCARCE^(m - 1): such a power has no
# bounded derivative at zero, where a species would be used up in a finite time. In a flame at 1 atm
# it is a mole fraction of 2e-11; O2 in rich burnt gas may matter at 1e-8.
SCARCE = 1e-13


@dataclass(frozen=True)
class Arrhenius:
    """k = sign exp(ln_A + b ln T - T_a / T). T_a [K]: activation temperature; sign: 1, -1 for a
    negative A, or 0 (with ln_A = 0) for A = 0, a reaction that never happens."""

    ln_A: float
    b: float
    T_a: float
    sign: float = 1.0


@dataclass(frozen=True)
class Troe:
    """F_cent = (1 - a) exp(-T / T3) + a exp(-T / T1) + exp(-T2 / T), temperatures in K (Gilbert,
    Luther & Troe, Ber. Bunsenges. Phys. Chem. 87 (1983) 169).

    As in Cantera: with T3 or T1 of 0 that exponential is 0; with T2 of 0 there is no third term.
    Negative temperatures are allowed, F_cent below 1e-300 is 1e-300.
    """

    a: float
    T3: float
    T1: float
    T2: float


@dataclass(frozen=True)
class SRI:
    """F = d T^e (a exp(-b / T) + exp(-T / c))^(1 / (1 + (log10 Pr)^2)), b and c in K, d and e 1 and
    0 where they are not given (Stewart, Larson & Golden, Combust. Flame 75 (1989) 25). As in
    Cantera, the second exponential is 0 where c is."""

    a: float
    b: float
    c: float
    d: float
    e: float


@dataclass(frozen=True)
class Tsang:
    """F_cent = a + b T, at least 1e-300, in place of that of `Troe` (Tsang & Herron, J. Phys. Chem.
    Ref. Data 20 (1991) 609). b [1/K]."""

    a: float
    b: float


@dataclass(frozen=True)
class Falloff:
    """A rate constant between its limits at low and high pressure, with the reduced pressure
    Pr = k_low [M] / k_high: k = k_high Pr / (1 + Pr) F, or, chemically activated,
    k = k_low / (1 + Pr) F. [M]: concentration of the third body; broadening: F, None for F = 1
    (Lindemann). k_low and k_high have the same sign.

    Troe's and Tsang's F, with x = log10 F_cent, C = log10 Pr - 0.4 - 0.67 x and N = 0.75 - 1.27 x:
    log10 F = x / (1 + (C / (N - 0.14 C))^2).
    """

    low: Arrhenius
    high: Arrhenius
    broadening: Troe | SRI | Tsang | None
    activated: bool


@dataclass(frozen=True)
class Plog:
    """ln k is linear in ln p between the pressures (n,) [Pa], which ascend, and constant beyond
    them. rates (n,): the expressions of each pressure, summed before the logarithm."""

    pressures: tuple[float, ...]
    rates: tuple[tuple[Arrhenius, ...], ...]


@dataclass(frozen=True, eq=False)
class Chebyshev:
    """log10 k = sum_tp coefficients[t, p] T_t(x) T_p(y) with Chebyshev polynomials T_n of the first
    kind (Venkatesh, Chang, Dean, Cohen & Carr, AIChE J. 43 (1997) 1331).

    x is linear in 1 / T, -1 at the lower end of T_range [K] and 1 at the upper one; y is linear in
    log10 p, likewise in p_range [Pa]. As in Cantera the polynomials are continued beyond the
    ranges. coefficients (n_T, n_p).
    """

    T_range: tuple[float, float]
    p_range: tuple[float, float]
    coefficients: np.ndarray


@dataclass(frozen=True)
class BlowersMasel:
    """k = sign exp(ln_A + b ln T - E / T), with the activation energy over R, E [K], from the
    enthalpy of reaction over R, H [K], at T (Blowers & Masel, AIChE J. 46 (2000) 2041):

        E = 0                                                      if H <= -4 E0
        E = H                                                      if H > 4 E0
        E = (w + H/2) (V - 2 w + H)^2 / (V^2 - 4 w^2 + H^2)        otherwise
        V = 2 w (w + E0) / (w - E0)

    E0 [K]: intrinsic activation energy over R; w [K]: mean of the energies of the bonds broken and
    formed, over R.
    """

    ln_A: float
    b: float
    E0: float
    w: float
    sign: float = 1.0


@dataclass(frozen=True)
class Collider:
    """One collider of `LinearBurke`. species: its index, None for M, which stands for all species
    that are not named; efficiency: relative to M, a number of the form of `Arrhenius`; rate: its
    own rate constant, None where it has that of M."""

    species: int | None
    efficiency: Arrhenius
    rate: Plog | Chebyshev | Falloff | None


@dataclass(frozen=True)
class LinearBurke:
    """The mixture rule that is linear in reduced pressure (LMR-R), for a rate constant that depends
    on the pressure and on the collider (Singal, Lee, Lei, Speth & Burke, Proc. Combust. Inst. 40
    (2024) 105779, "Implementation of new mixture rules has a substantial impact on combustion
    predictions for H2 and NH3"). With mole fractions X_i and efficiencies eps_i of the colliders,
    X_M that of all species without an entry of their own, and eps_M = 1:

        eps_mix = sum_i eps_i(T) X_i
        k = sum_i (eps_i X_i / eps_mix) k_i(T, p_i)
        p_i = p eps_mix / eps_i for a collider with a rate constant of its own
        p_i = p eps_mix, and k_i = k_M, for others and for M

    A `Falloff` among the k_i takes [M] = p_i / RT. colliders: M's first.
    """

    colliders: tuple[Collider, ...]

    @property
    def named(self) -> list[int]:
        """The species of the colliders but M."""
        return [c.species for c in self.colliders if c.species is not None]


Rate = Arrhenius | Falloff | Plog | Chebyshev | BlowersMasel | LinearBurke


def scaled(rate: Rate, factor: float) -> Rate:
    """The rate constant times a factor >= 0; of 0 that of a reaction that never happens."""
    if factor == 1.0:
        return rate
    if factor == 0.0:
        return Arrhenius(0.0, 0.0, 0.0, 0.0)
    if isinstance(rate, Arrhenius):
        return _scaled_arrhenius(rate, factor)
    if isinstance(rate, BlowersMasel):
        return replace(rate, ln_A=rate.ln_A + math.log(factor)) if rate.sign else rate
    if isinstance(rate, Falloff):  # of both limits, so that the reduced pressure stays
        low, high = _scaled_arrhenius(rate.low, factor), _scaled_arrhenius(rate.high, factor)
        return replace(rate, low=low, high=high)
    if isinstance(rate, Plog):
        rates = tuple(tuple(_scaled_arrhenius(one, factor) for one in row) for row in rate.rates)
        return replace(rate, rates=rates)
    if isinstance(rate, Chebyshev):
        coefficients = rate.coefficients.copy()
        coefficients[0, 0] += math.log10(factor)
        return replace(rate, coefficients=coefficients)
    return LinearBurke(tuple(_scaled_collider(one, factor) for one in rate.colliders))


def _scaled_arrhenius(rate: Arrhenius, factor: float) -> Arrhenius:
    return replace(rate, ln_A=rate.ln_A + math.log(factor)) if rate.sign else rate


def _scaled_collider(collider: Collider, factor: float) -> Collider:
    if collider.rate is None:
        return collider
    rate = scaled(collider.rate, factor)
    assert isinstance(rate, Plog | Chebyshev | Falloff)
    return replace(collider, rate=rate)

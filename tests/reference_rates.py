"""Rates of plain `Reaction`s in numpy, by the equations of `rate_forms`: what a file was read as,
without a compiler."""

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.polynomials import GAS_CONSTANT, evaluate
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


def arrhenius(k: Arrhenius, T: float) -> float:
    return k.sign * np.exp(k.ln_A + k.b * np.log(T) - k.T_a / T)


def broadening(form, T: float, Pr: float) -> float:
    if form is None or Pr == 0.0:
        return 1.0
    x = np.log10(Pr)
    if isinstance(form, SRI):
        tail = np.exp(-T / form.c) if form.c else 0.0
        return form.d * T**form.e * (form.a * np.exp(-form.b / T) + tail) ** (1.0 / (1.0 + x * x))
    if isinstance(form, Tsang):
        center = form.a + form.b * T
    else:
        assert isinstance(form, Troe)
        center = (1.0 - form.a) * (np.exp(-T / form.T3) if form.T3 else 0.0)
        center += form.a * (np.exp(-T / form.T1) if form.T1 else 0.0)
        center += np.exp(-form.T2 / T) if form.T2 else 0.0
    y = np.log10(max(center, 1e-300))
    C, N = x - 0.4 - 0.67 * y, 0.75 - 1.27 * y
    return 10.0 ** (y / (1.0 + (C / (N - 0.14 * C)) ** 2))


def falloff(rate: Falloff, T: float, M: float) -> float:
    low, high = arrhenius(rate.low, T), arrhenius(rate.high, T)
    if low == 0.0 or high == 0.0:
        return 0.0
    Pr = low * M / high
    k = (low if rate.activated else high * Pr) / (1.0 + Pr)
    return k * broadening(rate.broadening, T, Pr)


def pressure_table(rate: Plog | Chebyshev, T: float, p: float) -> float:
    if isinstance(rate, Plog):
        k = [sum(arrhenius(one, T) for one in row) for row in rate.rates]
        return float(np.exp(np.interp(np.log(p), np.log(rate.pressures), np.log(k))))
    (T0, T1), (p0, p1) = rate.T_range, np.log10(rate.p_range)
    x = (2.0 / T - 1.0 / T0 - 1.0 / T1) / (1.0 / T1 - 1.0 / T0)
    y = (2.0 * np.log10(p) - p0 - p1) / (p1 - p0)
    return 10.0 ** float(np.polynomial.chebyshev.chebval2d(x, y, rate.coefficients))


def linear_burke(rate: LinearBurke, T: float, p: float, X: np.ndarray) -> float:
    first, *others = rate.colliders
    eps = [arrhenius(one.efficiency, T) for one in others]
    shares = [X[one.species] for one in others]
    mixed = sum(e * x for e, x in zip(eps, shares, strict=True)) + 1.0 - sum(shares)

    def k(table, p_i: float) -> float:
        if isinstance(table, Falloff):
            return falloff(table, T, p_i / (GAS_CONSTANT * T))
        return pressure_table(table, T, p_i)

    total = (1.0 - sum(shares)) * k(first.rate, p * mixed)
    for one, e, x in zip(others, eps, shares, strict=True):
        own = one.rate is not None
        total += e * x * k(one.rate if own else first.rate, p * mixed / (e if own else 1.0))
    return total / mixed


def blowers_masel(rate: BlowersMasel, T: float, H: float) -> float:
    if H <= -4.0 * rate.E0:
        E = 0.0
    elif H > 4.0 * rate.E0:
        E = H
    else:
        V = 2.0 * rate.w * (rate.w + rate.E0) / (rate.w - rate.E0)
        E = (rate.w + H / 2) * (V - 2 * rate.w + H) ** 2 / (V**2 - 4 * rate.w**2 + H**2)
    return rate.sign * np.exp(rate.ln_A + rate.b * np.log(T) - E / T)


def rates_of_progress(mechanism: Mechanism, T: float, p: float, X: np.ndarray):
    """Forward and reverse rates of progress (n_reactions,) [kmol/m3/s] at T [K], p [Pa] and mole
    fractions X (n_species,), all above zero."""
    c = X * p / (GAS_CONSTANT * T)
    _, h, s = (row[0] for row in evaluate(mechanism.thermo, mechanism.T_breaks, np.array([T])))
    standard = np.log(mechanism.reference_pressure / (GAS_CONSTANT * T))
    forward, reverse = [], []
    for reaction in read_reactions(mechanism):
        rate, M = reaction.rate, 1.0
        if reaction.efficiencies is not None:
            M = float(reaction.efficiencies @ c)
        nu = np.zeros(len(X))
        for sign, side in ((1.0, reaction.products), (-1.0, reaction.reactants)):
            for k, n in side.items():
                nu[k] += sign * n
        if isinstance(rate, Falloff):
            k_f = falloff(rate, T, M)
        elif isinstance(rate, Plog | Chebyshev):
            k_f = pressure_table(rate, T, p) * M
        elif isinstance(rate, LinearBurke):
            k_f = linear_burke(rate, T, p, X) * M
        elif isinstance(rate, BlowersMasel):
            k_f = blowers_masel(rate, T, float(nu @ h) * T) * M
        else:
            k_f = arrhenius(rate, T) * M
        forward.append(k_f * np.prod([c[k] ** n for k, n in reaction.orders.items()]))
        equilibrium = np.exp(-(nu @ (h - s)) + nu.sum() * standard)
        backward = k_f / equilibrium * np.prod([c[k] ** n for k, n in reaction.products.items()])
        reverse.append(backward if reaction.reversible else 0.0)
    return np.array(forward), np.array(reverse)


# Of a rate of progress: exponents E / RT and g / RT of up to some hundred leave rounding errors of
# 1e-13 in both codes, and reaction enthalpies in Blowers-Masel rates of 1e-12.
CLOSE = 1e-10


def assert_rates_are_cantera_s(mechanism: Mechanism, gas, n: int = 5, seed: int = 0) -> None:
    """The rates of progress of a mechanism are those of a phase of Cantera, in random states."""
    rng = np.random.default_rng(seed)
    assert list(gas.species_names) == list(mechanism.species_names)
    for _ in range(n):
        T, p = rng.uniform(400.0, 2800.0), 10.0 ** rng.uniform(3.0, 7.0)
        X = rng.dirichlet(np.ones(mechanism.n_species))
        gas.TPX = T, p, X
        exact = gas.forward_rates_of_progress, gas.reverse_rates_of_progress
        for mine, theirs in zip(rates_of_progress(mechanism, T, p, gas.X), exact, strict=True):
            assert np.allclose(mine, theirs, rtol=CLOSE, atol=0.0), (mine, theirs)

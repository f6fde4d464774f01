"""Forward rate constants of every form in `rate_forms`, in numpy: the published equations as they
are, the definition that the compiled solvers are tested against.

Takes a `Mechanism`, its `Reaction`s and states; gives k in kmol, m3 and s.
"""

import cantera as ct
import numpy as np
from numpy.polynomial.chebyshev import chebvander

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.polynomials import evaluate
from combred.chemistry.rate_forms import (
    SCARCE,
    SRI,
    Arrhenius,
    BlowersMasel,
    Chebyshev,
    Falloff,
    LinearBurke,
    Plog,
    Rate,
    Troe,
    Tsang,
)
from combred.chemistry.reactions import Reaction

LEAST = 1e-300  # of a number whose logarithm is taken, as in Cantera


def forward_constants(
    mechanism: Mechanism, reactions: list[Reaction], T: np.ndarray, p: np.ndarray, X: np.ndarray
) -> np.ndarray:
    """Forward rate constants k (n, n_reactions), of falloff reactions with their dependence on the
    third body, of others without the factor [M] of a third body.

    T (n,) [K], p (n,) [Pa], X (n, n_species): mole fractions. reactions: all or some of those of
    the mechanism.
    """
    concentrations = X * (p / (ct.gas_constant * T))[:, None]
    H = T[:, None] * evaluate(mechanism.thermo, mechanism.T_breaks, T)[1]  # h/R [K]
    k = np.empty((len(T), len(reactions)))
    for j, reaction in enumerate(reactions):
        rate = reaction.rate
        if isinstance(rate, Falloff):
            k[:, j] = falloff(rate, T, concentrations @ reaction.efficiencies)
        elif isinstance(rate, BlowersMasel):
            k[:, j] = blowers_masel(rate, T, enthalpy_of_reaction(reaction, H))
        elif isinstance(rate, LinearBurke):
            k[:, j] = linear_burke(rate, T, p, X)
        else:
            k[:, j] = at_pressure(rate, T, p)
    return k


def enthalpy_of_reaction(reaction: Reaction, H: np.ndarray) -> np.ndarray:
    """The products' h less the reactants' (n,), in the units of the species' H (n, n_species)."""
    made = sum(nu * H[:, i] for i, nu in reaction.products.items())
    return made - sum(nu * H[:, i] for i, nu in reaction.reactants.items())


def at_pressure(rate: Rate, T: np.ndarray, p: np.ndarray) -> np.ndarray:
    """k (n,) of a form that depends on T (n,) [K] and at most p (n,) [Pa], or on [M] = p / RT."""
    if isinstance(rate, Plog):
        return plog(rate, T, p)
    if isinstance(rate, Chebyshev):
        return chebyshev(rate, T, p)
    if isinstance(rate, Falloff):
        return falloff(rate, T, p / (ct.gas_constant * T))
    if isinstance(rate, Arrhenius):
        return arrhenius(rate, T)
    raise ValueError(
        f"a rate of type {type(rate).__name__} depends on more than T and p: use forward_constants"
    )


def arrhenius(rate: Arrhenius, T: np.ndarray) -> np.ndarray:
    """k (n,) of `Arrhenius` at T (n,) [K]."""
    return rate.sign * np.exp(rate.ln_A + rate.b * np.log(T) - rate.T_a / T)


def falloff(rate: Falloff, T: np.ndarray, M: np.ndarray) -> np.ndarray:
    """k (n,) of `Falloff` at T (n,) [K] and the concentration M (n,) [kmol/m3] of the third
    body."""
    low, high = arrhenius(rate.low, T), arrhenius(rate.high, T)
    Pr = np.divide(low * M, high, out=np.zeros_like(T), where=high != 0.0)
    limit = low if rate.activated else high * Pr
    k = limit / (1.0 + Pr) * broadening_factor(rate.broadening, T, Pr)
    return np.where(high != 0.0, k, 0.0)  # a high-pressure limit of zero: Pr is infinite


def broadening_factor(
    broadening: Troe | SRI | Tsang | None, T: np.ndarray, Pr: np.ndarray
) -> np.ndarray:
    """F (n,) at T (n,) [K] and the reduced pressures Pr (n,)."""
    log_Pr = np.log10(np.maximum(Pr, LEAST))
    if broadening is None:
        return np.ones_like(T)
    if isinstance(broadening, SRI):
        a, b, c, d, e = broadening.a, broadening.b, broadening.c, broadening.d, broadening.e
        bracket = a * np.exp(-b / T) + _exp_of(T, c)
        return d * T**e * bracket ** (1.0 / (1.0 + log_Pr**2))
    x = np.log10(np.maximum(center(broadening, T), LEAST))
    C, N = log_Pr - 0.4 - 0.67 * x, 0.75 - 1.27 * x
    return 10.0 ** (x / (1.0 + (C / (N - 0.14 * C)) ** 2))


def center(broadening: Troe | Tsang, T: np.ndarray) -> np.ndarray:
    """F_cent (n,) at T (n,) [K]."""
    if isinstance(broadening, Tsang):
        return broadening.a + broadening.b * T
    a, T2 = broadening.a, broadening.T2
    F = (1.0 - a) * _exp_of(T, broadening.T3) + a * _exp_of(T, broadening.T1)
    return F + np.exp(-T2 / T) if T2 else F


def _exp_of(T: np.ndarray, scale: float) -> np.ndarray:
    """exp(-T / scale), 0 where the scale is."""
    return np.exp(-T / scale) if scale else np.zeros_like(T)


def plog(rate: Plog, T: np.ndarray, p: np.ndarray) -> np.ndarray:
    """k (n,) of `Plog` at T (n,) [K] and p (n,) [Pa]; NaN where a sum of rates is negative."""
    ln_k = np.log([LEAST + sum(arrhenius(one, T) for one in at) for at in rate.rates])
    ln_p, levels, states = np.log(p), np.log(rate.pressures), np.arange(len(T))
    above = np.searchsorted(levels, ln_p).clip(1, len(levels) - 1)  # 0 where there is one level
    below = np.maximum(above - 1, 0)
    width = np.where(above > below, levels[above] - levels[below], 1.0)
    share = ((ln_p - levels[below]) / width).clip(0.0, 1.0)
    low, high = ln_k[below, states], ln_k[above, states]
    return np.exp(low + (high - low) * share)


def chebyshev(rate: Chebyshev, T: np.ndarray, p: np.ndarray) -> np.ndarray:
    """k (n,) of `Chebyshev` at T (n,) [K] and p (n,) [Pa]."""
    a = rate.coefficients
    x = _reduced(1.0 / T, *(1.0 / np.array(rate.T_range)))
    y = _reduced(np.log10(p), *np.log10(rate.p_range))
    of_x, of_y = chebvander(x, a.shape[0] - 1), chebvander(y, a.shape[1] - 1)
    return 10.0 ** np.einsum("st,tp,sp->s", of_x, a, of_y)


def _reduced(value: np.ndarray, low: float, high: float) -> np.ndarray:
    """The value mapped linearly, low to -1 and high to 1."""
    return (2.0 * value - low - high) / (high - low)


def blowers_masel(rate: BlowersMasel, T: np.ndarray, H: np.ndarray) -> np.ndarray:
    """k (n,) of `BlowersMasel` at T (n,) [K] and the enthalpies of reaction over R, H (n,) [K]."""
    E0, w = rate.E0, rate.w
    V = 2.0 * w * (w + E0) / (w - E0)
    E = (w + H / 2.0) * (V - 2.0 * w + H) ** 2 / (V**2 - 4.0 * w**2 + H**2)
    E = np.where(H <= -4.0 * E0, 0.0, np.where(H > 4.0 * E0, H, E))
    return rate.sign * np.exp(rate.ln_A + rate.b * np.log(T) - E / T)


def linear_burke(rate: LinearBurke, T: np.ndarray, p: np.ndarray, X: np.ndarray) -> np.ndarray:
    """k (n,) of `LinearBurke` at T (n,) [K], p (n,) [Pa] and mole fractions X (n, n_species)."""
    of_M, *others = rate.colliders
    named = [one.species for one in others]
    shares = [X.sum(axis=1) - X[:, named].sum(axis=1)]
    shares += [arrhenius(one.efficiency, T) * X[:, one.species] for one in others]
    mixture = sum(shares)  # eps_mix
    k = np.zeros_like(T)
    for one, share in zip(rate.colliders, shares, strict=True):
        if one.efficiency.sign == 0.0:
            continue
        own = arrhenius(one.efficiency, T) if one.rate is not None else 1.0
        k_i = at_pressure(one.rate or of_M.rate, T, p * mixture / own)
        k += share / mixture * k_i
    return k


def scarce_factors(gas: ct.Solution) -> np.ndarray:
    """By how much combred's forward rates are smaller than Cantera's (n_reactions,): powers of
    orders below 1 go straight to zero below `SCARCE`."""
    found, c = np.ones(gas.n_reactions), gas.concentrations
    for i, reaction in enumerate(gas.reactions()):
        for name, m in reaction.orders.items():
            if m < 1:
                found[i] *= min(1.0, c[gas.species_index(name)] / SCARCE) ** (1.0 - m)
    return found

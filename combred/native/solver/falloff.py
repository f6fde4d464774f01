"""Falloff and chemically activated rate constants as C++: calls of `falloff` of
source/solver/rates.hpp."""

import numpy as np

from combred.chemistry.rate_forms import SRI, Falloff, Troe, Tsang
from combred.native.solver.arrhenius import arrhenius, slope
from combred.native.solver.terms import LOG2_C0, LOG2_E, LOG2_T0, real, total

# Largest exponents [1/K, K] in a broadening factor. Mechanisms have 1e30 for "never", where the
# rounding error of a product with T is far beyond the range of exp2.
MOST_PER_T, MOST_T = 1e3, 1e6


def falloff(rate: Falloff, order: float, log2_M: str) -> tuple[list[str], str]:
    """Statements, and the expression of the `Falloff` of rates.hpp with the names that they set."""
    low, high, limit = rate.low, rate.high, arrhenius(rate.high, order)
    if rate.activated:
        limit += f" + (log2_ratio - {real(LOG2_C0)})"
    setup, F = _broadening(rate.broadening)
    lines = [
        f"const V log2_ratio = {arrhenius(low, 1.0, high)}, of_ratio = {slope(low, high)};",
        f"const V log2_Pr = log2_ratio + {log2_M}, log2_limit = {limit};",
        f"const V of_limit = {slope(low if rate.activated else high)};",
        *setup,
    ]
    kind = str(rate.activated).lower()
    return lines, f"falloff<R, {kind}>(log2_limit, log2_Pr, of_limit, of_ratio, {F})"


def _broadening(kind: Troe | SRI | Tsang | None) -> tuple[list[str], str]:
    """Statements, and the expression of the `Broadening` with the names that they set."""
    if kind is None:
        return [], "Broadening<R>{V{}, V{}, V{}}"
    if isinstance(kind, Tsang):
        of_T = f"{real(kind.b)} * g.T"
        return [], f"troe<R>({of_T} + {real(kind.a)}, {of_T}, log2_Pr)"
    if isinstance(kind, SRI):
        terms = [(kind.a, -kind.b, "per_T")] + ([(1.0, -1.0 / kind.c, "T")] if kind.c else [])
    else:
        terms = _troe(kind)
    setup, center, rise = [], [], []
    for i, (share, exponent, of) in enumerate(terms):
        bounded, sign = _bounded(exponent, of), 1.0 if of == "T" else -1.0
        setup.append(f"const V c{i} = exp2(V({real(bounded * LOG2_E)} * g.{of}));")
        center.append((share, f"c{i}"))
        rise.append((share * sign * bounded, f"g.{of} * c{i}"))
    numbers = f"{total(center, least=0.0)}, {total(rise)}, log2_Pr"
    if isinstance(kind, SRI):
        log2_d = real(np.log2(kind.d) + kind.e * LOG2_T0)
        return setup, f"sri<R>(g, {log2_d}, {kind.e!r}, {numbers})"
    return setup, f"troe<R>({numbers})"


def _troe(kind: Troe) -> list[tuple[float, float, str]]:
    """The terms of F_cent: share, exponent, and what multiplies it."""
    shares = (1.0 - kind.a, kind.T3), (kind.a, kind.T1)
    terms = [(share, -1.0 / T, "T") for share, T in shares if T != 0.0]
    return terms + ([(1.0, -kind.T2, "per_T")] if abs(kind.T2) > 0.0 else [])


def _bounded(exponent: float, of: str) -> float:
    most = MOST_PER_T if of == "T" else MOST_T
    return max(-most, min(exponent, most))


def center_terms(kind: object) -> list[float]:
    """F_cent of Troe as w0 2^(e0 T) + w1 2^(e1 T) + w2 2^(e2 / T): the w, then the e; else 1."""
    if not isinstance(kind, Troe):
        return [1.0, *[0.0] * 5]
    found = _troe(kind)
    of_T = [one for one in found if one[2] == "T"]
    filled = of_T + [(0.0, 0.0, "T")] * (2 - len(of_T))
    filled += [one for one in found if one[2] != "T"] or [(0.0, 0.0, "per_T")]
    exponents = [_bounded(exponent, of) * LOG2_E for _, exponent, of in filled]
    return [*(share for share, _, _ in filled), *exponents]

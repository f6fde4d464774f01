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
    low, high, activated = rate.low, rate.high, str(rate.activated).lower()
    to_low = f" + (log2_ratio - {real(LOG2_C0)})" if rate.activated else ""
    setup, form = _broadening(rate.broadening)
    lines = [
        f"const V log2_ratio = {arrhenius(low, 1.0, high)}, of_ratio = {slope(low, high)};",
        f"const V log2_limit = {arrhenius(high, order)}{to_low};",
        f"const V of_limit = {slope(low if rate.activated else high)};",
        *setup,
    ]
    given = f"log2_limit, log2_ratio, {log2_M}, of_limit, of_ratio, {form}"
    return lines, f"falloff<R, {activated}>({given})"


def _broadening(kind: Troe | SRI | Tsang | None) -> tuple[list[str], str]:
    """Statements, and the form of the broadening factor with the names that they set."""
    if kind is None:
        return [], "Lindemann<R>{}"
    if isinstance(kind, Tsang):
        of_T = f"{real(kind.b)} * g.T"
        return [], f"Troe<R>{{V({of_T} + {real(kind.a)}), V({of_T})}}"
    if isinstance(kind, SRI):
        terms = [(kind.a, -kind.b, "per_T")] + ([(1.0, -1.0 / kind.c, "T")] if kind.c else [])
    else:
        terms = [
            (share, -1.0 / T, "T")
            for share, T in ((1.0 - kind.a, kind.T3), (kind.a, kind.T1))
            if T != 0.0
        ]
        terms += [(1.0, -kind.T2, "per_T")] if abs(kind.T2) > 0.0 else []
    setup, center, rise = [], [], []
    for i, (share, exponent, of) in enumerate(terms):
        most, sign = (MOST_PER_T, 1.0) if of == "T" else (MOST_T, -1.0)
        bounded = max(-most, min(exponent, most))
        setup.append(f"const V c{i} = exp2(V({real(bounded * LOG2_E)} * g.{of}));")
        center.append((share, f"c{i}"))
        rise.append((share * sign * bounded, f"g.{of} * c{i}"))
    numbers = f"V({total(center)}), V({total(rise)})"
    if isinstance(kind, SRI):
        log2_d = real(np.log2(kind.d) + kind.e * LOG2_T0)
        return setup, f"Sri<R>{{{numbers}, g.log2_T, {log2_d}, {kind.e!r}}}"
    return setup, f"Troe<R>{{{numbers}}}"

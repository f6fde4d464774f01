"""Falloff and chemically activated rate constants as C++: statements that set `rate`, `d`, `r` and
`of_M`, as `combred.native.solver.rate_constants` has them."""

import numpy as np

from combred.chemistry.rate_forms import SRI, Falloff, Troe, Tsang
from combred.native.solver.arrhenius import arrhenius, slope
from combred.native.solver.terms import LOG2_C0, LOG2_E, LOG2_T0, UNUSED, real, total

# Largest exponents [1/K, K] in a broadening factor. Mechanisms have 1e30 for "never", where the
# rounding error of a product with T is far beyond the range of exp2.
MOST_PER_T, MOST_T = 1e3, 1e6


def falloff(rate: Falloff, order: float, log2_M: str) -> list[str]:
    """Statements that set `rate`, `d`, `r`, by which exp2(rate) is multiplied, and `of_M`, the
    derivative of ln k by ln [M]."""
    low, high = rate.low, rate.high
    ratio = arrhenius(low, 1.0, high)
    lines = [
        f"V rate = {arrhenius(high, order)};",
        f"const V low_over_high = {ratio};",
        f"const V Pr = low_over_high + {log2_M};",
        "const V z = exp2(V(-absolute(Pr))), r = reciprocal(V(R(1) + z));",
        "const Mask<R> more = Pr > V{};",
        "V slope = V{}, of_T = V{};",
        *_broadening(rate.broadening),
    ]
    if rate.activated:
        lines += [
            f"rate = rate + (low_over_high - {real(LOG2_C0)}) - at_least(Pr, 0.0) + log2_F;",
            "const V of_M = slope - r * select(more, all_of<R>(1.0), z);",
            f"{UNUSED} const V d = {slope(low)} + of_T + of_M * ({slope(low, high)});",
        ]
    else:
        lines += [
            "rate = rate + at_most(Pr, 0.0) + log2_F;",
            "const V of_M = slope + r * select(more, z, all_of<R>(1.0));",
            f"{UNUSED} const V d = {slope(high)} + of_T + of_M * ({slope(low, high)});",
        ]
    return lines


def _broadening(kind: Troe | SRI | Tsang | None) -> list[str]:
    """Statements that set log2_F of the broadening factor, `slope` and `of_T`."""
    if kind is None:
        return ["const V log2_F = V{};"]
    if isinstance(kind, Tsang):
        return [
            f"of_T = {real(kind.b)} * g.T;",
            f"const V log2_F = troe<R, D>(V(of_T + {real(kind.a)}), Pr, slope, of_T);",
        ]
    if isinstance(kind, SRI):
        terms = [(kind.a, -kind.b, "per_T")] + ([(1.0, -1.0 / kind.c, "T")] if kind.c else [])
    else:
        terms = [
            (share, -1.0 / T, "T")
            for share, T in ((1.0 - kind.a, kind.T3), (kind.a, kind.T1))
            if T != 0.0
        ]
        terms += [(1.0, -kind.T2, "per_T")] if abs(kind.T2) > 0.0 else []
    lines, center, rise = [], [], []
    for i, (share, exponent, of) in enumerate(terms):
        most = MOST_PER_T if of == "T" else MOST_T
        bounded = max(-most, min(exponent, most))
        lines.append(f"const V c{i} = exp2(V({real(bounded * LOG2_E)} * g.{of}));")
        center.append((share, f"c{i}"))
        sign = 1.0 if of == "T" else -1.0
        rise.append((share * sign * bounded, f"g.{of} * c{i}"))
    lines += [f"of_T = {total(rise)};", f"const V center = {total(center)};"]
    if isinstance(kind, SRI):
        log2_d = real(np.log2(kind.d) + kind.e * LOG2_T0)
        given = f"g, center, {log2_d}, {kind.e!r}, Pr, slope, of_T"
        return [*lines, f"const V log2_F = sri<R, D>({given});"]
    return [*lines, "const V log2_F = troe<R, D>(center, Pr, slope, of_T);"]


def near_falloff(lines: list[str], place: int, body: int | None) -> list[str]:
    """The statements of a reaction with a falloff, from those of its rate constant and what
    follows: at a stage in floats its logarithm is linear in those of T and [M], about the beginning
    of the step.

    place: of the falloff in Progress::falloff; body: its set of colliders.
    """
    end = next(i for i, line in enumerate(lines) if line.startswith("const V kf"))
    own = [line.replace(", r = ", "; r = ").removeprefix(f"{UNUSED} ") for line in lines[:end]]
    for declared in ("V rate =", "const V d =", "const V of_M ="):
        own = [line.replace(declared, declared.split("V ")[1], 1) for line in own]
    kept = " ".join(
        f"q.falloff[{place}][{i}] = {name};" for i, name in enumerate(("rate", "r", "d", "of_M"))
    )
    return [
        "V rate, r, d, of_M;",
        "if constexpr (STAGE<R, D>) {",
        f"  const V *of = q.falloff[{place}];",
        f"  rate = of[0] + of[2] * g.moved_T + of[3] * g.moved_M[{body}]; r = of[1];",
        "} else {",
        *(f"  {line}" for line in own),
        f"  if constexpr (D && !Matrix<R>::EXACT) {{ {kept} }}",
        "}",
        *lines[end:],
    ]

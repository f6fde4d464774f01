"""The rate constants of a mechanism as C++: statements for every type of rate.

Takes a rate of `combred.chemistry.rate_forms`; gives statements that set `rate`, log2 of the
forward rate constant for concentrations over C0, and `d`, its d ln k / d ln T; those of a falloff
also `r` and `of_M`. The names that they use are those of source/solver/rates.hpp.
"""

from dataclasses import dataclass, field

import cantera as ct
import numpy as np

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
from combred.native.solver.layout import Terms
from combred.native.solver.terms import LOG2_10, LOG2_C0, LOG2_E, LOG2_T0, real, total

# Largest exponents [1/K, K] in a broadening factor. Mechanisms have 1e30 for "never", where the
# rounding error of a product with T is far beyond the range of exp2.
MOST_PER_T, MOST_T = 1e3, 1e6
POWERS = {
    0.0: "",
    1.0: " * g.T",
    2.0: " * g.T * g.T",
    -1.0: " * g.per_T",
    -2.0: " * g.per_T * g.per_T",
}
MOST_LOG2_A = 90.0  # of A T^b that stays in the range of float
OF_C = "const V of_C = of_p * reciprocal(g.C);"  # p is proportional to C T
LOG2_RC0 = float(np.log2(ct.gas_constant)) + LOG2_C0  # of p [Pa] over g.p


@dataclass
class Pressures:
    """The tables of pressures of a mechanism, each once: `grids` and their first place in g.hat."""

    grids: dict[tuple[float, ...], int] = field(default_factory=dict)
    size: int = 0

    def place(self, grid: tuple[float, ...]) -> int:
        """The first place of the weights of a grid."""
        if grid not in self.grids:
            self.grids[grid] = self.size
            self.size += len(grid)
        return self.grids[grid]

    def text(self) -> str:
        """The function `set_pressures`."""
        lines = []
        if self.grids:
            lines = [f"const V log2_p = log2(g.p) + {real(LOG2_RC0)};"]
        for grid, first in self.grids.items():
            lines += ["{", *(f"  {line}" for line in hats(grid, "log2_p"))]
            for i in range(len(grid)):
                lines.append(f"  g.hat[{first + i}] = hat{i}; g.hat_slope[{first + i}] = slope{i};")
            lines.append("}")
        body = "".join(f"  {line}\n" for line in ["typedef Vector<R> V;", *lines, "(void)g;"])
        return (
            "// Weights of the pressures of tables: ln k is linear between them.\n"
            f"template <class R> INLINE void set_pressures(Gas<R> &g) {{\n{body}}}\n"
        )


def hats(grid: tuple[float, ...], log2_p: str) -> list[str]:
    """Statements that set hat0, hat1, ... of a grid of pressures, whose sum is 1, and slope0,
    slope1, ..., their derivatives by log2 p."""
    at = np.log2(grid)
    lines = []
    for i in range(len(grid) - 1):
        per = real(1.0 / (at[i + 1] - at[i]))
        lines += [
            f"const V at{i} = ({log2_p} - {real(at[i])}) * {per};",
            f"const V up{i} = at_most(at_least(at{i}, 0.0), 1.0);",
            f"const V rise{i} = select(up{i} == at{i}, all_of<R>({per}), V{{}});",
        ]
    for i in range(len(grid)):
        before, rise = (f"up{i - 1}", f"rise{i - 1}") if i > 0 else ("all_of<R>(1.0)", "V{}")
        last = i + 1 == len(grid)
        lines.append(f"const V hat{i} = {before}{'' if last else f' - up{i}'};")
        lines.append(f"const V slope{i} = {rise}{'' if last else f' - rise{i}'};")
    return lines


def arrhenius(rate: Arrhenius, order: float = 0.0, over: Arrhenius | None = None) -> str:
    """log2 of a rate constant, over another one if there is one; order: power of C0 in its unit."""
    ln_A, b, T_a = rate.ln_A, rate.b, rate.T_a
    if over is not None:
        ln_A, b, T_a = ln_A - over.ln_A, b - over.b, T_a - over.T_a
    first = real(ln_A * LOG2_E + b * LOG2_T0 + order * LOG2_C0)
    return total([(1.0, f"all_of<R>({first})"), (b, "g.log2_T"), (-T_a * LOG2_E, "g.per_T")])


def power_of_T(term: Terms) -> str:
    """The forward rate constant A T^b of a small whole b and no activation temperature, which needs no
    exponential; empty for others."""
    rate = term.reaction.rate
    if not isinstance(rate, Arrhenius) or rate.T_a != 0.0 or rate.b not in POWERS:
        return ""
    log2_A = rate.ln_A * LOG2_E + term.order * LOG2_C0
    return f"all_of<R>({real(2.0**log2_A)}){POWERS[rate.b]}" if abs(log2_A) < MOST_LOG2_A else ""


def slope(rate: Arrhenius, over: Arrhenius | None = None) -> str:
    """d ln k / d ln T."""
    b, T_a = rate.b, rate.T_a
    if over is not None:
        b, T_a = b - over.b, T_a - over.T_a
    return total([(1.0, f"all_of<R>({real(b)})"), (T_a, "g.per_T")])


def rate_constant(term: Terms, pressures: Pressures, species: list[int]) -> list[str]:
    """The statements of a reaction's rate constant; species: their order of elimination."""
    rate, order = term.reaction.rate, term.order
    if isinstance(rate, Arrhenius):
        return [f"V rate = {arrhenius(rate, order)};", f"const V d = {slope(rate)};"]
    if isinstance(rate, Falloff):
        return _falloff(rate, order, f"g.log2_M[{term.body}]")
    if isinstance(rate, Plog):
        first = pressures.place(rate.pressures)
        places = [f"[{first + i}]" for i in range(len(rate.pressures))]
        lines = plog(
            rate, [f"g.hat{i}" for i in places], [f"g.hat_slope{i}" for i in places], order
        )
        return ["V rate, d, of_p;", *lines, OF_C]
    if isinstance(rate, Chebyshev):
        lines = _chebyshev(rate, f"(log2(g.p) + {real(LOG2_RC0)})", order)
        return ["V rate, d, of_p;", *lines, OF_C]
    if isinstance(rate, BlowersMasel):
        H = total([(nu, f"g.h[{k}]") for k, nu in term.net.items()])
        first = real(rate.ln_A * LOG2_E + rate.b * LOG2_T0 + order * LOG2_C0)
        of_H = total([(nu, f"g.cp[{k}]") for k, nu in term.net.items()])
        return [
            "V of_H;",
            f"const V E = blowers_masel<R>({rate.E0!r}, {rate.w!r}, V({H}), of_H) * g.per_T;",
            f"V rate = {first} + {real(rate.b)} * g.log2_T - {real(LOG2_E)} * E;",
            f"const V d = {real(rate.b)} + E - of_H * ({of_H});",
        ]
    return _linear_burke(rate, order, collider_places(rate, species))


def collider_places(rate: LinearBurke, species: list[int]) -> list[int]:
    """The colliders but M in the order of elimination of the species."""
    return [species.index(c.species) for c in rate.colliders[1:]]


def plog(rate: Plog, weights: list[str], slopes: list[str], order: float) -> list[str]:
    """Statements that set `rate`, `d` and `of_p`, d ln k / d ln p, from the weights of the
    pressures and their derivatives by log2 p."""
    lines = ["rate = d = of_p = V{};"]
    for weight, slope_of, given in zip(weights, slopes, rate.rates, strict=True):
        expressions = [one for one in given if one.sign != 0.0] or given[:1]
        lines.append("{")
        if len(expressions) == 1:
            lines += [
                f"  const V log2_k = {arrhenius(expressions[0], order)};",
                f"  d = d + {weight} * ({slope(expressions[0])});",
            ]
        else:
            # Over the largest: the sum of exponentials stays in the range of float.
            logs = [f"x{i}" for i in range(len(expressions))]
            lines += [
                f"  const V {x} = {arrhenius(e, order)};"
                for x, e in zip(logs, expressions, strict=True)
            ]
            lines.append("  V most = x0;")
            lines += [f"  most = at_least({x}, most);" for x in logs[1:]]
            lines.append("  V sum = V{}, rise = V{}, k;")
            for x, e in zip(logs, expressions, strict=True):
                lines.append(f"  k = {'-' * (e.sign < 0)}exp2(V({x} - most)); sum = sum + k;")
                lines.append(f"  rise = rise + k * ({slope(e)});")
            lines += [
                "  const V log2_k = most + log2(at_least(sum, LEAST));",
                f"  d = d + {weight} * rise * reciprocal(at_least(sum, LEAST));",
            ]
        lines += [
            f"  rate = rate + {weight} * log2_k;",
            f"  if (D) of_p = of_p + {slope_of} * log2_k;",
            "}",
        ]
    return lines


def _chebyshev(rate: Chebyshev, log2_p: str, order: float) -> list[str]:
    """Statements that set `rate`, `d` and `of_p`, from the polynomials in 1 / T and log p."""
    low, high = rate.T_range
    width = 1.0 / high - 1.0 / low
    p_low, p_high = np.log2(rate.p_range)
    lines = [
        f"const V x = {real(2.0 / width)} * g.per_T - {real((1.0 / low + 1.0 / high) / width)};",
        f"const V y = ({log2_p} * R(2) - {real(p_low + p_high)}) * {real(1.0 / (p_high - p_low))};",
    ]
    n_T, n_p = rate.coefficients.shape
    lines += _polynomials("y", "p", n_p) + _polynomials("x", "t", n_T)
    lines += _slopes("x", "U", n_T) + _slopes("y", "W", n_p)  # d T_n / dx = n U_{n-1}
    rows = [
        total([(float(c) * LOG2_10, f"p{j}") for j, c in enumerate(row)])
        for row in rate.coefficients
    ]
    lines += [f"const V c{i} = {row};" for i, row in enumerate(rows)]
    value = total([(1.0, f"c{i} * t{i}") for i in range(n_T)])
    rise = total([(float(i), f"c{i} * U{i - 1}") for i in range(1, n_T)])
    terms = [
        (float(c) * j, f"t{i} * W{j - 1}")
        for i, row in enumerate(rate.coefficients)
        for j, c in enumerate(row.tolist())
    ]
    return [
        *lines,
        f"rate = {value} + {real(order * LOG2_C0)};",
        f"d = ({rise}) * ({real(-2.0 / width / LOG2_E)} * g.per_T);",
        f"of_p = ({total(terms)}) * {real(2.0 * LOG2_10 / (p_high - p_low))};",
    ]


def _slopes(x: str, name: str, n: int) -> list[str]:
    """Chebyshev polynomials of the second kind."""
    first = [f"const V {name}0 = all_of<R>(1.0), {name}1 = R(2) * {x};"]
    return first + [
        f"const V {name}{i} = R(2) * {x} * {name}{i - 1} - {name}{i - 2};" for i in range(2, n)
    ]


def _polynomials(x: str, name: str, n: int) -> list[str]:
    first = [f"const V {name}0 = all_of<R>(1.0);", f"const V {name}1 = {x};"]
    rest = [f"const V {name}{i} = R(2) * {x} * {name}{i - 1} - {name}{i - 2};" for i in range(2, n)]
    return [*first, *rest]


def _falloff(rate: Falloff, order: float, log2_M: str) -> list[str]:
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
            f"const V d = {slope(low)} + of_T + of_M * ({slope(low, high)});",
        ]
    else:
        lines += [
            "rate = rate + at_most(Pr, 0.0) + log2_F;",
            "const V of_M = slope + r * select(more, z, all_of<R>(1.0));",
            f"const V d = {slope(high)} + of_T + of_M * ({slope(low, high)});",
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


def _linear_burke(rate: LinearBurke, order: float, places: list[int]) -> list[str]:
    """Statements that set `rate`, `d` and its parts by concentrations, with p_i proportional to
    T MIX / eps_i and shares eps_i c_i / MIX, MIX = sum_i eps_i c_i: `of_p`, the part of p; `of_C`,
    d ln k / dc of a species without a name; `of_0`, `of_1`, ... what it is more for the colliders
    at `places`, in the order of elimination, all but M."""
    named = total([(-1.0, f"g.c[{k}]") for k in places])
    lines = ["V rate, d, of_p;", "const V per_C = reciprocal(g.C), log2_p = log2(g.p);"]
    lines.append(f"const V X_M = R(1) + ({named}) * per_C;")
    all_own = list(enumerate(zip(rate.colliders[1:], places, strict=True)))
    own = [(i, c, k) for i, (c, k) in all_own if c.efficiency.sign]
    for i, c, k in own:
        lines.append(f"const V e{i} = {arrhenius(c.efficiency)}, eps{i} = exp2(e{i});")
        lines.append(f"const V de{i} = {slope(c.efficiency)}, w{i} = eps{i} * g.c[{k}] * per_C;")
    mix = total([(1.0, "X_M"), *((1.0, f"w{i}") for i, _, _ in own)])
    as_M = [(1.0, f"w{i}") for i, c, _ in own if c.rate is None]
    lines += [
        f"const V mix = at_least(V({mix}), LEAST);",
        "const V log2_mix = log2(mix), per_mix = reciprocal(mix);",
        f"const V m = ({total([(1.0, f'w{i} * de{i}') for i, _, _ in own])}) * per_mix;",
        *_of_collider(rate.colliders[0].rate, "log2_mix", order),
        "const V log2_k = rate;",
        f"V share = ({total([(1.0, 'X_M'), *as_M])}) * per_mix;",
        "V more = share, rise = share * (d + of_p * m - m), sum_p = share * of_p;",
    ]
    for i, c, _ in own:
        if c.rate is None:
            lines.append(f"rise = rise + w{i} * per_mix * de{i};")
            continue
        lines += [
            *_of_collider(c.rate, f"(log2_mix - e{i})", order),
            f"const V k{i} = exp2(V(rate - log2_k));",
            f"share = w{i} * per_mix * k{i};",
            "more = more + share; sum_p = sum_p + share * of_p;",
            f"rise = rise + share * (d + (de{i} - m) * (R(1) - of_p));",
        ]
    lines += [
        "more = at_least(more, LEAST);",
        "const V per_more = reciprocal(more), scale = per_more * per_mix * per_C;",
        "rate = log2_k + log2(more); d = rise * per_more; of_p = sum_p * per_more;",
        "const V of_C = (R(1) - more + sum_p) * scale;",
    ]
    for i, (c, _) in all_own:
        found = "V{} - of_C"
        if c.efficiency.sign:
            k = "R(1)" if c.rate is None else f"k{i}"
            found = f"eps{i} * ({k} - more + sum_p) * scale - of_C"
        lines.append(f"const V of_{i} = {found};")
    return lines


def _of_collider(rate: Plog | Chebyshev | Falloff | None, log2_share: str, order: float) -> list:
    """Statements that set `rate`, `d` and `of_p` of one collider, at the pressure
    g.p 2^log2_share."""
    log2_p = f"(log2_p + {log2_share} + {real(LOG2_RC0)})"
    if isinstance(rate, Plog):
        places = range(len(rate.pressures))
        found = [*hats(rate.pressures, log2_p)]
        found += plog(rate, [f"hat{i}" for i in places], [f"slope{i}" for i in places], order)
    elif isinstance(rate, Chebyshev):
        found = _chebyshev(rate, log2_p, order)
    elif isinstance(rate, Falloff):
        lines = _falloff(rate, order, f"(log2_p + {log2_share} + log2(g.per_T))")
        found = [
            *(line.replace("V rate =", "V log2_rate =", 1) for line in lines),
            "rate = log2_rate + log2(r);",
            "d = own_d - of_M; of_p = of_M;",  # [M] = p_i / RT
        ]
        found = [line.replace("const V d =", "const V own_d =") for line in found]
        found = [line.replace("rate = rate +", "log2_rate = log2_rate +") for line in found]
    else:
        raise ValueError("the first collider of a linear-Burke rate has no rate of its own")
    return ["{", *(f"  {line}" for line in found), "}"]

"""The rate constants of a mechanism as C++: statements for every type of rate.

Takes a rate of `combred.chemistry.rate_forms`; gives statements that set `rate`, log2 of the
forward rate constant for concentrations over C0, and `d`, its d ln k / d ln T; those of a falloff
also `r` and `of_M`. The names that they use are those of source/solver/rates.hpp.
"""

from combred.chemistry.rate_forms import (
    Arrhenius,
    BlowersMasel,
    Chebyshev,
    Falloff,
    LinearBurke,
    Plog,
)
from combred.native.solver.arrhenius import arrhenius, slope
from combred.native.solver.falloff import falloff
from combred.native.solver.layout import Terms
from combred.native.solver.pressure_tables import LOG2_RC0, Pressures, chebyshev, hats, plog
from combred.native.solver.terms import LOG2_C0, LOG2_E, LOG2_T0, UNUSED, real, total

OF_C = "const V of_C = of_p * reciprocal(g.C);"  # p is proportional to C T


def rate_constant(term: Terms, pressures: Pressures, species: list[int]) -> list[str]:
    """The statements of a reaction's rate constant; species: their order of elimination."""
    rate, order = term.reaction.rate, term.order
    if isinstance(rate, Arrhenius):
        return [f"V rate = {arrhenius(rate, order)};", f"{UNUSED} const V d = {slope(rate)};"]
    if isinstance(rate, Falloff):
        return falloff(rate, order, f"g.log2_M[{term.body}]")
    if isinstance(rate, Plog):
        first = pressures.place(rate.pressures)
        places = [f"[{first + i}]" for i in range(len(rate.pressures))]
        lines = plog(
            rate, [f"g.hat{i}" for i in places], [f"g.hat_slope{i}" for i in places], order
        )
        return ["V rate, d, of_p;", *lines, OF_C]
    if isinstance(rate, Chebyshev):
        lines = chebyshev(rate, f"(log2(g.p) + {real(LOG2_RC0)})", order)
        return ["V rate, d, of_p;", *lines, OF_C]
    if isinstance(rate, BlowersMasel):
        H = total([(nu, f"g.h[{k}]") for k, nu in term.net.items()])
        constant = real(rate.ln_A * LOG2_E + rate.b * LOG2_T0 + order * LOG2_C0)
        of_H = total([(nu, f"g.cp[{k}]") for k, nu in term.net.items()])
        return [
            "V of_H;",
            f"const V E = blowers_masel<R>({rate.E0!r}, {rate.w!r}, V({H}), of_H) * g.per_T;",
            f"V rate = {constant} + {real(rate.b)} * g.log2_T - {real(LOG2_E)} * E;",
            f"{UNUSED} const V d = {real(rate.b)} + E - of_H * ({of_H});",
        ]
    return _linear_burke(rate, order, collider_places(rate, species))


def collider_places(rate: LinearBurke, species: list[int]) -> list[int]:
    """The colliders but M in the order of elimination of the species."""
    return [species.index(k) for k in rate.named]


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
            own_k = "R(1)" if c.rate is None else f"k{i}"
            found = f"eps{i} * ({own_k} - more + sum_p) * scale - of_C"
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
        found = chebyshev(rate, log2_p, order)
    elif isinstance(rate, Falloff):
        lines = falloff(rate, order, f"(log2_p + {log2_share} + log2(g.per_T))")
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

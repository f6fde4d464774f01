"""The rate constants of a mechanism as C++: a `Rate` for every type of rate.

Takes the rates of `combred.chemistry.rate_forms`; `progress` prints what it gives. A new type is a
branch of `rate_constant`. The names that statements use are those of source/solver/rates.hpp.
"""

from dataclasses import dataclass, field

from combred.chemistry.rate_forms import (
    Arrhenius,
    BlowersMasel,
    Chebyshev,
    Falloff,
    Plog,
)
from combred.native.solver.arrhenius import arrhenius, power_of_T, slope
from combred.native.solver.falloff import falloff
from combred.native.solver.layout import Layout, Terms
from combred.native.solver.linear_burke import linear_burke
from combred.native.solver.pressure_tables import LOG2_RC0, Pressures, chebyshev, plog
from combred.native.solver.terms import LOG2_C0, LOG2_E, LOG2_T0, UNUSED, indented, real, total


@dataclass(frozen=True, eq=False)
class Rate:
    """A forward rate constant k = r 2^log2_k for concentrations over C0, as C++.

    setup: statements; the others are expressions with the names that these set, empty where a type
    of rate has none. k: the rate constant itself, where it has no exponential; d: d ln k / d ln T
    at fixed [M] and p; of_M: d ln k / d ln [M] of a falloff; of_p: d ln k / d ln p; of_C: d ln k /
    dc of any species; of_c: by how much that of a collider is more, by species.
    """

    setup: list[str]
    log2_k: str = "rate"
    d: str = "d"
    k: str = ""
    r: str = ""
    of_M: str = ""
    of_p: str = ""
    of_C: str = ""
    of_c: dict[int, str] = field(default_factory=dict)


def rate_constant(i: int, layout: Layout, pressures: Pressures, near: bool) -> Rate:
    """The rate constant of reaction i. near: a falloff is linear about the beginning of the step at
    stages in floats."""
    term = layout.terms[i]
    rate, order = term.reaction.rate, term.order
    if isinstance(rate, Arrhenius):
        d = f"{UNUSED} const V d = {slope(rate)};"
        return Rate([f"V rate = {arrhenius(rate, order)};", d], k=power_of_T(rate, order))
    if isinstance(rate, Falloff):
        place = layout.falloffs.index(i) if near else None
        return _falloff(rate, order, term.body, place)
    if isinstance(rate, Plog | Chebyshev):
        if isinstance(rate, Plog):
            lines = plog(rate, pressures.names(rate.pressures), order)
        else:
            lines = chebyshev(rate, f"(log2(g.p) + {real(LOG2_RC0)})", order)
        of_C = "const V of_C = of_p * reciprocal(g.C);"  # p is proportional to C T
        return Rate(["V rate, d, of_p;", *lines, of_C], of_p="of_p", of_C="of_C")
    if isinstance(rate, BlowersMasel):
        return _blowers_masel(rate, term)
    return Rate(
        linear_burke(rate, order, term.named),
        log2_k="rate.log2_k",
        d="rate.d",
        of_p="rate.of_p",
        of_C="rate.of_c[0]",
        of_c={k: f"rate.of_c[{j}]" for j, k in enumerate(term.named, 1)},
    )


def _falloff(rate: Falloff, order: float, body: int | None, place: int | None) -> Rate:
    """place: in Progress::falloff, where the one of the beginning of a step is kept."""
    setup, found = falloff(rate, order, f"g.log2_M[{body}]")
    if place is None:
        lines = [*setup, f"const Falloff<R> rate = {found};"]
    else:
        call = f"near_falloff<R, D>(q.falloff[{place}], g, {body}, [&] {{"
        lines = [f"const auto rate = {call}", *indented([*setup, f"return {found};"]), "});"]
    return Rate(lines, log2_k="rate.log2_k", d="rate.d", r="rate.r", of_M="rate.of_M")


def _blowers_masel(rate: BlowersMasel, term: Terms) -> Rate:
    H = total([(nu, f"g.h[{k}]") for k, nu in term.net.items()])
    constant = real(rate.ln_A * LOG2_E + rate.b * LOG2_T0 + term.order * LOG2_C0)
    of_H = total([(nu, f"g.cp[{k}]") for k, nu in term.net.items()])
    return Rate([
        "V of_H;",
        f"const V E = blowers_masel<R>({rate.E0!r}, {rate.w!r}, V({H}), of_H) * g.per_T;",
        f"V rate = {constant} + {real(rate.b)} * g.log2_T - {real(LOG2_E)} * E;",
        f"{UNUSED} const V d = {real(rate.b)} + E - of_H * ({of_H});",
    ])  # fmt: skip

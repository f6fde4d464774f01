"""Rate constants that are linear in the reduced pressures of colliders as C++: calls of
`linear_burke` of source/solver/rates.hpp."""

from combred.chemistry.rate_forms import Chebyshev, Falloff, LinearBurke, Plog
from combred.native.solver.arrhenius import arrhenius, slope
from combred.native.solver.falloff import falloff
from combred.native.solver.pressure_tables import LOG2_RC0, chebyshev, hats, plog
from combred.native.solver.terms import indented, real, total


def linear_burke(rate: LinearBurke, order: float, places: list[int]) -> list[str]:
    """Statements that set `rate`, a `LinearBurke` of rates.hpp; places: of the species of its
    colliders but M, in the order of elimination."""
    c_M = total([(1.0, "g.C"), *((-1.0, f"g.c[{k}]") for k in places)])
    lines, arguments = [], ["g"]
    for i, (collider, c) in enumerate(
        zip(rate.colliders, [c_M, *(f"g.c[{k}]" for k in places)], strict=True)
    ):
        eps, own = collider.efficiency, "AsM{}"
        if collider.rate is not None and eps.sign:
            own = f"k{i}"
            lines += _of_log2_p(own, collider.rate, order)
        of_eps = f"{arrhenius(eps)}, {slope(eps)}" if eps.sign else "V{}, V{}"
        given = f"{c}, {of_eps}, {real(eps.sign)}, {own}"
        arguments.append(f"Collider<R, decltype({own})>{{{given}}}")
    return [*lines, f"const auto rate = linear_burke<R>({', '.join(arguments)});"]


def _of_log2_p(name: str, rate: Plog | Chebyshev | Falloff, order: float) -> list[str]:
    """The function `name` of log2 p, over R C0, that gives an `OfPressure`."""
    log2_p = f"(log2_p + {real(LOG2_RC0)})"
    found = "{rate, d, of_p}"
    if isinstance(rate, Plog):
        places = range(len(rate.pressures))
        weights = [f"hat{i}" for i in places], [f"slope{i}" for i in places]
        lines = ["V rate, d, of_p;", *hats(rate.pressures, log2_p), *plog(rate, weights, order)]
    elif isinstance(rate, Chebyshev):
        lines = ["V rate, d, of_p;", *chebyshev(rate, log2_p, order)]
    else:
        lines, call = falloff(rate, order, "(log2_p + log2(g.per_T))")  # [M] = p / RT
        lines.append(f"const Falloff<R> own = {call};")
        found = "{own.log2_k + log2(own.r), own.d - own.of_M, own.of_M}"
    inside = indented([*lines, f"return OfPressure<R>{found};"])
    return [f"const auto {name} = [&](V log2_p) {{", *inside, "};"]

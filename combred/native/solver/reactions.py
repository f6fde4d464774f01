"""The reactions of a mechanism as C++: rates of progress, their derivatives, production.

Takes a `Layout`; gives the text of the file solver/reactions.hpp but for the matrix.
"""

import numpy as np

from combred.chemistry.rate_forms import Chebyshev, Falloff, LinearBurke, Plog
from combred.native.arrays import comment
from combred.native.solver.arrhenius import power_of_T
from combred.native.solver.falloff import near_falloff
from combred.native.solver.layout import Layout, Terms
from combred.native.solver.polynomials import RateLimits
from combred.native.solver.pressure_tables import Pressures
from combred.native.solver.rate_constants import collider_places, rate_constant
from combred.native.solver.terms import TYPE, UNUSED, real, total


class Derivatives:
    """Which derivative of which rate of progress lies where in Progress::d; `negative`: those that
    lie there with the other sign; `exact`: those that are set for an exact Jacobian alone."""

    def __init__(self) -> None:
        self.places: dict[tuple[int, int], int] = {}
        self.negative: set[tuple[int, int]] = set()
        self.exact: set[tuple[int, int]] = set()

    def sign(self, i: int, k: int) -> float:
        """The sign with which it lies there."""
        return -1.0 if (i, k) in self.negative else 1.0

    def place(self, i: int, k: int) -> int:
        """The place of d q_i / d c_k."""
        return self.places.setdefault((i, k), len(self.places))


def write_progress(
    layout: Layout, pressures: Pressures, derivatives: Derivatives
) -> list[list[str]]:
    """The statements of each reaction, which set its places of Progress."""
    limits = RateLimits(layout)
    return [
        _progress(i, term, layout, pressures, limits, derivatives)
        for i, term in enumerate(layout.terms)
    ]


def third_bodies(layout: Layout) -> list[str]:
    """The statements that set the concentrations of third bodies: C or 0, plus corrections for
    species with other efficiencies."""
    falls = {t.body for t in layout.terms if isinstance(t.reaction.rate, Falloff)}
    lines = []
    for m, (row, base) in enumerate(zip(layout.colliders, layout.base, strict=True)):
        others = [(e - base, f"g.c[{k}]") for k, e in enumerate(row.tolist())]
        lines.append(f"g.M[{m}] = at_least(V({total([(base, 'g.C'), *others])}), LEAST);")
        if m in falls:
            lines.append(
                f"if constexpr (STAGE) "
                f"g.moved_M[{m}] = R(LOG2_E) * (g.M[{m}] * g.per_M[{m}] - R(1)); "
                f"else g.log2_M[{m}] = log2(g.M[{m}]);"
            )
        lines.append(f"if (D) g.per_M[{m}] = reciprocal(g.M[{m}]);")
    return lines


def _progress(
    i: int,
    term: Terms,
    layout: Layout,
    pressures: Pressures,
    limits: RateLimits,
    derivatives: Derivatives,
) -> list[str]:
    lines = _constants(term, layout, pressures, limits, ("const V kf", "const V kr"), _factor(term))
    if isinstance(term.reaction.rate, Falloff):
        lines = near_falloff(lines, layout.falloffs.index(i), term.body)
    forward, of_forward = _side("F", "kf", term.forward)
    reverse: list[str] = []
    of_reverse: dict[int, str] = {}
    back = term.reverse is not None
    if term.reverse is not None:
        reverse, of_reverse = _side("B", "kr", term.reverse)
    lines += forward + reverse
    lines += [f"q.q[{i}] = F{' - B' if back else ''};", "if (D) {"]
    lines.append(
        f"  if (Matrix<R>::EXACT) {{ q.F[{i}] = F; q.B[{i}] = {'B' if back else 'V{}'}; }}"
    )
    for k in sorted({*of_forward, *of_reverse}):
        found = " - ".join(side[k] for side in (of_forward, of_reverse) if k in side)
        lines.append(f"  q.d[{derivatives.place(i, k)}] = {found};")
        derivatives.negative |= set() if k in of_forward else {(i, k)}
    of_T = "F * d"
    if back:
        lines.append(
            f"  const V of_ratio = {total([(nu, f'g.u[{k}]') for k, nu in term.net.items()])};"
        )
        of_T += " - B * (d - of_ratio)"
    if term.body is not None:
        of_M = " * of_M" if isinstance(term.reaction.rate, Falloff) else ""
        lines.append(f"  const V E = q.q[{i}] * g.per_M[{term.body}]{of_M};")
        lines.append(f"  if (Matrix<R>::EXACT) q.E[{i}] = E;")
        if layout.base[term.body]:
            of_T += f" - {real(layout.base[term.body])} * E * g.fixed_C"
    of_density = _of_density(i, term, derivatives)
    lines += [
        f"  q.qT[{i}] = {of_T};",
        f"  if (!Matrix<R>::EXACT) q.qT[{i}] = q.qT[{i}] - g.at_constant_p * ({of_density});",
        *_of_pressure(i, term, layout, derivatives),
        "}",
    ]
    return [_title(term), *(f"  {line}" for line in lines), "}"]


def _of_density(i: int, term: Terms, derivatives: Derivatives) -> str:
    """sum_k c_k dq/dc_k - q without third bodies, by which T dq/dT is less at constant pressure,
    where the density falls with T; from the orders where these are whole."""
    sides = [("F", 1.0, term.forward), ("B", -1.0, term.reverse or {})]
    if all(_are_whole(orders) for _, _, orders in sides):
        have = sides if term.reverse is not None else sides[:1]
        return total([(sign * (sum(orders.values()) - 1.0), name) for name, sign, orders in have])
    own = [k for j, k in derivatives.places if j == i and (j, k) not in derivatives.exact]
    return total(
        [*((1.0, f"q.d[{derivatives.place(i, k)}] * g.c[{k}]") for k in own), (-1.0, f"q.q[{i}]")]
    )


def _constants(
    term: Terms,
    layout: Layout,
    pressures: Pressures,
    limits: RateLimits,
    names: tuple[str, str],
    factor: str = "",
) -> list[str]:
    """The statements that set the forward and reverse rate constants of these names, with falloff,
    times a factor."""
    forward, reverse = names
    sign = "-" if term.sign < 0 else ""
    falloff = " * r" if isinstance(term.reaction.rate, Falloff) else ""
    lines = rate_constant(term, pressures, layout.species)
    within = ["exp2(V" if kept else "rate_constant<R>(V" for kept in limits.are_kept(term)]
    k = power_of_T(term) or f"{within[0]}(rate))"
    lines.append(f"{forward} = {sign}{k}{falloff}{factor};")
    if term.reverse is not None:
        ratio = total([(nu, f"g.gibbs[{k}]") for k, nu in term.net.items()])
        lines.append(f"{reverse} = {sign}{within[1]}(rate + ({ratio}))){falloff}{factor};")
    return lines


def _factor(term: Terms) -> str:
    """The factor [M] of a rate constant with a third body; none of falloff."""
    third = term.body is not None and not isinstance(term.reaction.rate, Falloff)
    return f" * g.M[{term.body}]" if third else ""


def _of_pressure(i: int, term: Terms, layout: Layout, derivatives: Derivatives) -> list[str]:
    """The statements of what a rate constant that depends on p adds to the exact derivatives. At
    fixed concentrations p is proportional to T."""
    rate = term.reaction.rate
    if not isinstance(rate, Plog | Chebyshev | LinearBurke):
        return []
    lines = [
        f"q.P[{i}] = q.q[{i}] * of_C;",
        f"q.qT[{i}] = q.qT[{i}] + q.q[{i}] * of_p - q.P[{i}] * g.fixed_C;",
    ]
    if isinstance(rate, LinearBurke):
        for j, k in enumerate(collider_places(rate, layout.species)):
            known = (i, k) in derivatives.places
            derivatives.exact |= set() if known else {(i, k)}
            place = f"q.d[{derivatives.place(i, k)}]"
            before = (f"{place} - " if (i, k) in derivatives.negative else f"{place} + ") * known
            lines.append(f"{place} = {before}q.q[{i}] * of_{j};")
    return ["  if (Matrix<R>::EXACT) {", *(f"    {line}" for line in lines), "  }"]


def _are_whole(orders: dict[int, float]) -> bool:
    return all(order > 0.5 and abs(order - round(order)) < 1e-9 for order in orders.values())


def _side(name: str, constant: str, orders: dict[int, float]) -> tuple[list[str], dict[int, str]]:
    """Statements that set the rate `name`, and the expression of its derivative by each
    concentration. Each factor is taken by itself: a product of two small concentrations alone may
    underflow."""
    if not orders:
        return [f"const V {name} = {constant};"], {}
    if not _are_whole(orders):
        powers = {k: f"power_of<R>(g.c[{k}], {real(order)})" for k, order in orders.items()}
        lines = [f"const V {name} = {' * '.join([constant, *powers.values()])};"]
        derivatives = {}
        for k, order in orders.items():
            derivatives[k] = f"{name}_{k}"
            slope = f"power_slope<R>(g.c[{k}], {real(order)})"
            factors = [constant, *(slope if j == k else power for j, power in powers.items())]
            lines.append(f"const V {name}_{k} = {' * '.join(factors)};")
        return lines, derivatives
    flat = [k for k, order in sorted(orders.items()) for _ in range(round(order))]
    lines, derivatives = [], {}
    for k in sorted(set(flat)):
        rest = list(flat)
        rest.remove(k)
        product = "".join(f" * g.c[{other}]" for other in rest)
        lines.append(f"const V {name}_{k} = {constant}{product};")
        times = flat.count(k)
        derivatives[k] = f"{name}_{k}" if times == 1 else f"{real(times)} * {name}_{k}"
    return [*lines, f"const V {name} = {name}_{flat[-1]} * g.c[{flat[-1]}];"], derivatives


def _side_alone(name: str, constant: str, orders: dict[int, float]) -> list[str]:
    """The statements of `_side` that set the rate, without those of its derivatives."""
    lines, _ = _side(name, constant, orders)
    rate = next(line for line in lines if line.startswith(f"const V {name} ="))
    return [line for line in lines if line is rate or line.split()[2] in rate.split()]


def write_constants(layout: Layout, pressures: Pressures) -> list[list[str]]:
    """The statements of each reaction that set its rate constants in Constants k, with falloff and
    without third bodies: those of a quasi-steady step, which keeps them."""
    blocks, limits = [], RateLimits(layout)
    for i, term in enumerate(layout.terms):
        lines = _constants(term, layout, pressures, limits, (f"k.forward[{i}]", f"k.reverse[{i}]"))
        blocks.append(["{", *(f"  {line}" for line in lines), "}"])
    return blocks


def progress_of_constants(layout: Layout) -> list[list[str]]:
    """The statements of each reaction that set its rates of progress, of Constants k."""
    blocks = []
    for i, term in enumerate(layout.terms):
        M = _factor(term)
        lines = [f"const V kf = k.forward[{i}]{M};", *_side_alone("F", "kf", term.forward)]
        back = term.reverse is not None
        if term.reverse is not None:
            lines += [f"const V kr = k.reverse[{i}]{M};", *_side_alone("B", "kr", term.reverse)]
        lines.append(f"q.q[{i}] = F{' - B' if back else ''};")
        lines.append(f"q.F[{i}] = F; q.B[{i}] = {'B' if back else 'V{}'};")
        blocks.append([_title(term), *(f"  {line}" for line in lines), "}"])
    return blocks


def _title(term: Terms) -> str:
    """The first line of a reaction's block."""
    return f"{{  // {term.reaction.index + 1}: {comment(term.reaction.equation)}"


def production(layout: Layout, name: str, source: str) -> str:
    """The function `name`: sums of net coefficients times q.`source` for each species."""
    lines = [
        f"  f[{k}] = "
        + total([(t.net[k], f"q.{source}[{i}]") for i, t in enumerate(layout.terms) if k in t.net])
        + f";  // {comment(layout.names[k])}\n"
        for k in range(layout.n_reactive)
    ]
    return (
        f"template <class R> PART void {name}(const Progress<R> &q, Vector<R> *f) {{\n"
        f"  {TYPE}\n{''.join(lines)}}}\n"
    )


def destruction(layout: Layout) -> str:
    """The function `destroyed`: destruction rates of each species, kmol/(m3 s) / C0; of inert ones,
    too, which take part in reactions as colliders."""
    place = {k: i for i, k in enumerate(layout.species)}
    terms: list[list[tuple[float, str]]] = [[] for _ in layout.species]
    for i, term in enumerate(layout.terms):
        for species, of in (
            (term.reaction.reactants, f"q.F[{i}]"),
            (term.reaction.products if term.reverse is not None else {}, f"q.B[{i}]"),
        ):
            for k, nu in species.items():
                terms[place[k]].append((nu, of))
    lines = [f"  lost[{k}] = {total(own)};\n" for k, own in enumerate(terms)]
    return (
        "template <class R> PART void destroyed(const Progress<R> &q, Vector<R> *lost) {\n"
        f"  {TYPE}\n{''.join(lines)}}}\n"
    )


def element_balance(layout: Layout, atoms: np.ndarray) -> str:
    """The functions `set_element_balance` and `set_shares` of source/solver/closure.hpp; atoms
    (n_reactive, n_elements)."""
    n_elements = atoms.shape[1]
    lines = []
    for e in range(n_elements):
        for f in range(e, n_elements):
            products = (atoms[:, e] * atoms[:, f]).tolist()
            lines.append(
                f"a[{e}][{f}] = {total([(c, f'n[{k}]') for k, c in enumerate(products)])};"
            )
        own = [(c, f"lost[{k}]") for k, c in enumerate(atoms[:, e].tolist())]
        lines.append(f"a[{e}][{n_elements}] = {total(own)};")
    shares = []
    for k, row in enumerate(atoms.tolist()):
        shares.append(f"share[{k}] = {total([(c, f'x[{e}]') for e, c in enumerate(row)])};")
    first = f"  {UNUSED} typedef double R;\n  {UNUSED} typedef Doubles V;\n"
    return (
        "PART void set_element_balance(const Doubles *n, const Doubles *lost, "
        f"Doubles (*a)[ELEMENTS + 1]) {{\n{first}"
        + "".join(f"  {line}\n" for line in lines)
        + f"}}\n\nPART void set_shares(const Doubles *x, Doubles *share) {{\n{first}"
        + "".join(f"  {line}\n" for line in shares)
        + "}\n"
    )

"""Sums over the reactions of a mechanism as C++: concentrations of third bodies, production and
destruction of species, and the element balance.

Takes a `Layout`; gives functions of the file solver/reactions.hpp.
"""

import numpy as np

from combred.chemistry.rate_forms import Falloff
from combred.native.arrays import comment
from combred.native.solver.layout import Layout
from combred.native.solver.terms import TYPE, UNUSED, body, total


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


def production(layout: Layout, name: str, source: str) -> str:
    """The function `name`: sums of net coefficients times q.`source` for each species."""
    lines = [TYPE]
    for k in range(layout.n_reactive):
        own = [(t.net[k], f"q.{source}[{i}]") for i, t in enumerate(layout.terms) if k in t.net]
        lines.append(f"f[{k}] = {total(own)};  // {comment(layout.names[k])}")
    head = f"template <class R> PART void {name}(const Progress<R> &q, Vector<R> *f) {{\n"
    return f"{head}{body(lines)}}}\n"


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
    lines = [TYPE, *(f"lost[{k}] = {total(own)};" for k, own in enumerate(terms))]
    head = "template <class R> PART void destroyed(const Progress<R> &q, Vector<R> *lost) {\n"
    return f"{head}{body(lines)}}}\n"


def element_balance(layout: Layout, atoms: np.ndarray) -> str:
    """The functions `set_element_balance` and `set_shares` of source/solver/closure.hpp; atoms
    (n_reactive, n_elements)."""

    def dot(coefficients: np.ndarray, name: str) -> str:
        return total([(c, f"{name}[{k}]") for k, c in enumerate(coefficients.tolist())])

    n_elements = atoms.shape[1]
    lines = shares = [f"{UNUSED} typedef double R;", f"{UNUSED} typedef Doubles V;"]
    for e, own in enumerate(atoms.T):
        lines = lines + [
            f"a[{e}][{f}] = {dot(own * atoms[:, f], 'n')};" for f in range(e, n_elements)
        ]
        lines = [*lines, f"a[{e}][{n_elements}] = {dot(own, 'lost')};"]
    shares = shares + [f"share[{k}] = {dot(row, 'x')};" for k, row in enumerate(atoms)]
    return (
        "PART void set_element_balance(const Doubles *n, const Doubles *lost, "
        f"Doubles (*a)[ELEMENTS + 1]) {{\n{body(lines)}}}\n\n"
        f"PART void set_shares(const Doubles *x, Doubles *share) {{\n{body(shares)}}}\n"
    )

"""The matrix of a Rosenbrock step as C++: its places, its entries and its elimination.

Takes a `Layout`, the `Pattern` of a kind of Jacobian and the places of the derivatives; gives text
for the files solver/mechanism.hpp and solver/reactions.hpp.
"""

from combred.chemistry.rate_forms import Chebyshev, LinearBurke, Plog
from combred.native.arrays import comment
from combred.native.solver.elimination import solution, statements
from combred.native.solver.layout import Derivatives, Layout, Pattern, Terms
from combred.native.solver.terms import PART, TYPE, UNUSED, body, functions, indented, total

LARGE = 200  # unknowns of a matrix whose elimination is not written out


def places(layout: Layout, pattern: Pattern, real_type: str) -> str:
    """The struct `Matrix` of a precision: sizes and places. Entries of inert species, which a
    Jacobian has and the elimination has not, follow at the end."""
    n, at = layout.n_reactive, pattern.places
    inert = list(_inert(layout, pattern))
    rows = [at[i, columns[0]] for i, columns in enumerate(pattern.rows)]
    lines = [
        f"static constexpr bool EXACT = {str(pattern.exact).lower()};",
        f"static constexpr int UNKNOWNS = {pattern.size}, NONZEROS = {len(at) + len(inert)};",
        _row("T_COLUMN", [at[i, pattern.T] for i in range(n)]),
        _row("T_ROW", [at[pattern.T, i] for i in range(n)]),
        f"static constexpr int T_T = {at[pattern.T, pattern.T]};",
        _row("ROWS", [*rows, len(at)], "UNKNOWNS + 1"),
        _row("COLUMNS", [column for _, column in at], "NONZEROS", "short"),
        _row("PIVOTS", [at[i, i] for i in range(pattern.size)], "UNKNOWNS"),
        f"static constexpr int INERT = {len(inert)};",
        _row("INERT_ROWS", [i for i, _ in inert] or [-1], "INERT + 1"),
        _row("INERT_COLUMNS", [k for _, k in inert] or [-1], "INERT + 1"),
    ]
    if pattern.exact:
        lines += [
            _row("S_COLUMN", [at[i, n] for i in range(n)]),
            _row("S_ROW", [at[n, i] for i in range(n)]),
            f"static constexpr int S_S = {at[n, n]}, S_T = {at[n, n + 1]}, T_S = {at[n + 1, n]};",
        ]
    return f"template <> struct Matrix<{real_type}> {{\n{body(lines)}}};\n"


def _row(name: str, values: list[int], size: str = "REACTIVE", kind: str = "int") -> str:
    return f"static constexpr {kind} {name}[{size}] = {{{', '.join(map(str, values))}}};"


def _inert(layout: Layout, pattern: Pattern) -> dict[tuple[int, int], int]:
    first = len(pattern.places)
    if not pattern.exact:
        return {}
    pairs = [(i, k) for i, row in enumerate(pattern.columns) for k in row if k >= layout.n_reactive]
    return {pair: first + m for m, pair in enumerate(pairs)}


def write_matrix(layout: Layout, pattern: Pattern, derivatives: Derivatives) -> str:
    """The functions of the exact Jacobian: `set_matrix`, which sets -G, w = G c - g and dg/dC, and
    `finish_matrix`, which adds the diagonal."""
    n, at, inert = layout.n_reactive, pattern.places, _inert(layout, pattern)
    blocks = []
    for row in range(n):
        lines, by_body = [], {}
        own = [(i, t) for i, t in enumerate(layout.terms) if row in t.net]
        for i, t in own:
            if t.body is not None:
                by_body.setdefault(t.body, []).append((t.net[row], f"q.E[{i}]"))
        lines += [f"const V E{m} = {total(found)};" for m, found in by_body.items()]
        of_p = [
            (t.net[row], f"q.P[{i}]")
            for i, t in own
            if isinstance(t.reaction.rate, Plog | Chebyshev | LinearBurke)
        ]
        of_C = total([*((layout.base[m], f"E{m}") for m in by_body), *of_p])
        lines.append(f"of_C[{row}] = {of_C};")
        weighted = []
        for column in pattern.columns[row]:
            found = _derivatives(own, derivatives, row, column, exact=True)
            found += [(layout.base[m] - layout.colliders[m][column], f"E{m}") for m in by_body]
            place = at[row, column] if column < n else inert[row, column]
            lines.append(f"a[{place}] = {total(found)};")
            weighted.append((-1.0, f"a[{place}] * g.c[{column}]"))
        lines.append(f"w[{row}] = {total([*weighted, (-1.0, f'g0[{row}]')])};")
        blocks.append([f"{{  // {comment(layout.names[row])}", *indented(lines), "}"])
    gas = {"g": "const Gas<double> &", "q": "const Progress<double> &", "g0": "const Doubles *"}
    arguments = gas | dict.fromkeys(("a", "w", "of_C"), "Doubles *")
    first = [f"{UNUSED} typedef double R;", TYPE, "(void)of_C;"]
    text = functions("set_matrix", arguments, _grouped(blocks, PART, first), part=1)
    real_places = {(i, k) for i, row in enumerate(pattern.columns) for k in row}
    fill = [p for (i, k), p in at.items() if i < n and k < n and (i, k) not in real_places]
    lines = [f"{UNUSED} typedef double R;", *(f"a[{p}] = Doubles{{}};" for p in fill)]
    lines += [f"a[{at[i, i]}] = a[{at[i, i]}] + diagonal;" for i in range(n)]
    head = "INLINE void finish_matrix(Doubles *a, Doubles diagonal) {"
    return f"{text}\n{head}\n{body(lines)}}}\n"


def _derivatives(
    own: list[tuple[int, Terms]], derivatives: Derivatives, row: int, column: int, exact: bool
) -> list[tuple[float, str]]:
    """The terms of -d g / d c of a species' row, whose reactions are `own`, and a column."""
    return [
        (-t.net[row] * derivatives.sign(i, column), f"q.d[{derivatives.places[i, column]}]")
        for i, t in own
        if (i, column) in derivatives.places and (exact or (i, column) not in derivatives.exact)
    ]


def write_factors(layout: Layout, pattern: Pattern, derivatives: Derivatives) -> str:
    """The function `set_factors` of floats: the rows of the species, to which `diagonal` is added,
    their column of T being a sum times `scale`, and the elimination. The row of T is in `a`."""
    n, at, V = layout.n_reactive, pattern.places, "Floats"
    entries = []
    for row in range(n):
        own = [(i, t) for i, t in enumerate(layout.terms) if row in t.net]
        found = {
            k: total(_derivatives(own, derivatives, row, k, exact=False))
            for k in pattern.columns[row]
            if k < n
        }
        found[row] = f"{found[row]} + diagonal" if row in found else "diagonal"
        of_T = total([(t.net[row], f"q.qT[{i}]") for i, t in own])
        entries.append(found | {pattern.T: f"scale * ({of_T})"})
    if pattern.size >= LARGE:
        blocks = [
            [f"a[{p}] = {entries[i].get(j, 'V{}')};" for (i, j), p in at.items() if i == row]
            for row in range(n)
        ]
    else:
        blocks = statements(pattern, V, entries)
    first = [f"{UNUSED} typedef float R;", f"{UNUSED} typedef {V} V;"]
    first.append("(void)q, (void)diagonal, (void)scale;")
    blocks = _grouped(blocks, 1, first)
    if pattern.size >= LARGE:
        blocks.append(["eliminate_by_table<float>(a);"])
    arguments = {"q": "const Progress<float> &", "diagonal": f"{V} ", "scale": f"{V} "}
    return functions("set_factors", arguments | {"a": f"{V} *__restrict "}, blocks, part=1)


def _grouped(blocks: list[list[str]], size: int, first: list[str]) -> list[list[str]]:
    """Blocks joined to some of `size`, each of which begins with the lines `first`."""
    groups = range(0, len(blocks), size)
    return [[*first, *sum(blocks[i : i + size], [])] for i in groups]


def write_elimination(pattern: Pattern, real_type: str) -> str:
    """The functions `eliminate`, which leaves L below the diagonal, the reciprocals of the pivots
    on it and U above it, and `solve`: written out, or of a matrix of `LARGE` unknowns by tables."""
    if pattern.size >= LARGE:
        V, of = f"Vector<{real_type}>", f"by_table<{real_type}>"
        eliminate = f"INLINE void eliminate({V} *a) {{ eliminate_{of}(a); }}\n" * pattern.exact
        return f"{eliminate}INLINE void solve(const {V} *a, {V} *b) {{ solve_{of}(a, b); }}\n"
    V, eliminate = f"Vector<{real_type}>", ""
    if pattern.exact:
        arguments, blocks = {"a": f"{V} *__restrict "}, statements(pattern, V)
        eliminate = functions("eliminate", arguments, blocks, part=1)
    head = f"PART void solve(const {V} *__restrict a, {V} *__restrict b) {{"
    lines = [f"{UNUSED} typedef {real_type} R;", *solution(pattern, V)]
    return f"{eliminate}\n{head}\n{body(lines)}}}\n"

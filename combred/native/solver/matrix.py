"""The matrix of a Rosenbrock step as C++: its entries, and its elimination written out.

Takes a `Layout`, the `Pattern` of a kind of Jacobian and the places of the derivatives; gives text
for the file solver/reactions.hpp. The elimination is that of sparse LU by rows without pivoting,
without any index at run time.
"""

from combred.chemistry.rate_forms import Chebyshev, LinearBurke, Plog
from combred.native.solver.layout import Layout, Pattern
from combred.native.solver.reactions import Derivatives
from combred.native.solver.terms import PART, TYPE, UNUSED, functions, total

IN_REGISTERS = 26  # unknowns of a solution that is kept in registers
LARGE = 200  # unknowns of a matrix whose elimination is not written out


def places(layout: Layout, pattern: Pattern, real_type: str) -> str:
    """The struct `Matrix` of a precision: sizes and places. Entries of inert species, which a
    Jacobian has and the elimination has not, follow at the end."""
    n, at = layout.n_reactive, pattern.places
    inert = list(_inert(layout, pattern))
    rows = [min(place for (i, _), place in at.items() if i == row) for row in range(pattern.size)]
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
    body = "".join(f"  {line}\n" for line in lines)
    return f"template <> struct Matrix<{real_type}> {{\n{body}}};\n"


def _row(name: str, values: list[int], size: str = "REACTIVE", kind: str = "int") -> str:
    return f"static constexpr {kind} {name}[{size}] = {{{', '.join(map(str, values))}}};"


def _inert(layout: Layout, pattern: Pattern) -> dict[tuple[int, int], int]:
    first = len(pattern.places)
    pairs = [(i, k) for i, row in enumerate(pattern.columns) for k in row if k >= layout.n_reactive]
    return {pair: first + m for m, pair in enumerate(pairs)}


def write_matrix(layout: Layout, pattern: Pattern, derivatives: Derivatives, real_type: str) -> str:
    """The functions `set_matrix`, which sets -G, w = G c - g and dg/dC, and `finish_matrix`, which
    adds the diagonal."""
    n, at, inert = layout.n_reactive, pattern.places, _inert(layout, pattern)
    blocks = []
    for row in range(n):
        lines, by_body = [], {}
        own = [(i, t) for i, t in enumerate(layout.terms) if row in t.net]
        if pattern.exact:
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
            found = [
                (-t.net[row], f"q.d[{derivatives.places[i, column]}]")
                for i, t in own
                if (i, column) in derivatives.places
                and (pattern.exact or (i, column) not in derivatives.exact)
            ]
            found += [(layout.base[m] - layout.colliders[m][column], f"E{m}") for m in by_body]
            place = at[row, column] if column < n else inert[row, column]
            lines.append(f"a[{place}] = {total(found)};")
            weighted.append((-1.0, f"a[{place}] * g.c[{column}]"))
        lines.append(f"w[{row}] = {total([*weighted, (-1.0, f'g0[{row}]')])};")
        blocks.append([f"{{  // {layout.names[row]}", *(f"  {line}" for line in lines), "}"])
    blocks = [[TYPE, "(void)of_C;", *block] for block in _grouped(blocks)]
    arguments = (
        "const Gas<R> &g, const Progress<R> &q, const Vector<R> *g0, Vector<R> *a, Vector<R> *w, "
        "Vector<R> *of_C"
    ).replace("<R>", f"<{real_type}>")
    text = functions("set_matrix", "", arguments, blocks, part=1)
    real_places = {(i, k) for i, row in enumerate(pattern.columns) for k in row}
    fill = [p for (i, k), p in at.items() if i < n and k < n and (i, k) not in real_places]
    lines = [f"  a[{p}] = Vector<R>{{}};\n" for p in fill]
    lines += [f"  a[{at[i, i]}] = a[{at[i, i]}] + diagonal;\n" for i in range(n)]
    text = text.replace(TYPE, f"typedef {real_type} R;\n  {TYPE}")
    return (
        f"{text}\nINLINE void finish_matrix(Vector<{real_type}> *a, Vector<{real_type}> diagonal) "
        f"{{\n  {UNUSED} typedef {real_type} R;\n{''.join(lines)}}}\n"
    )


def _grouped(blocks: list[list[str]]) -> list[list[str]]:
    """Blocks joined to some of about PART rows."""
    groups = range(0, len(blocks), PART)
    return [[line for block in blocks[i : i + PART] for line in block] for i in groups]


def write_elimination(pattern: Pattern, real_type: str) -> str:
    """The functions `eliminate`, which leaves L below the diagonal, the reciprocals of the pivots
    on it and U above it, and `solve`: written out, or of a matrix of `LARGE` unknowns by tables."""
    if pattern.size >= LARGE:
        V, of = f"Vector<{real_type}>", f"by_table<{real_type}>"
        return (
            f"INLINE void eliminate({V} *a) {{ eliminate_{of}(a); }}\n"
            f"INLINE void solve(const {V} *a, {V} *b) {{ solve_{of}(a, b); }}\n"
        )
    rows: list[list[int]] = [[] for _ in range(pattern.size)]
    for i, j in pattern.places:
        rows[i].append(j)
    at, V = pattern.places, f"Vector<{real_type}>"
    blocks = []
    for i, columns in enumerate(rows):
        lines = [f"{V} w{j} = a[{at[i, j]}];" for j in columns]
        for k in [j for j in columns if j < i]:
            lines.append(f"w{k} = w{k} * a[{at[k, k]}]; a[{at[i, k]}] = w{k};")
            lines += [f"w{j} = w{j} - w{k} * a[{at[k, j]}];" for j in rows[k] if j > k]
        lines.append(f"a[{at[i, i]}] = reciprocal(w{i});")
        lines += [f"a[{at[i, j]}] = w{j};" for j in columns if j > i]
        blocks.append(["{", *(f"  {line}" for line in lines), "}"])
    part = 4 if pattern.size < 40 else 1
    eliminate = functions("eliminate", "", f"{V} *__restrict a", blocks, part)
    if pattern.size < IN_REGISTERS:
        solution = _by_columns(rows, at, V)
    else:
        solution = _by_rows(rows, at)
    body = "".join(f"  {line}\n" for line in [f"{UNUSED} typedef {real_type} R;", *solution])
    return (
        f"{eliminate}\nPART void solve(const {V} *__restrict a, {V} *__restrict b) {{\n{body}}}\n"
    )


def _by_columns(rows: list[list[int]], at: dict, V: str) -> list[str]:
    size = len(rows)
    lines = [f"{V} b{i} = b[{i}];" for i in range(size)]
    for j in range(size):
        lines += [
            f"b{i} = b{i} - a[{at[i, j]}] * b{j};" for i in range(j + 1, size) if (i, j) in at
        ]
    for j in reversed(range(size)):
        lines.append(f"b{j} = b{j} * a[{at[j, j]}]; b[{j}] = b{j};")
        lines += [f"b{i} = b{i} - a[{at[i, j]}] * b{j};" for i in range(j) if (i, j) in at]
    return lines


def _by_rows(rows: list[list[int]], at: dict) -> list[str]:
    lines = []
    for i, columns in enumerate(rows):
        known = [(-1.0, f"a[{at[i, j]}] * b[{j}]") for j in columns if j < i]
        lines.append(f"b[{i}] = {total([(1.0, f'b[{i}]'), *known])};")
    for i, columns in reversed(list(enumerate(rows))):
        known = [(-1.0, f"a[{at[i, j]}] * b[{j}]") for j in columns if j > i]
        lines.append(f"b[{i}] = ({total([(1.0, f'b[{i}]'), *known])}) * a[{at[i, i]}];")
    return lines

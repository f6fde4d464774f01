"""The matrix of a Rosenbrock step as C++: its entries, and its elimination written out.

Takes a `Layout`, the `Pattern` of a kind of Jacobian and the places of the derivatives; gives text
for the file solver/reactions.hpp. The elimination is that of sparse LU by rows without pivoting,
without any index at run time.
"""

from collections.abc import Sequence

from combred.chemistry.rate_forms import Chebyshev, LinearBurke, Plog
from combred.native.arrays import comment
from combred.native.solver.layout import Layout, Pattern, Terms
from combred.native.solver.reactions import Derivatives
from combred.native.solver.terms import PART, TYPE, UNUSED, functions, total

IN_CACHE = 40  # unknowns; a larger matrix does not fit into the first level of the cache
TOGETHER, ENTRIES = 12, 14  # rows that are eliminated together, and their entries at a time
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
        head = f"{{  // {comment(layout.names[row])}"
        blocks.append([head, *(f"  {line}" for line in lines), "}"])
    types = [f"{UNUSED} typedef double R;", TYPE]
    blocks = [[*types, "(void)of_C;", *block] for block in _grouped(blocks)]
    arguments = (
        "const Gas<double> &g, const Progress<double> &q, const Doubles *g0, Doubles *a, "
        "Doubles *w, Doubles *of_C"
    )
    text = functions("set_matrix", "", arguments, blocks, part=1)
    real_places = {(i, k) for i, row in enumerate(pattern.columns) for k in row}
    fill = [p for (i, k), p in at.items() if i < n and k < n and (i, k) not in real_places]
    lines = [f"  a[{p}] = Doubles{{}};\n" for p in fill]
    lines += [f"  a[{at[i, i]}] = a[{at[i, i]}] + diagonal;\n" for i in range(n)]
    return (
        f"{text}\nINLINE void finish_matrix(Doubles *a, Doubles diagonal) {{\n"
        f"  {UNUSED} typedef double R;\n{''.join(lines)}}}\n"
    )


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
    arguments = f"const Progress<float> &q, {V} diagonal, {V} scale, {V} *__restrict a"
    if pattern.size >= LARGE:
        blocks = [
            [f"a[{p}] = {entries[i].get(j, 'V{}')};" for (i, j), p in at.items() if i == row]
            for row in range(n)
        ]
    else:
        blocks = _eliminated(pattern, V, entries)
    types = [f"{UNUSED} typedef float R;", f"{UNUSED} typedef {V} V;"]
    types.append("(void)q, (void)diagonal, (void)scale;")
    part = 4 if pattern.size < IN_CACHE else 1
    groups = range(0, len(blocks), part)
    blocks = [[*types, *sum(blocks[i : i + part], [])] for i in groups]
    if pattern.size >= LARGE:
        blocks.append(["eliminate_by_table<float>(a);"])
    return functions("set_factors", "", arguments, blocks, part=1)


def _grouped(blocks: list[list[str]]) -> list[list[str]]:
    """Blocks joined to some of about PART rows."""
    groups = range(0, len(blocks), PART)
    return [[line for block in blocks[i : i + PART] for line in block] for i in groups]


def write_elimination(pattern: Pattern, real_type: str) -> str:
    """The functions `eliminate`, which leaves L below the diagonal, the reciprocals of the pivots
    on it and U above it, and `solve`: written out, or of a matrix of `LARGE` unknowns by tables."""
    if pattern.size >= LARGE:
        V, of = f"Vector<{real_type}>", f"by_table<{real_type}>"
        eliminate = f"INLINE void eliminate({V} *a) {{ eliminate_{of}(a); }}\n" * pattern.exact
        return f"{eliminate}INLINE void solve(const {V} *a, {V} *b) {{ solve_{of}(a, b); }}\n"
    rows, at, V = _rows(pattern), pattern.places, f"Vector<{real_type}>"
    part = 4 if pattern.size < IN_CACHE else 1
    eliminate = ""
    if pattern.exact:
        eliminate = functions("eliminate", "", f"{V} *__restrict a", _eliminated(pattern, V), part)
    if pattern.size < IN_REGISTERS:
        solution = _by_columns(rows, at, V)
    else:
        solution = _by_rows(rows, at)
    body = "".join(f"  {line}\n" for line in [f"{UNUSED} typedef {real_type} R;", *solution])
    return (
        f"{eliminate}\nPART void solve(const {V} *__restrict a, {V} *__restrict b) {{\n{body}}}\n"
    )


def _rows(pattern: Pattern) -> list[list[int]]:
    """The columns of each row."""
    rows: list[list[int]] = [[] for _ in range(pattern.size)]
    for i, j in pattern.places:
        rows[i].append(j)
    return rows


def _eliminated(
    pattern: Pattern, V: str, entries: Sequence[dict[int, str]] = ()
) -> list[list[str]]:
    """The statements of the elimination, in blocks of rows; entries: expressions by column of the
    first rows, whose others are zero, in place of those of `a`. A large matrix takes `TOGETHER`
    rows a block, part of their columns after part: what they take of the rows above them then
    comes into the first level of the cache once for all of them."""
    rows, at, blocks = _rows(pattern), pattern.places, []
    together = TOGETHER if pattern.size >= IN_CACHE else 1

    def entry(i: int, j: int) -> str:
        return entries[i].get(j, "V{}") if i < len(entries) else f"a[{at[i, j]}]"

    for first in range(0, pattern.size, together):
        group = range(first, min(first + together, pattern.size))
        lines = []
        for part in _parts(rows, group):
            for i in group:
                lines += [f"{V} w{i}_{j} = {entry(i, j)};" for j in part if (i, j) in at]
            for k in range(group[-1] + 1):
                right = [j for j in part if j > k and (k, j) in at]
                below = [i for i in group if i > k and (i, k) in at]
                if k in group and k in part:
                    lines.append(f"a[{at[k, k]}] = reciprocal(w{k}_{k});")
                if k in group:
                    lines += [f"a[{at[k, j]}] = w{k}_{j};" for j in right]
                if k in part:
                    for i in below:
                        lines.append(
                            f"w{i}_{k} = w{i}_{k} * a[{at[k, k]}]; a[{at[i, k]}] = w{i}_{k};"
                        )
                for j in right:
                    lines += [f"w{i}_{j} = w{i}_{j} - w{i}_{k} * a[{at[k, j]}];" for i in below]
        blocks.append(["{", *(f"  {line}" for line in lines), "}"])
    return blocks


def _parts(rows: list[list[int]], group: range) -> list[list[int]]:
    """The columns of some rows; of several rows in parts whose entries fit into registers."""
    columns = sorted({j for i in group for j in rows[i]})
    if len(group) == 1:
        return [columns]
    parts: list[list[int]] = [[]]
    room = ENTRIES
    for j in columns:
        size = sum(j in rows[i] for i in group)
        if size > room:
            parts.append([])
            room = ENTRIES
        parts[-1].append(j)
        room -= size
    return parts


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

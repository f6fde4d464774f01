"""Sparse LU by rows without pivoting, as a list of operations, and printed as C++ without an index.

Takes a `Pattern`; gives blocks of `Part`s, and the statements of these. An operation (row, pivot,
column) with row, column >= pivot is, by what is equal,

    row = pivot = column    the reciprocal of the pivot
    row = pivot             the entry of U is done
    column = pivot          the entry of L: times the reciprocal of the pivot
    none                    the entry less that of L times that of U

The matrix then has L below the diagonal, the reciprocals of the pivots on it and U above it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from combred.native.solver.layout import Pattern
from combred.native.solver.terms import indented, total

TOGETHER, ENTRIES = 12, 14  # rows that are eliminated together, and their entries at a time
IN_REGISTERS = 26  # unknowns of a solution that is kept in registers

Operation = tuple[int, int, int]  # row, pivot, column


@dataclass(frozen=True)
class Part:
    """Some columns of a block of rows: the entries (row, column), and what is done to them."""

    entries: list[tuple[int, int]]
    operations: list[Operation]


def elimination(pattern: Pattern) -> list[list[Part]]:
    """The parts of each block of `TOGETHER` rows, in order, part of their columns after part: what
    they take of the rows above them comes into the first level of the cache once for all of them,
    and they do not wait for each other."""
    blocks = []
    for first in range(0, pattern.size, TOGETHER):
        rows = range(first, min(first + TOGETHER, pattern.size))
        blocks.append([
            Part(
                [(i, j) for i in rows for j in columns if (i, j) in pattern.places],
                list(_operations(pattern, rows, columns)),
            )
            for columns in _columns(pattern, rows)
        ])  # fmt: skip
    return blocks


def _operations(pattern: Pattern, rows: range, columns: list[int]) -> Iterator[Operation]:
    for k in range(rows[-1] + 1):
        right = [j for j in columns if j >= k and (k, j) in pattern.places]
        below = [i for i in rows if i > k and (i, k) in pattern.places]
        if k in rows:
            yield from ((k, k, j) for j in right)
        yield from ((i, k, j) for j in right for i in below)


def _columns(pattern: Pattern, rows: range) -> list[list[int]]:
    """The columns of some rows; of several rows in parts whose entries fit into registers."""
    counts = {j: sum((i, j) in pattern.places for i in rows) for j in range(pattern.size)}
    columns = [j for j, count in counts.items() if count]
    if len(rows) == 1:
        return [columns]
    parts: list[list[int]] = [[]]
    room = ENTRIES
    for j in columns:
        if counts[j] > room:
            parts.append([])
            room = ENTRIES
        parts[-1].append(j)
        room -= counts[j]
    return parts


def statements(pattern: Pattern, V: str, entries: Sequence[dict[int, str]] = ()) -> list[list[str]]:
    """The statements of the elimination, in blocks of rows; entries: expressions by column of the
    first rows, whose others are zero, in place of those of `a`. V: type of an entry."""
    at = pattern.places

    def entry(i: int, j: int) -> str:
        return entries[i].get(j, "V{}") if i < len(entries) else f"a[{at[i, j]}]"

    def done(part: Part, i: int, k: int, j: int) -> str:
        if i == k:
            return f"a[{at[k, j]}] = {f'reciprocal(w{k}_{k})' if j == k else f'w{k}_{j}'};"
        if j == k:
            return f"w{i}_{k} = w{i}_{k} * a[{at[k, k]}]; a[{at[i, k]}] = w{i}_{k};"
        left = f"w{i}_{k}" if (i, k) in part.entries else f"a[{at[i, k]}]"
        return f"w{i}_{j} = w{i}_{j} - {left} * a[{at[k, j]}];"

    blocks = []
    for parts in elimination(pattern):
        lines = []
        for part in parts:
            own = [f"{V} w{i}_{j} = {entry(i, j)};" for i, j in part.entries]
            own += [done(part, *operation) for operation in part.operations]
            lines += ["{", *indented(own), "} APART"]
        blocks.append(["{", *indented(lines), "}"])
    return blocks


def solution(pattern: Pattern, V: str) -> list[str]:
    """The statements that solve for the right-hand side `b`, in its place."""
    return _by_columns(pattern, V) if pattern.size < IN_REGISTERS else _by_rows(pattern)


def _by_columns(pattern: Pattern, V: str) -> list[str]:
    size, at = pattern.size, pattern.places
    lines = [f"{V} b{i} = b[{i}];" for i in range(size)]
    for j in range(size):
        below = [i for i in range(j + 1, size) if (i, j) in at]
        lines += [f"b{i} = b{i} - a[{at[i, j]}] * b{j};" for i in below]
    for j in reversed(range(size)):
        lines.append(f"b{j} = b{j} * a[{at[j, j]}]; b[{j}] = b{j};")
        lines += [f"b{i} = b{i} - a[{at[i, j]}] * b{j};" for i in range(j) if (i, j) in at]
    return lines


def _by_rows(pattern: Pattern) -> list[str]:
    at, forward, back = pattern.places, [], []
    for i, columns in enumerate(pattern.rows):
        known = [(j, (-1.0, f"a[{at[i, j]}] * b[{j}]")) for j in columns]
        lower = [(1.0, f"b[{i}]"), *(term for j, term in known if j < i)]
        upper = [(1.0, f"b[{i}]"), *(term for j, term in known if j > i)]
        forward.append(f"b[{i}] = {total(lower)};")
        back.append(f"b[{i}] = ({total(upper)}) * a[{at[i, i]}];")
    return [*forward, *reversed(back)]

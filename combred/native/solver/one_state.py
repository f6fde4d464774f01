"""What a call of one state has besides, as C++: tables of reactions and of a dense matrix.

Takes a `Layout` and the `Pattern` of floats; gives tables for solver/mechanism.hpp, which
source/solver/across.hpp reads, and solver/one_state.hpp. In lanes are Arrhenius reactions and the
falloffs of Troe and of Lindemann, of at most three species on a side; the statements of all others
are those of `progress`, with one number.
"""

from dataclasses import dataclass, replace

import numpy as np

from combred.chemistry.rate_forms import Arrhenius, Falloff, Troe
from combred.native.solver.arrhenius import log2_terms
from combred.native.solver.falloff import center_terms
from combred.native.solver.layout import Derivatives, Layout, Pattern, Terms
from combred.native.solver.progress import rates_of_progress
from combred.native.solver.terms import PART, TYPE, UNUSED, functions, total

MOST = 128  # unknowns of a matrix that is dense
WIDEST = 16  # floats of a vector: tables are filled up to full ones
SIDE = 3  # species on a side of a reaction in lanes
NOTHING = -100.0  # log2 of the rate constant of a lane without a reaction
GUARD = "#if COMBRED_BYTES == 64 || (COMBRED_BYTES == 32 && defined(__AVX2__))"
HEAD = f"{GUARD}\n#define COMBRED_ONE_STATE\nnamespace {{  // of each level\nstruct Single;\n"
MATRIX = """template <> struct Matrix<Single> {{
  static constexpr bool EXACT = false;
  static constexpr int UNKNOWNS = {size}, NONZEROS = {nonzeros}, T_T = {T_T};
{arrays}}};
"""


@dataclass(frozen=True, eq=False)
class Lanes:
    """places: of each reaction in the arrays of Progress<Single>; room: of those in lanes, with
    full vectors; falls: how many of these are falloffs, which come first."""

    places: dict[int, int]
    room: int
    falls: int


def _flat(orders: dict[int, float] | None) -> list[int] | None:
    """The species of a side, each as often as its order says; None: not whole, or too many."""
    found: list[int] = []
    for k, order in (orders or {}).items():
        if order < 0.5 or abs(order - round(order)) > 1e-9:
            return None
        found += [k] * round(order)
    return found if len(found) <= SIDE else None


def _in_lanes(term: Terms) -> bool:
    rate = term.reaction.rate
    if isinstance(rate, Falloff):
        known = not rate.activated and isinstance(rate.broadening, Troe | None)
    else:
        known = isinstance(rate, Arrhenius)
    return known and None not in (_flat(term.forward), _flat(term.reverse))


def _lanes(layout: Layout) -> Lanes:
    def key(i: int) -> tuple[bool, int]:
        term = layout.terms[i]
        sides = _flat(term.forward) or [], _flat(term.reverse) or []
        return i not in falls, max(map(len, sides))

    falls = set(layout.falloffs)
    own = sorted((i for i, t in enumerate(layout.terms) if _in_lanes(t)), key=key)
    room = max(1, -(-len(own) // WIDEST)) * WIDEST
    others = (i for i, t in enumerate(layout.terms) if not _in_lanes(t))
    found = {i: at for at, i in enumerate(own)} | {i: room + m for m, i in enumerate(others)}
    return Lanes(found, room, len(falls.intersection(own)))


def _derivatives(layout: Layout, lanes: Lanes) -> Derivatives:
    """Those of the reactions that are not in lanes, by their places in Progress<Single>."""
    found, first = Derivatives(layout), SIDE * 2 * lanes.room
    kept = [(i, k) for i, k in found.places if lanes.places[i] >= lanes.room]
    found.places = {(lanes.places[i], k): first + m for m, (i, k) in enumerate(kept)}
    found.negative = {(lanes.places[i], k) for i, k in found.negative}
    found.exact = {(lanes.places[i], k) for i, k in found.exact}
    return found


def identity(pattern: Pattern) -> str:
    """What dispatch.hpp knows of it."""
    return "#define COMBRED_DENSE  // its matrix may be: across.hpp\n" * (pattern.size <= MOST)


def tables(layout: Layout, pattern: Pattern) -> str:
    """The struct `Across` and `Matrix<Single>`; empty where the matrix is too large."""
    if pattern.size > MOST:
        return ""
    lanes, room, n = _lanes(layout), _lanes(layout).room, layout.mechanism.n_species
    slots, body = np.full((2 * SIDE, room), n), np.full(room, max(1, len(layout.colliders)))
    signs, orders, base = np.zeros((2, room)), np.zeros((2, room)), np.zeros(room)
    rate, ratio, center = np.zeros((3, room)), np.zeros((3, room)), np.zeros((6, room))
    rate[0] = NOTHING
    for i, at in lanes.places.items():
        term = layout.terms[i]
        if at >= room:
            continue
        for side, species in enumerate((term.forward, term.reverse)):
            flat = _flat(species) or []
            slots[SIDE * side : SIDE * side + len(flat), at] = flat
            signs[side, at] = term.sign if species is not None else 0.0
            orders[side, at] = len(flat) - 1.0
        if term.body is not None:
            body[at], base[at] = term.body, layout.base[term.body]
        own = term.reaction.rate
        if isinstance(own, Falloff):
            ratio[:, at] = log2_terms(own.low, 1.0, own.high)
            center[:, at] = center_terms(own.broadening)
            own = own.high
        assert isinstance(own, Arrhenius)
        rate[:, at] = log2_terms(own, term.order)
    third = (slots[SIDE - 1 :: SIDE].reshape(2, -1, 8) != n).any(axis=2)
    rows = -(-pattern.size // WIDEST) * WIDEST
    bits, above = [[0, 0] for _ in range(pattern.size)], [[] for _ in range(pattern.size)]
    for i, j in pattern.places:
        bits[j][i // 64] |= 1 << i % 64
        if j > i:
            above[j].append(i)
    # All rows, and of each column those above the diagonal; each list has an end.
    lists = [[*own, pattern.size] for own in (range(pattern.size), *above)]
    sizes = {
        "FALLS": lanes.falls, "ROOM": room, "ALL": max(lanes.places.values()) + 1,
        "MORE": len(_derivatives(layout, lanes).places), "ROWS": rows,
    }  # fmt: skip
    begins = np.cumsum([len(own) for own in lists])
    arrays = [
        ("int", "SLOTS", slots), ("int", "BODY", body), ("float", "BASE", base),
        ("float", "RATE", rate), ("float", "RATIO", ratio), ("float", "CENTER", center),
        ("bool", "THIRD", third), ("float", "SIGN", signs), ("float", "ORDERS", orders),
        ("uint64_t", "COLUMN", bits), ("short", "ABOVE_FROM", begins[:-1]),
        ("short", "ABOVE", sum(lists, [])),
    ]  # fmt: skip
    lines = [f"  static constexpr int {name} = {size};\n" for name, size in sizes.items()]
    lines += [_array(*one) for one in arrays]
    end = pattern.size - 1
    of_matrix = [
        ("T_ROW", [at * rows + end for at in range(layout.n_reactive)]),
        ("PIVOTS", [pattern.size * rows + at for at in range(pattern.size)]),
    ]
    matrix = MATRIX.format(
        size=pattern.size, nonzeros=rows * (pattern.size + 1), T_T=end * rows + end,
        arrays="".join(_array("int", *one) for one in of_matrix),
    )  # fmt: skip
    return f"{HEAD}struct Across {{\n{''.join(lines)}}};\n}}  // namespace\n{matrix}#endif\n"


def _array(kind: str, name: str, values: object) -> str:
    found = np.array(values, dtype=object if kind == "uint64_t" else None)
    shape = "".join(f"[{max(1, size)}]" for size in found.shape)
    rows = found if found.ndim == 2 else [found]
    cast = {"float": lambda x: repr(float(np.float32(x))), "uint64_t": lambda x: f"{x}u"}
    texts = [", ".join(map(cast.get(kind, lambda x: str(int(x))), row)) for row in rows]
    inner = "}, {".join(texts)
    text = f"{{{{{inner}}}}}" if found.ndim == 2 else f"{{{inner}}}"
    return f"  alignas(64) static constexpr {kind} {name}{shape} = {text};\n"


def statements(layout: Layout, pattern: Pattern) -> str:
    """The functions `rates_of_progress`, `production` and `set_factors` of one state."""
    if pattern.size > MOST:
        return ""
    lanes, n = _lanes(layout), layout.n_reactive
    derivatives, first = _derivatives(layout, lanes), (f"{UNUSED} typedef Single R;", TYPE)
    given = {"q": "const Progress<Single> &"}
    others = [
        replace(one, i=lanes.places[one.i]).statements(layout, derivatives)
        for one in rates_of_progress(layout, near=True)
        if lanes.places[one.i] >= lanes.room
    ]
    gas = {"g": "const Gas<Single> &", "q": "Progress<Single> &"}
    rates = functions("rates_of_others", gas, others, {"D": "bool "}, first=first)
    sums: list[list[tuple[float, str]]] = [[] for _ in range(n)]
    of_c: dict[tuple[int, int], list[tuple[float, str]]] = {}
    for i, at in lanes.places.items():
        term = layout.terms[i]
        if at < lanes.room:
            sides = enumerate((_flat(term.forward) or [], _flat(term.reverse) or []))
            slopes = [
                (k, 1.0 - 2.0 * side, (SIDE * side + m) * lanes.room + at)
                for side, flat in sides for m, k in enumerate(flat)
            ]  # fmt: skip
        else:
            slopes = [
                (k, derivatives.sign(at, k), place)
                for (own, k), place in derivatives.places.items()
                if own == at and (at, k) not in derivatives.exact
            ]
        for row, nu in term.net.items():
            sums[row].append((nu, f"q.q[{at}]"))
            of_c.setdefault((row, pattern.T), []).append((nu, f"q.qT[{at}]"))
            for k, sign, place in slopes:
                if k < n:
                    of_c.setdefault((row, k), []).append((-nu * sign, f"q.d[{place}]"))
    blocks = [[f"f[{k}] = {total(own)};"] for k, own in enumerate(sums)]
    produced = functions("production", given | {"f": "float *"}, blocks, part=n, first=first)
    lines = []
    for i, j in pattern.places:
        text = total(of_c.get((i, j), []))
        text = f"scale * ({text})" if j == pattern.T else text + " + diagonal" * (i == j)
        lines += [[f"a[{j} * Across::ROWS + {i}] = {text};"]] * (i < n)
    given |= {"diagonal": "float ", "scale": "float ", "a": "float *__restrict "}
    entries = functions("set_entries", given, lines, part=20 * PART, first=first)
    return f"""#ifdef COMBRED_ONE_STATE
{rates}
template <class, bool D> INLINE void rates_of_progress(const Gas<Single> &g, Progress<Single> &q) {{
  rates_across<D>(g, q);
  rates_of_others<D>(g, q);
}}
{produced}
{entries}
INLINE void set_factors(const Progress<Single> &q, float diagonal, float scale, float *a) {{
  set_entries(q, diagonal, scale, a);
  eliminate_across(a);
}}
#endif
"""

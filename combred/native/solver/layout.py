"""The unknowns of a mechanism in the order of elimination, and the places of the matrix.

Takes the reactions of a mechanism; gives a `Layout`: which species react, in which order they are
eliminated, what each reaction depends on; and the `Pattern` of each kind of Jacobian.
"""

from dataclasses import dataclass

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.rate_forms import Falloff, LinearBurke
from combred.chemistry.reactions import Reaction, read_reactions


@dataclass(frozen=True, eq=False)
class Terms:
    """A reaction in the order of elimination. net, forward, reverse: coefficients by species, the
    exponents of the concentrations in the latter two (reverse: None for an irreversible one); sign:
    of its rate constant; body: its set of colliders, or None; named: the colliders but M of a
    linear-Burke rate, by species."""

    reaction: Reaction
    net: dict[int, float]
    forward: dict[int, float]
    reverse: dict[int, float] | None
    sign: float
    body: int | None
    named: list[int]

    @property
    def order(self) -> float:
        """The power of C0 in the unit of the forward rate constant, of a falloff the high one."""
        return sum(self.forward.values()) + (self.third_body is not None) - 1.0

    @property
    def third_body(self) -> int | None:
        """The set of colliders by whose [M] the rate constants are multiplied: not of a falloff."""
        return None if isinstance(self.reaction.rate, Falloff) else self.body


@dataclass(frozen=True, eq=False)
class Layout:
    """species (n_species,): their indices in the mechanism in the order of elimination, the
    `n_reactive` that react first; terms: of the reactions that happen; colliders: the different
    sets of efficiencies of third bodies (n_species,), in the order of elimination; base: for each
    set the efficiency, 0 or 1, that most species have.
    """

    mechanism: Mechanism
    species: list[int]
    n_reactive: int
    terms: list[Terms]
    colliders: list[np.ndarray]
    base: list[float]

    @property
    def names(self) -> list[str]:
        """The names of the species in the order of elimination."""
        return [self.mechanism.species_names[k] for k in self.species]

    @property
    def falloffs(self) -> list[int]:
        """The reactions that have a falloff."""
        return [i for i, t in enumerate(self.terms) if isinstance(t.reaction.rate, Falloff)]


@dataclass(frozen=True, eq=False)
class Pattern:
    """The matrix of one kind of Jacobian. exact: with third bodies and S, as in
    source/solver/step.hpp; places: (row, column) -> index, in rows, fill-in included; columns: for
    each row of a species all columns of species that it depends on, inert ones included."""

    exact: bool
    size: int
    places: dict[tuple[int, int], int]
    columns: list[list[int]]

    @property
    def T(self) -> int:
        """Row and column of T; that of S comes before it."""
        return self.size - 1

    @property
    def rows(self) -> list[list[int]]:
        """The columns of the entries of each row."""
        rows: list[list[int]] = [[] for _ in range(self.size)]
        for i, j in self.places:
            rows[i].append(j)
        return rows


class Derivatives:
    """Where d q_i / d c_k of reaction i and species k lies in Progress::d: `places`; `negative`:
    those that lie there with the other sign; `exact`: those of an exact Jacobian alone."""

    def __init__(self, layout: Layout):
        self.places: dict[tuple[int, int], int] = {}
        self.negative: set[tuple[int, int]] = set()
        self.exact: set[tuple[int, int]] = set()
        for i, term in enumerate(layout.terms):
            of_sides = sorted({*term.forward, *(term.reverse or {})})
            for k in dict.fromkeys([*of_sides, *term.named]):
                self.places[i, k] = len(self.places)
            self.negative |= {(i, k) for k in of_sides if k not in term.forward}
            self.exact |= {(i, k) for k in term.named if k not in of_sides}

    def sign(self, i: int, k: int) -> float:
        """The sign with which it lies there."""
        return -1.0 if (i, k) in self.negative else 1.0


def lay_out(mechanism: Mechanism) -> Layout:
    """The layout of a mechanism. Raises ValueError as `read_reactions` does."""
    reactions = [r for r in read_reactions(mechanism) if _sign(r) != 0.0]
    n = mechanism.n_species
    net = np.zeros((len(reactions), n))
    for row, reaction in zip(net, reactions, strict=True):
        for sign, side in ((1.0, reaction.products), (-1.0, reaction.reactants)):
            for k, nu in side.items():
                row[k] += sign * nu
    reactive = np.flatnonzero(np.abs(net).max(axis=0, initial=0.0) > 0.0).tolist()
    if not reactive:
        raise ValueError(f"no reaction of {mechanism.name} changes a species: nothing to integrate")
    depends = [set(r.orders) | (set(r.products) if r.reversible else set()) for r in reactions]
    filled = np.eye(n, dtype=bool)
    for row, columns in zip(net, depends, strict=True):
        filled[np.ix_(np.flatnonzero(row), np.array(sorted(columns), dtype=int))] = True
    species = _elimination(filled, reactive) + [k for k in range(n) if k not in set(reactive)]
    place = {k: i for i, k in enumerate(species)}
    sets: dict[bytes, int] = {}
    terms = []
    for row, reaction in zip(net, reactions, strict=True):
        body = None
        if reaction.efficiencies is not None:
            body = sets.setdefault(reaction.efficiencies[species].tobytes(), len(sets))
        own = {place[k]: float(row[k]) for k in np.flatnonzero(row).tolist()}
        orders = {k: n for k, n in reaction.orders.items() if n != 0.0 or row[k] < 0.0}
        forward = {place[k]: order for k, order in orders.items()}
        reverse = None
        if reaction.reversible:
            both = {k: forward.get(k, 0.0) + own.get(k, 0.0) for k in {*forward, *own}}
            reverse = {k: order for k, order in sorted(both.items()) if abs(order) > 1e-9}
        rate = reaction.rate
        named = [place[k] for k in rate.named] if isinstance(rate, LinearBurke) else []
        terms.append(Terms(reaction, own, forward, reverse, _sign(reaction), body, named))
    colliders = [np.frombuffer(efficiencies) for efficiencies in sets]
    base = [float((row == 1.0).sum() > (row == 0.0).sum()) for row in colliders]
    return Layout(mechanism, species, len(reactive), terms, colliders, base)


def pattern(layout: Layout, exact: bool) -> Pattern:
    """The pattern of the matrix, with what elimination fills in."""
    n, size = layout.n_reactive, layout.n_reactive + exact + 1
    depends: list[set[int]] = [set() for _ in range(n)]
    for term in layout.terms:
        columns = {*term.forward, *(term.reverse or {})}
        if exact and term.body is not None:
            others = layout.colliders[term.body] != layout.base[term.body]
            columns |= set(np.flatnonzero(others).tolist())
        columns |= set(term.named) if exact else set()
        for k in term.net:
            depends[k] |= columns
    A = np.zeros((size, size), dtype=bool)
    for k, columns in enumerate(depends):
        A[k, [k, *(j for j in columns if j < n)]] = True
    A[:, n:] = A[size - 1, :] = True
    if exact:
        A[n, : n + 1] = True
        A[n, size - 1] = A[size - 1, n] = False
    for j in range(size):
        rows = np.flatnonzero(A[j + 1 :, j]) + j + 1
        A[np.ix_(rows, np.flatnonzero(A[j, j + 1 :]) + j + 1)] = True
    places = {(int(i), int(j)): place for place, (i, j) in enumerate(np.argwhere(A))}
    return Pattern(exact, size, places, [sorted(columns) for columns in depends])


def _elimination(filled: np.ndarray, species: list[int]) -> list[int]:
    """Species in the order of Markowitz, with pivots on the diagonal: next is the one that may fill
    in least (Duff, Erisman & Reid, Direct Methods for Sparse Matrices, section 7.2)."""
    filled, left, order = filled.copy(), list(species), []
    while left:
        sub = filled[np.ix_(left, left)]
        j = left.pop(int(np.argmin((sub.sum(axis=0) - 1) * (sub.sum(axis=1) - 1))))
        order.append(j)
        rows = [r for r in left if filled[r, j]]
        filled[np.ix_(rows, [c for c in left if filled[j, c]])] = True
    return order


def _sign(reaction: Reaction) -> float:
    """The sign of the rate constant, 0 of a reaction that never happens."""
    rate = reaction.rate
    if isinstance(rate, Falloff):
        return rate.high.sign if rate.low.sign != 0.0 else 0.0
    return float(getattr(rate, "sign", 1.0))

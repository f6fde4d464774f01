"""A stiff solver of a mechanism as C++17: the text of all files.

Takes a `Mechanism`; gives the files of one folder by name, relative to source/. Written for it are
`solver/mechanism.hpp` (sizes, polynomials, atoms), `solver/reactions.hpp`, `solver/one_state.hpp`
and `identity.hpp`; the others are those of source/, the same for all mechanisms.
"""

from functools import lru_cache
from pathlib import Path

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.rate_forms import SCARCE
from combred.chemistry.states import HIGHEST_P, HIGHEST_T, LOWEST_T, LOWEST_Y, OFF_SUM
from combred.native.arrays import comment, constant
from combred.native.identity import Identity, write_identity
from combred.native.solver import one_state
from combred.native.solver.layout import Derivatives, Layout, lay_out, pattern
from combred.native.solver.matrix import places, write_elimination, write_factors, write_matrix
from combred.native.solver.polynomials import T_RANGE, gibbs_terms, heat_terms
from combred.native.solver.pressure_tables import Pressures
from combred.native.solver.production import destruction, element_balance, production, third_bodies
from combred.native.solver.progress import rates_of_progress
from combred.native.solver.terms import LOG2_C0, LOG2_E, NEVER, TYPE, functions, real

SOURCE = Path(__file__).parents[1] / "source"
TOLERANCE = 1e-3  # the default
LARGEST_TOLERANCE = LONGEST_DT = 1e30  # in the range of float
MOST_ATTEMPTS = 5000  # of a state, unless told
BALANCED = 1e-9  # atoms of a reaction: less is rounding
WRITTEN = (
    "// Of the mechanism {name}. Written by combred.native: change nothing here.\n#pragma once\n"
)


def generate(mechanism: Mechanism, multiplied: bool = False) -> dict[str, str]:
    """The C++ files of a solver: name -> text; multiplied: one whose rate constants have factors
    that are set at run time (`combred_multiply`). Raises ValueError, with the reactions' names, for
    rates of a type that is not known."""
    layout = lay_out(mechanism)
    files = {
        str(file.relative_to(SOURCE)): file.read_text()
        for folder in (SOURCE, SOURCE / "solver")
        for file in sorted(folder.iterdir())
        if file.is_file()
    }
    pressures, derivatives = Pressures(layout), Derivatives(layout)
    reactions = rates_of_progress(layout, near=True, multiplied=multiplied)
    patterns = {"float": pattern(layout, False), "double": pattern(layout, True)}
    files["identity.hpp"] = one_state.identity(patterns["float"]) + _identity(mechanism)
    kinds = {"R": "class ", "D": "bool "}
    parts = {
        "mechanism.hpp": [
            '#include "solver/lanes.hpp"\n\nnamespace solver {\n',
            _sizes(layout, pressures, derivatives),
            _tables(layout),
            *[_places(layout)] * multiplied,
            "template <class R> struct Matrix;",
            *(places(layout, found, kind) for kind, found in patterns.items()),
            *[one_state.tables(layout, patterns["float"])] * (not multiplied),
        ],
        "reactions.hpp": [
            '#include "solver/across.hpp"\n#include "solver/elimination.hpp"\n',
            "namespace solver {\n",
            functions(
                "set_third_bodies", {"g": "Gas<R> &"}, [third_bodies(layout)],
                kinds | {"STAGE": "bool "}, first=(TYPE,),
            ),
            pressures.text(),
            functions(
                "rates_of_progress", {"g": "const Gas<R> &", "q": "Progress<R> &"},
                [reaction.statements(layout, derivatives) for reaction in reactions],
                kinds, first=(TYPE,),
            ),
            production(layout, "production", "q"),
            production(layout, "production_T", "qT"),
            destruction(layout),
            element_balance(layout, _atoms(layout)),
            write_matrix(layout, patterns["double"], derivatives),
            write_factors(layout, patterns["float"], derivatives),
            *(write_elimination(p, kind) for kind, p in patterns.items()),
        ],
        "one_state.hpp": [
            '#include "solver/reactions.hpp"\n\nnamespace solver {\n',
            *[one_state.statements(layout, patterns["float"])] * (not multiplied),
        ],
    }  # fmt: skip
    head, end = WRITTEN.format(name=comment(mechanism.name)), "}  // namespace solver\n"
    for name, own in parts.items():
        files[f"solver/{name}"] = "\n".join([head, *own, end])
    return files


@lru_cache(maxsize=8)
def files_of(mechanism: Mechanism) -> dict[str, str]:
    """The files of `generate`, written once: a run makes several libraries of a mechanism."""
    return generate(mechanism)


def _places(layout: Layout) -> str:
    """What a library with factors on its rate constants has besides: the place of each reaction
    among those of the mechanism."""
    found = ", ".join(str(term.reaction.index) for term in layout.terms)
    return f"#define COMBRED_MULTIPLIERS\nconstexpr int PLACE[REACTIONS] = {{{found}}};\n"


def _sizes(layout: Layout, pressures: Pressures, derivatives: Derivatives) -> str:
    mechanism = layout.mechanism
    nine = bool(np.any(mechanism.thermo[:, :, :2]))
    sizes = {
        "SPECIES": mechanism.n_species,
        "REACTIVE": layout.n_reactive,
        "ELEMENTS": len(_atoms(layout)[0]),
        "REACTIONS": len(layout.terms),
        "LISTED": mechanism.solution(transport=False).n_reactions,  # with those whose rate is zero
        "COLLIDERS": max(1, len(layout.colliders)),
        "PRESSURES": max(1, pressures.size),
        "DERIVATIVES": max(1, len(derivatives.places)),
        "FALLOFFS": max(1, len(layout.falloffs)),
        "REGIONS": mechanism.thermo.shape[1],
        "GIBBS_TERMS": 9 if nine else 7,
        "HEAT_TERMS": 8 if nine else 6,
    }
    return "".join([
        *(constant(name, size, "int") for name, size in sizes.items()),
        f"constexpr bool NINE = {str(nine).lower()};  // polynomials of nine coefficients\n",
        constant("GAS_CONSTANT", ct.gas_constant),
        constant("LOWEST_STAGE_T", T_RANGE[0]),
        constant("HIGHEST_STAGE_T", T_RANGE[1]),
        "// Of a valid state: T [K], p [Pa], Y, the difference of their sum from 1.\n",
        constant("LOWEST_T", LOWEST_T),
        constant("HIGHEST_T", HIGHEST_T),
        constant("HIGHEST_P", HIGHEST_P),
        constant("LOWEST_Y", LOWEST_Y),
        constant("OFF_SUM", OFF_SUM),
        "// Of a call.\n",
        constant("LARGEST_TOLERANCE", LARGEST_TOLERANCE),
        constant("LONGEST_DT", LONGEST_DT),
        constant("MOST_ATTEMPTS", MOST_ATTEMPTS, "int"),
        constant("C0", 2.0**LOG2_C0),
        constant("SCARCE", SCARCE / 2.0**LOG2_C0),
        constant("LOG2_E", LOG2_E),
    ])  # fmt: skip


def _tables(layout: Layout) -> str:
    """Polynomials, molar masses and atoms, in the order of elimination."""
    mechanism = layout.mechanism
    thermo = mechanism.thermo[layout.species].transpose(1, 0, 2)  # (regions, species, 9)
    breaks = np.minimum(mechanism.T_breaks[layout.species].T, NEVER)
    if len(breaks) == 0:
        breaks = np.full((1, mechanism.n_species), NEVER)
    gibbs, heat = gibbs_terms(thermo, mechanism.reference_pressure), heat_terms(thermo)
    usual = min(1, len(thermo) - 1)  # the region of flames
    # What elements contribute cancels in every reaction that is balanced to the last digit, as not
    # all are that Cantera reads; all of an inert species cancels.
    atoms, n = _atoms(layout), layout.n_reactive
    nets = np.array([[term.net.get(k, 0.0) for k in range(n)] for term in layout.terms])
    exact = np.abs(nets @ atoms).max(initial=0.0) < BALANCED
    of_elements = np.eye(mechanism.n_species)
    of_elements[:n, :n] = exact * atoms @ np.linalg.pinv(atoms)
    gibbs = gibbs - of_elements @ gibbs[usual]
    heat_of_elements = of_elements @ heat[usual, :, 5]
    heat[:, :, 5] -= heat_of_elements
    if not np.any(thermo[:, :, :2]):
        gibbs, heat = gibbs[:, :, :7], heat[:, :, :6]
    weights = mechanism.molecular_weights[layout.species]
    columns = ", ".join(map(str, layout.species))
    formed = [sum(term.reaction.products.values()) for term in layout.terms]
    return "".join([
        f"// Columns of the states, without T and p.\nTABLE int COLUMN[SPECIES] = {{{columns}}};\n",
        _table("double", "WEIGHT", weights),
        _table("double", "PER_WEIGHT", 1.0 / weights),
        _table("double", "HIGHEST_BREAK", breaks.max(axis=1)),
        _table("double", "LOWEST_BREAK", breaks.min(axis=1)),
        "// Moles that a reaction forms.\n",
        _table("double", "FORMED", np.array(formed)),
        "// Coefficients of log2 exp(g / RT) / (p0 / RT C0) and of h / R, as in "
        "solver/thermo.hpp.\n",
        _table("R", "BREAK", breaks),
        _table("R", "GIBBS", gibbs),
        _table("R", "HEAT", heat),
        "// What was subtracted from h / R, K.\n",
        _table("R", "HEAT_OF_ELEMENTS", heat_of_elements),
    ])  # fmt: skip


def _atoms(layout: Layout) -> np.ndarray:
    """Atoms of each element in the species that react (n_reactive, n_elements)."""
    mechanism, n = layout.mechanism, layout.n_reactive
    gas = mechanism.solution(transport=False)
    atoms = [[gas.n_atoms(k, e) for e in range(gas.n_elements)] for k in layout.species[:n]]
    found = np.array(atoms, dtype=float)
    return found[:, found.any(axis=0)]


def _table(kind: str, name: str, values: np.ndarray) -> str:
    """A constant array; those of R are there for both precisions."""
    values = np.asarray(values, dtype=float)
    shape = "".join(f"[{size}]" for size in values.shape)
    head = "template <class R> " if kind == "R" else ""

    def rows(found: np.ndarray, indent: str) -> str:
        if found.ndim == 1:
            texts = (real(x) if kind == "R" else repr(x) for x in found.tolist())
            return f"{{{', '.join(texts)}}}"
        inner = f",\n{indent}  ".join(rows(row, indent + "  ") for row in found)
        return f"{{\n{indent}  {inner}}}"

    return f"{head}TABLE {kind} {name}{shape} = {rows(values, '')};\n"


def _identity(mechanism: Mechanism) -> str:
    """The text of `identity.hpp`. A solver has no range of training."""
    card = {
        "kind": "solver",
        "mechanism": mechanism.name,
        "phase": mechanism.phase,
        "mechanism_sha256": mechanism.sha256,
        "species": list(mechanism.species_names),
    }
    return write_identity(mechanism, Identity(TOLERANCE, card))

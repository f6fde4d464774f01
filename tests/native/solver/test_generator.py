"""The text of a solver: refusals, the comment beside each reaction, the order of elimination."""

import re
from pathlib import Path

import numpy as np
import pytest
from compiled_program import ONE_STATE, compile_quickly

from combred.chemistry.mechanism_file import DATA
from combred.native.solver import Solver, generate, layout, solver
from combred.native.solver.layout import lay_out, pattern

PLASMA = """
phases:
- name: gas
  thermo: ideal-gas
  species: [{h2o2.yaml/species: [H2, H, O, O2, OH, H2O, N2]}]
  kinetics: gas
  reactions: all
reactions:
- equation: H + O2 <=> O + OH
  rate-constant: {A: 2.65e+13, b: -0.6707, Ea: 7e7}
- equation: O + H2 => H + OH
  type: two-temperature-plasma
  rate-constant: {A: 1.0, b: 0.0, Ea-gas: 1.0}
"""
HALF = """
phases:
- name: gas
  thermo: ideal-gas
  species: [{h2o2.yaml/species: [H2, O2, H2O]}]
  kinetics: gas
  reactions: all
reactions:
- equation: H2 + 0.5 O2 <=> H2O
  rate-constant: {A: 1.0e+6, b: 0.0, Ea: 7e7}
"""
pytestmark = pytest.mark.filterwarnings("ignore:.*T2=0")  # of Cantera


def test_unknown_types_are_refused_by_name_and_nothing_is_written(mechanism_of, tmp_path):
    mechanism = mechanism_of(PLASMA)
    message = r"1 of the 2 reactions .*reaction 2, .*H2 \+ O.*two-temperature-plasma"
    for make in (lay_out, generate, lambda m: Solver(m, folder=tmp_path / "here")):
        with pytest.raises(ValueError, match=message):
            make(mechanism)
    assert not list(tmp_path.iterdir())


def test_a_solver_is_made_from_a_name_and_kept_in_the_cache(equimolar, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compile_quickly(monkeypatch, "-O0", ONE_STATE)
    file = tmp_path / equimolar.name
    file.write_text(equimolar.text)
    made = solver(str(file))
    assert made.library.path.is_relative_to(tmp_path / "combred")
    written = made.library.path.stat().st_mtime_ns
    again = solver(equimolar)
    assert again.library.path == made.library.path
    assert again.library.path.stat().st_mtime_ns == written
    with pytest.raises(FileNotFoundError, match="drm91.yaml"):
        solver("drm91.yaml")


def test_products_of_a_reversible_reaction_lower_its_rate(mechanism_of):
    """Of q = F - B with half a molecule, sum_k c_k dq/dc_k is that of F less that of B: H2 and O2
    have plus, H2O, whose derivative is kept without its sign, minus."""
    mechanism = mechanism_of(HALF)
    species = [mechanism.species_names[k] for k in lay_out(mechanism).species]
    text = generate(mechanism)["solver/reactions.hpp"]
    (of_density,) = re.findall(r"g\.at_constant_p \* \((.*)\);", text)
    signs = re.findall(r"(^|[+-]) ?q\.d\[\d+\] \* g\.c\[(\d+)\]", of_density)
    found = {species[int(k)]: "-" if sign == "-" else "+" for sign, k in signs}
    assert found == {"H2": "+", "O2": "+", "H2O": "-"}


@pytest.mark.parametrize("name", ["drm19", "every_kind", "every_thermo"])
def test_each_equation_stands_beside_its_statements(request, name):
    """As `{  // 3: O + H2 <=> H + OH`, of all reactions that happen, in order."""
    mechanism = request.getfixturevalue(name)
    text = generate(mechanism)["solver/reactions.hpp"]
    found = re.findall(r"\{  // (\d+): (.*)\n((?:(?!\{  // ).*\n)*?)  \}\n", text)
    terms = lay_out(mechanism).terms
    equations = [(str(t.reaction.index + 1), t.reaction.equation) for t in terms]
    assert [(number, equation) for number, equation, _ in found] == equations
    for i, (_, _, statements) in enumerate(found):
        assert f"q.q[{i}] = " in statements and f"q.q[{i + 1}] = " not in statements
    reactions = mechanism.solution().n_reactions
    never = {"drm19": 0, "every_kind": 1, "every_thermo": 3}[name]  # with a factor of zero
    assert len(terms) == reactions - never


def test_the_text_has_no_trace_of_the_machine(drm19):
    text = "".join(generate(drm19).values())
    assert str(DATA) not in text and str(Path.home()) not in text


def test_the_order_of_elimination_fills_in_less_than_the_natural_one(drm19, monkeypatch):
    """Seen: 332 places instead of 394 in floats, 407 instead of 439 in doubles."""
    found = [[len(pattern(lay_out(drm19), exact).places) for exact in (False, True)]]
    monkeypatch.setattr(layout, "_elimination", lambda filled, species: sorted(species))
    found.append([len(pattern(lay_out(drm19), exact).places) for exact in (False, True)])
    assert np.all(np.array(found[0]) < 0.95 * np.array(found[1]))

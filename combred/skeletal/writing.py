"""A skeleton as a mechanism file of Cantera: the file of the detailed mechanism without what was
removed.

Takes a `Skeleton`; gives the text of a YAML file. Numbers keep the digits of the detailed file, but
for pre-exponential factors that a refit has changed. Colliders, elements and marks of duplicates
that no longer stand for anything are removed, too.
"""

import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from combred.chemistry.mechanism import Mechanism, mechanism_of_text
from combred.chemistry.species_names import species_index
from combred.chemistry.yaml_nodes import compose, node_of, plain, value_of
from combred.config.fields import require
from combred.skeletal.skeleton import Skeleton, kind

HEADS = "units", "elements"  # of a file, beside its phases and sections
MULTIPLIERS = "rate-multipliers"  # key of a phase
STATES = (900.0, 1e5), (1500.0, 1e6), (2500.0, 3e6)  # K, Pa, in which rates are compared
SAME = 1e-9  # of the largest rate of creation


def mechanism_of(skeleton: Skeleton, name: str, note: str = "") -> Mechanism:
    """The mechanism of a skeleton under the name of its file. Raises ValueError as `text_of`."""
    return mechanism_of_text(text_of(skeleton, note), name, skeleton.network.mechanism.phase)


def text_of(skeleton: Skeleton, note: str = "") -> str:
    """The YAML file of a skeleton; note: its description. Raises ValueError where a reaction of the
    file is not the one that Cantera reads in its place."""
    mechanism = skeleton.network.mechanism
    root = compose(mechanism.text)
    phases = value_of(root, "phases")
    assert isinstance(phases, SequenceNode)  # else there were no mechanism
    phase = next(one for one in phases.value if plain(value_of(one, "name")) == mechanism.phase)
    phases.value = [phase]
    left, own = set(skeleton.names()), _element_sections(phase)
    for section, entries in _sections(root, phase, "species"):
        own.add(section)
        entries.value = [one for one in entries.value if _name(one) in left | {None}]
    _filter_reactions(root, phase, skeleton, own)
    _filter_phase(phase, skeleton)
    kept = {"phases", *HEADS, *own}
    pairs = [(key, value) for key, value in root.value if key.value in kept]
    if note:
        pairs.insert(0, (node_of("description"), node_of(note)))
    stream = io.StringIO()
    YAML(typ="safe", pure=True).serialize(MappingNode(root.tag, pairs), stream)
    return stream.getvalue()


def _element_sections(phase: Node) -> set[str]:
    """The sections from which a phase takes elements."""
    listed = plain(value_of(phase, "elements"))
    return {name for one in listed or [] if isinstance(one, dict) for name in one}


def _name(entry: Node) -> str | None:
    """The name of a species; None of the entry of a section that has its units."""
    return plain(value_of(entry, "name"))


def _sections(root: Node, phase: Node, kind: str) -> Iterator[tuple[str, SequenceNode]]:
    """The sections of species or of reactions of a phase: name and entries."""
    listed = value_of(phase, kind)
    named: list[tuple[str, str]] = []
    if not isinstance(listed, SequenceNode):
        named = [(kind, "all" if listed is None else str(plain(listed)))]
    elif kind == "species" and all(isinstance(one, ScalarNode) for one in listed.value):
        named = [(kind, "named")]
    for one in listed.value if isinstance(listed, SequenceNode) and not named else []:
        pairs = plain(one).items() if isinstance(one, MappingNode) else [(plain(one), "all")]
        named += [(name, taken if isinstance(taken, str) else "named") for name, taken in pairs]
    for name, taken in named:
        entries = value_of(root, name)
        if isinstance(entries, SequenceNode) and taken != "none":
            yield name, entries


def _filter_phase(phase: Node, skeleton: Skeleton) -> None:
    """Leave out of a phase the species and elements that are not in a skeleton, and its state; give
    it the multipliers of the reactions that are left."""
    mechanism = skeleton.network.mechanism
    has = (mechanism.elements[:, skeleton.species] != 0.0).any(axis=1)  # ions lack electrons
    gone = {name for name, kept in zip(mechanism.element_names, has, strict=True) if not kept}
    left = set(skeleton.names())
    _filter_names(value_of(phase, "species"), lambda name: name in left)
    _filter_names(value_of(phase, "elements"), lambda name: name not in gone)
    replaced = "state", MULTIPLIERS
    phase.value = [(key, value) for key, value in phase.value if key.value not in replaced]
    factors = mechanism.multipliers[skeleton.reactions]
    if np.any(factors != 1.0):  # by the numbers of the reactions that are left
        pairs = [(node_of("default"), _scalar(1.0))]
        pairs += [(_scalar(i), _scalar(x)) for i, x in enumerate(factors.tolist()) if x != 1.0]
        phase.value.append((node_of(MULTIPLIERS), MappingNode("tag:yaml.org,2002:map", pairs)))


def _scalar(number: float) -> ScalarNode:
    """The node of a number."""
    return ScalarNode(f"tag:yaml.org,2002:{type(number).__name__}", repr(number))


def _filter_names(listed: Node | None, is_kept: Callable[[str], bool]) -> None:
    """Leave those names of a list which are kept; the list may be one of sections with lists."""
    if isinstance(listed, MappingNode):
        for _, names in listed.value:
            _filter_names(names, is_kept)
        listed.value = [pair for pair in listed.value if pair[1].value != []]
    elif isinstance(listed, SequenceNode):
        for one in listed.value:
            _filter_names(one, is_kept)
        listed.value = [
            one for one in listed.value
            if one.value and (not isinstance(one, ScalarNode) or is_kept(one.value))
        ]  # fmt: skip


def _filter_reactions(root: Node, phase: Node, skeleton: Skeleton, own: set[str]) -> None:
    """Leave the reactions of a skeleton in the sections of a phase, whose names join `own`."""
    network, i = skeleton.network, 0
    reactions = network.mechanism.solution(transport=False).reactions()
    names, marked = network.mechanism.species_names, []
    for section, entries in _sections(root, phase, "reactions"):
        own.add(section)
        left = []
        for entry in entries.value:
            equation = plain(value_of(entry, "equation"))
            if equation is None:  # the units of the section
                left.append(entry)
                continue
            participants = _participants(equation)
            if any(species_index(names, one) is None for one in participants | _orders(entry)):
                continue  # by `declared-species` or `skip-undeclared-third-bodies`
            require(
                i < len(reactions) and participants == _participants(network.reactions[i].equation),
                f"{network.mechanism.name}: reaction {i + 1} of the file, {equation}, is not the "
                "one that Cantera reads in its place",
            )
            if skeleton.reactions[i]:
                if skeleton.factors is not None and skeleton.factors[i] != 1.0:
                    entry = _without_aliases(entry)
                    _scale(entry, float(skeleton.factors[i]))
                left.append(entry)
                _filter_colliders(entry, skeleton)
                if reactions[i].duplicate:
                    marked.append((kind(reactions[i], names), entry))
            i += 1
        entries.value = left
    alike = Counter(same for same, _ in marked)
    for same, entry in marked:
        if alike[same] == 1:
            entry.value = [(key, value) for key, value in entry.value if key.value != "duplicate"]


def _participants(equation: str) -> set[str]:
    """The species of an equation, without coefficients and third bodies M."""
    words = re.sub(r"\(\+\s+", "(+", equation).split()
    bodies = {word[2:-1] for word in words if word.startswith("(+") and word.endswith(")")}
    names = {w for w in words if not w.startswith("(+") and w not in ("+", "=", "=>", "<=>")}
    return {w for w in names | bodies if w != "M" and not _is_number(w)}


def _orders(entry: Node) -> set[str]:
    """The species of which a reaction has orders."""
    return set(plain(value_of(entry, "orders")) or {})


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _filter_colliders(entry: Node, skeleton: Skeleton) -> None:
    """Leave the colliders of a reaction that are left."""
    for key in ("efficiencies", "colliders"):
        value = value_of(entry, key)
        if isinstance(value, MappingNode):
            value.value = [pair for pair in value.value if skeleton.has(pair[0].value)]
        elif isinstance(value, SequenceNode):
            name_of = {id(one): str(plain(value_of(one, "name"))) for one in value.value}
            value.value = [
                one for one in value.value
                if name_of[id(one)] == "M" or skeleton.has(name_of[id(one)])
            ]  # fmt: skip


def _without_aliases(node: Node) -> Node:
    """A copy of a node, in which what an alias stands for is a copy of its own."""
    if isinstance(node, MappingNode):
        pairs = [(_without_aliases(key), _without_aliases(value)) for key, value in node.value]
        return MappingNode(node.tag, pairs, flow_style=node.flow_style)
    if isinstance(node, SequenceNode):
        parts = [_without_aliases(one) for one in node.value]
        return SequenceNode(node.tag, parts, flow_style=node.flow_style)
    assert isinstance(node, ScalarNode)
    return ScalarNode(node.tag, node.value, style=node.style)


def _scale(entry: Node, factor: float) -> None:
    """Multiply the rate constants of a reaction by a factor."""
    for key, value in entry.value:
        if key.value in ("rate-constant", "low-P-rate-constant", "high-P-rate-constant"):
            _scale_constant(value, factor)
        elif key.value == "rate-constants":
            for one in value.value:
                _scale_constant(one, factor)
        elif key.value == "data" and isinstance(value, SequenceNode):  # of Chebyshev polynomials
            first = value.value[0].value[0]
            first.value = repr(float(first.value) + math.log10(factor))
        elif key.value == "colliders":
            for one in value.value:
                _scale(one, factor)


def _scale_constant(node: Node, factor: float) -> None:
    """Multiply A of an Arrhenius expression, {A: ..., ...} or [A, b, Ea], which may have a unit."""
    A = value_of(node, "A") if isinstance(node, MappingNode) else node.value[0]
    assert isinstance(A, ScalarNode)
    number, *unit = A.value.split()
    A.value = " ".join([repr(float(number) * factor), *unit])


def require_same_rates(skeleton: Skeleton, reduced: Mechanism) -> None:
    """Raises RuntimeError where the production rates of the file of a skeleton are not those of the
    detailed mechanism with its multipliers, in random states."""
    detailed = skeleton.network.mechanism.solution(transport=False)
    for i, factor in enumerate(skeleton.cantera_multipliers):
        detailed.set_multiplier(float(factor), i)
    gas, rng = reduced.solution(transport=False), np.random.default_rng(0)
    for T, p in STATES:
        Y = rng.dirichlet(np.ones(skeleton.n_species))
        whole = np.zeros(len(skeleton.species))
        whole[skeleton.species] = Y
        for one, fractions in ((detailed, whole), (gas, Y)):
            one.TPY = T, p, fractions
        size = detailed.creation_rates.max()
        off = np.abs(detailed.net_production_rates[skeleton.species] - gas.net_production_rates)
        if not off.max() <= SAME * size:
            raise RuntimeError(
                f"{reduced.name} has other rates than the search had: please report the mechanism"
            )

"""A Cantera mechanism, read once: species, elements, thermodynamic data, inert species.

First in the flow. Takes the name of a mechanism file; gives a `Mechanism` of plain arrays, which
simulation, dataset and surrogate share, and which an exported surrogate carries.
"""

import contextlib
import difflib
import functools
import hashlib
import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cantera as ct
import numpy as np

from combred.chemistry.fuel import Composition, choose_fuel, mixtures, spelled
from combred.chemistry.mechanism_file import (
    find,
    phase_of,
    phases,
    read,
    require_harmless,
    stand_alone,
)
from combred.chemistry.polynomials import read_polynomials
from combred.chemistry.states import require_real
from combred.config.fields import require, shown

log = logging.getLogger(__name__)
STEADY = "qss|(quasi|steady).*(state|species)"  # in keys that name species in a steady state


@dataclass(frozen=True, eq=False)
class Mechanism:
    """The constants of an ideal-gas mechanism.

    text: the YAML file, with what it takes from other files; phase: the name of the phase in it;
    name: the base name of the file; sha256: hash of species and reactions. molecular_weights
    (n_species,) [kg/kmol]; elements (n_elements, n_species) [kg of element per kg of species].
    thermo (n_species, n_regions, 9): NASA-9 coefficients, T_breaks (n_species, n_regions - 1) [K]:
    the temperatures between their regions (`read_polynomials` has the equations); they are of
    reference_pressure [Pa]; T_min, T_max [K]: the range in which the polynomials of all species
    hold. inert (n_species,) bool: species with no net stoichiometry in any reaction.
    """

    text: str = field(repr=False)
    phase: str
    name: str
    sha256: str
    species_names: tuple[str, ...]
    element_names: tuple[str, ...]
    molecular_weights: np.ndarray
    elements: np.ndarray
    thermo: np.ndarray
    T_breaks: np.ndarray
    reference_pressure: float
    T_min: float
    T_max: float
    inert: np.ndarray

    @property
    def n_species(self) -> int:
        """The number of species."""
        return len(self.species_names)

    def solution(self, transport: bool = True) -> ct.Solution:
        """A new Cantera phase of this mechanism; with its model of transport where the mechanism
        has the data for it, unless `transport` is False."""
        if transport:
            with contextlib.suppress(ct.CanteraError):  # a species without data
                return phase_of(self.text, self.phase, transport=True)
        return phase_of(self.text, self.phase)

    def index(self, species: str) -> int:
        """Index of a species; capitals count only where two names differ by nothing else. Raises
        ValueError, with the nearest name, if there is none."""
        if species in self.species_names:
            return self.species_names.index(species)
        names = [name.upper() for name in self.species_names]
        if names.count(species.upper()) == 1:
            return names.index(species.upper())
        near = difflib.get_close_matches(species.upper(), names, n=3)
        hint = ", ".join(self.species_names[names.index(name)] for name in near)
        hint = f" (did you mean {hint}?)" if near else ""
        raise ValueError(
            f"{self.name} has no species {shown(species)!r}{hint}. Its species are "
            f"{' '.join(self.species_names)}"
        )

    def mend_mismatch(self, other: str) -> str:
        """The remedy, as text, for a file that was made for the mechanism named `other`."""
        if other == self.name:
            return (
                f"Both are called {other}, but species or rates have changed since. Restore the "
                "old mechanism file, or start a new run=NAME."
            )
        return f"Give mechanism={other}, or another run=NAME."

    def resolve_fuel(self, fuel: str) -> str:
        """A fuel as a composition in moles, with the names of the mechanism; of "auto" that of
        `combred.chemistry.fuel.choose_fuel`. Raises ValueError where a species is unknown, or where
        "auto" leaves a choice."""
        return choose_fuel(self) if fuel == "auto" else spelled(self, fuel)

    def mixture(
        self, fuel: Composition, oxidizer: Composition, phi: float | Sequence[float] | np.ndarray
    ) -> np.ndarray:
        """Mass fractions of fuel and oxidizer at the equivalence ratio phi > 0: (n_species,), or
        (n, n_species) where phi is (n,).

        fuel, oxidizer: compositions in moles, as in "CH4:1" and "O2:1, N2:3.76", or {"CH4": 1}.
        Raises ValueError where they are not, or where the fuel does not burn in the oxidizer.
        """
        ratios = require_real("phi", phi)
        found = mixtures(self, fuel, oxidizer, np.atleast_1d(ratios).tolist())
        return found if ratios.ndim else found[0]


def load_mechanism(file: str | Path, phase: str = "") -> Mechanism:
    """Read a mechanism: one of combred's own (`drm19.yaml`), one of Cantera's, or a path.

    phase: the name of a phase of the file; without it the first that is an ideal gas that reacts.
    A file that has not changed is read once. Raises FileNotFoundError if there is no such file,
    and ValueError if there is no such phase, or none with NASA-7 or NASA-9 polynomials or constant
    heat capacities (the surrogate and the solvers evaluate these themselves), and as
    `combred.chemistry.mechanism_file.read`.
    """
    if isinstance(file, ct.Solution):  # whose rates may have been changed
        raise ValueError(f"give the file of a mechanism, as {file.source!r}, not a Cantera phase")
    path = find(str(file))
    return _of_text(read(path), str(file), path.name, phase, path.parent)


def mechanism_of_text(text: str, name: str, phase: str) -> Mechanism:
    """The mechanism of the text of a YAML file, which a network carries. Raises as
    `load_mechanism`."""
    try:
        require_harmless(text)
    except ValueError as error:
        raise ValueError(f"the mechanism {shown(name)!r} cannot be read: {error}") from error
    return _of_text(text, name, name, phase, Path())


def _of_text(text: str, file: str, name: str, phase: str, folder: Path) -> Mechanism:
    """The mechanism of the text of a file that lies in a folder."""
    try:
        text = stand_alone(text, folder)
        listed = phases(text)
    except ValueError as error:
        raise ValueError(f"{shown(file)!r} cannot be read: {error}{_convert(file)}") from error
    if phase and phase not in listed and _gases(listed):
        raise ValueError(f"{shown(file)!r} has no phase {shown(phase)!r}: give {_gases(listed)}")
    return _load(file, name, phase, text)


@functools.lru_cache(maxsize=32)
def _load(file: str, name: str, phase: str, text: str) -> Mechanism:
    """The mechanism of a text that names no other file."""
    gas = _read(file, phase, text)
    left = [n for n, p in phases(text).items() if p.get("kinetics") in ("surface", "edge")]
    if left and not phase:
        log.warning(
            "%s: phase %s is taken; reactions of %s are left out", file, gas.name, ", ".join(left)
        )
    heads = re.findall(r"""(?m)^["']?([\w-]+)["']?(?= *:)""", text)  # keys of the file
    for key in (key for key in [*gas.input_data, *heads] if re.search(STEADY, key.lower())):
        log.warning("%s: `%s` is left out: all species are integrated", file, key)
    for one in (name, gas.name, *gas.species_names, *gas.element_names):
        require(
            one.isprintable(),
            f"{shown(file)!r}: the name {shown(one)!r} has characters that cannot be printed: "
            "change it",
        )
    species = gas.species()
    try:
        thermo, T_breaks = read_polynomials(species)
    except ValueError as error:
        raise ValueError(f"{file!r}: {error}, or give another mechanism") from error
    net = gas.product_stoich_coeffs - gas.reactant_stoich_coeffs
    weights = gas.molecular_weights
    atoms = np.array(
        [[gas.n_atoms(k, m) for k in range(gas.n_species)] for m in range(gas.n_elements)]
    )
    return Mechanism(
        text=text,
        phase=gas.name,
        name=name,
        sha256=content_hash(gas),
        species_names=tuple(gas.species_names),
        element_names=tuple(gas.element_names),
        molecular_weights=weights,
        elements=atoms * np.asarray(gas.atomic_weights)[:, None] / weights[None, :],
        thermo=thermo,
        T_breaks=T_breaks,
        reference_pressure=gas.reference_pressure,  # of all species: Cantera refuses others
        T_min=max(s.thermo.min_temp for s in species),
        T_max=min(s.thermo.max_temp for s in species),
        inert=~np.any(net != 0, axis=1),
    )


def _read(file: str, phase: str, text: str) -> ct.Solution:
    """The phase that is taken of a text."""
    listed = phases(text)
    seen, failed = [], {}
    for name in [phase] if phase else listed:
        try:
            seen.append(phase_of(text, name))
        except (RuntimeError, UnicodeError) as error:  # of Cantera
            failed[name] = _told(error)
            continue
        if seen[-1].thermo_model == "ideal-gas" and seen[-1].n_reactions > 0:
            for other in _ideal(failed, listed):
                log.warning(
                    "%s: phase %s is taken; phase %s cannot be read by Cantera: %s",
                    file, name, other, failed[other],
                )  # fmt: skip
            return seen[-1]
    for name in _ideal(failed, listed) or ([] if seen else failed):
        raise ValueError(f"{shown(file)!r} cannot be read by Cantera: {failed[name]}")
    found = "; ".join(f"{g.name}, {g.thermo_model}, {g.n_reactions} reactions" for g in seen)
    raise ValueError(
        f"combred needs an ideal gas that reacts, and {file!r} has no such phase ({found}): give "
        "another mechanism"
        + (f", or its phase {_gases(listed)}" if phase and _gases(listed) else "")
    )


def _told(error: Exception) -> str:
    """What Cantera says is wrong with a file, on one line, without the lines of the file."""
    text = re.sub(
        r"(?m)^\|.*|^>.*|^\s*\^\s*$|^\*+$|^\w+ thrown by .*|^Error on .*:$", "", str(error)
    )
    place = re.search(r"(?m)^Error on (lines? .*) of ", str(error))
    return (f"{place[1]}: " if place else "") + shown(" ".join(text.split()), 1000)


def _convert(file: str) -> str:
    """The command that makes a YAML file of one of an older form, as a hint."""
    name = Path(file).name
    if name.endswith((".yaml", ".yml")):
        return ""
    if name.endswith(".cti"):
        return f". Cantera's `cti2yaml {name}` makes a YAML file of it"
    if name.endswith(".xml"):
        return f". Cantera's `ctml2yaml {name}` makes a YAML file of it"
    return (
        ". A CHEMKIN file becomes YAML, in its folder, by Cantera's "
        f"`ck2yaml --input={name} --thermo=FILE --transport=FILE`"
    )


def _ideal(names: Iterable[str], phases: dict[str, dict]) -> list[str]:
    """Those of the names that are of ideal gases."""
    return [name for name in names if phases.get(name, {}).get("thermo") == "ideal-gas"]


def _gases(phases: dict[str, dict]) -> str:
    """The names of the ideal gases that have reactions, for a message."""
    gases = [n for n, p in phases.items() if p.get("thermo") == "ideal-gas" and "kinetics" in p]
    return " or ".join(gases)


def content_hash(gas: ct.Solution) -> str:
    """sha256 of species and reactions; notes, transport data, comments and layout do not count."""

    def plain(entry: Mapping[str, Any]) -> dict:
        return {
            k: plain(v) if isinstance(v, dict) else v
            for k, v in entry.items()
            if k not in ("note", "transport")
        }

    content = {
        "species": [plain(s.input_data) for s in gas.species()],
        "thermo": [s.thermo.coeffs.tolist() for s in gas.species()],
        "reactions": [plain(r.input_data) for r in gas.reactions()],
    }
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()

"""A Cantera mechanism, read once: species, elements, thermodynamic data, inert species.

First in the flow. Takes the name of a mechanism file; gives a `Mechanism` of plain arrays, which
simulation, dataset and surrogate share, and which an exported surrogate carries.
"""

import contextlib
import difflib
import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cantera as ct
import numpy as np

from combred.chemistry.composition import Composition, moles
from combred.chemistry.mechanism_file import (
    find,
    phase_of,
    phases,
    read,
    require_harmless,
    stand_alone,
)
from combred.chemistry.phase import (
    choose_phase,
    content_hash,
    gases,
    how_to_convert,
    multipliers_of,
    warn_of_left_out,
)
from combred.chemistry.polynomials import read_polynomials
from combred.chemistry.species_names import species_index
from combred.chemistry.states import require_real
from combred.config.fields import require, shown

CACHED = threading.Lock()  # for the phases of `_gas`


@dataclass(frozen=True, eq=False)
class Mechanism:
    """The constants of an ideal-gas mechanism.

    text: the YAML file, with what it takes from other files; phase: the name of the phase in it;
    name: the base name of the file; sha256: `content_hash`. molecular_weights
    (n_species,) [kg/kmol]; elements (n_elements, n_species) [kg of element per kg of species].
    thermo (n_species, n_regions, 9): NASA-9 coefficients, T_breaks (n_species, n_regions - 1) [K]:
    the temperatures between their regions (`read_polynomials` has the equations); they are of
    reference_pressure [Pa]; T_min, T_max [K]: the range in which the polynomials of all species
    hold. inert (n_species,) bool: species with no net stoichiometry in any reaction. multipliers
    (n_reactions,): factors of the rate constants, the `rate-multipliers` of the phase.
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
    multipliers: np.ndarray

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
        ValueError, with the nearest name, if there is none, and as `species_index`."""
        index = species_index(self.species_names, species)
        if index is not None:
            return index
        names = [name.upper() for name in self.species_names]
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
            return f"Both are {other}, but species or rates differ: restore the old mechanism file."
        return f"Give the mechanism {other}, or another file."

    def spelled(self, composition: Composition) -> str:
        """A composition in moles, as "CH4:1", "O2:1, N2:3.76" or {"CH4": 1}, with the names of the
        mechanism, which may differ in capitals. Raises ValueError as `moles`."""
        return ", ".join(f"{name}:{moles}" for name, moles in self.moles(composition).items())

    def moles(self, composition: Composition) -> dict[str, str]:
        """The moles of species of a composition. Raises ValueError where a species is unknown or
        has no moles."""
        return moles(composition, self.species_names, self.index)

    def mixture(
        self, fuel: Composition, oxidizer: Composition, phi: float | Sequence[float] | np.ndarray
    ) -> np.ndarray:
        """Mass fractions of fuel and oxidizer at the equivalence ratio phi > 0: (n_species,), or
        (n, n_species) where phi is (n,).

        fuel, oxidizer: compositions in moles, as in "CH4:1" and "O2:1, N2:3.76", or {"CH4": 1}.
        Raises ValueError where they are not, or where the fuel does not burn in the oxidizer.
        """
        ratios = require_real("phi", phi)
        if ratios.ndim > 1 or not np.all((ratios > 0) & (ratios < np.inf)):
            raise ValueError(f"phi={shown(phi)}: give one number above 0, or a list of them")
        each = np.atleast_1d(ratios).tolist()
        both = f"fuel {shown(fuel)}, oxidizer {shown(oxidizer)}"
        gas, found = _gas(self), np.empty((len(each) + 1, self.n_species))
        try:
            fuel, oxidizer = (
                {name: float(moles) for name, moles in self.moles(one).items()}
                for one in (fuel, oxidizer)
            )
            with CACHED:
                for i, ratio in enumerate([*each, *(2.0 * last for last in each[-1:])]):
                    gas.set_equivalence_ratio(ratio, fuel, oxidizer)
                    found[i] = gas.Y
        except ct.CanteraError as error:
            _gas.cache_clear()  # the state of the phase may be none
            raise ValueError(
                f"{both}: Cantera cannot mix them. Name a fuel that burns and an oxidizer with "
                "oxygen, each in finite moles above 0, as in 'O2:1, N2:3.76'."
            ) from error
        if each and np.array_equal(found[-2], found[-1]):
            raise ValueError(f"{both}: this fuel does not burn: name one that does, as in CH4:1")
        return found[:-1] if ratios.ndim else found[0]


@functools.lru_cache
def _gas(mechanism: Mechanism) -> ct.Solution:
    """A phase of a mechanism, read once: hold `CACHED` while its state is in use."""
    return mechanism.solution(transport=False)


def load_mechanism(file: str | Path | ct.Solution, phase: str = "") -> Mechanism:
    """Read a mechanism: one of combred's own (`drm19.yaml`), one of Cantera's, a path, or the file
    of a Cantera phase whose rates are as there.

    phase: the name of a phase of the file; without it the first that is an ideal gas that reacts.
    A file that has not changed is read once. Raises FileNotFoundError if there is no such file,
    and ValueError if there is no such phase, or none with NASA-7 or NASA-9 polynomials or constant
    heat capacities (the surrogate and the solvers evaluate these themselves), and as
    `combred.chemistry.mechanism_file.read`.
    """
    if isinstance(file, ct.Solution):
        return _of_solution(file)
    path = find(str(file))
    return _of_text(read(path), str(file), path.name, phase, path.parent)


def _of_solution(gas: ct.Solution) -> Mechanism:
    """The mechanism of the file of a phase. Raises ValueError where that is not the phase."""
    found = load_mechanism(gas.source, gas.name) if Path(gas.source).suffix else None
    if found is None or content_hash(gas) != found.sha256:
        raise ValueError(
            f"the phase {gas.name} is not that of its file, {gas.source}: write it with "
            "gas.write_yaml('FILE.yaml'), and give that file; for multipliers of rates take "
            "solver.with_multipliers"
        )
    return found


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
        raise ValueError(
            f"{shown(file)!r} cannot be read: {error}{how_to_convert(file)}"
        ) from error
    if phase and phase not in listed and gases(listed):
        raise ValueError(f"{shown(file)!r} has no phase {shown(phase)!r}: give {gases(listed)}")
    return _load(file, name, phase, text)


@functools.lru_cache(maxsize=32)
def _load(file: str, name: str, phase: str, text: str) -> Mechanism:
    """The mechanism of a text that names no other file."""
    gas = choose_phase(file, phase, text)
    warn_of_left_out(file, gas, text, bool(phase))
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
        multipliers=_multipliers(file, gas),
    )


def _multipliers(file: str, gas: ct.Solution) -> np.ndarray:
    """The multipliers (n_reactions,) of a phase of a file. Raises ValueError for one that is below
    zero or not finite."""
    given = gas.input_data.get("rate-multipliers", {})
    absent = [key for key in given if key != "default" and not 0 <= int(key) < gas.n_reactions]
    if absent:
        raise ValueError(
            f"{shown(file)!r}: `rate-multipliers` of the phase {gas.name} has the number "
            f"{shown(absent[0])}, and its reactions are numbered from 0 to {gas.n_reactions - 1}"
        )
    multipliers = multipliers_of(gas)
    wrong = np.flatnonzero(~((multipliers >= 0.0) & np.isfinite(multipliers)))
    if wrong.size:
        i = int(wrong[0])
        raise ValueError(
            f"{shown(file)!r}: `rate-multipliers` of the phase {gas.name} gives reaction {i + 1}, "
            f"{gas.reaction(i).equation}, the factor {multipliers[i]:g}: give finite factors from "
            "0 up"
        )
    return multipliers

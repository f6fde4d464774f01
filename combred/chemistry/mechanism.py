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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cantera as ct
import numpy as np
from ruamel.yaml import YAML, YAMLError  # a requirement of Cantera

from combred import data
from combred.chemistry.fuel import Composition, choose_fuel, mixtures, spelled
from combred.chemistry.polynomials import nasa7, read_polynomials
from combred.config.fields import one_line, shown

DATA = data.FOLDER / "mechanisms"
log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Mechanism:
    """The constants of an ideal-gas mechanism.

    file: the path, or the name of a file that Cantera ships; phase: the name of the phase in it;
    name: the base name of the file; sha256: hash of species and reactions. molecular_weights
    (n_species,) [kg/kmol]; elements (n_elements, n_species) [kg of element per kg of species].
    thermo (n_species, n_regions, 9): NASA-9 coefficients, T_breaks (n_species, n_regions - 1) [K]:
    the temperatures between their regions (`read_polynomials` has the equations); they are of
    reference_pressure [Pa]; T_min, T_max [K]: the range in which the polynomials of all species
    hold. inert (n_species,) bool: species with no net stoichiometry in any reaction.
    """

    file: str
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

    @property
    def has_nasa7(self) -> bool:
        """Whether all species have NASA-7 polynomials of at most two ranges."""
        try:
            return bool(self.nasa7())
        except ValueError:
            return False

    def nasa7(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """NASA-7 coefficients (n_species, 7) below and above T_mid, and T_mid (n_species,) [K].
        Raises ValueError, with their names, where species have other thermodynamic data."""
        return nasa7(self.thermo, self.T_breaks, self.species_names)

    def solution(self) -> ct.Solution:
        """A new Cantera phase of this mechanism."""
        return ct.Solution(self.file, self.phase)

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
        found = mixtures(self, fuel, oxidizer, np.atleast_1d(phi).tolist())
        return found if np.ndim(phi) else found[0]


def load_mechanism(file: str | Path, phase: str = "") -> Mechanism:
    """Read a mechanism: one of combred's own (`drm19.yaml`), one of Cantera's, or a path.

    phase: the name of a phase of the file; without it the first phase, or, where that is not an
    ideal gas that reacts, the first that is one. Raises FileNotFoundError if there is no such file,
    and ValueError if there is no such phase, or none with NASA-7 or NASA-9 polynomials or constant
    heat capacities (the surrogate and the solvers evaluate these themselves).
    """
    if isinstance(file, ct.Solution):  # whose rates may have been changed
        raise ValueError(f"give the file of a mechanism, as {file.source!r}, not a Cantera phase")
    return _load(str(file), phase)


@functools.lru_cache
def _load(file: str, phase: str) -> Mechanism:
    path, gas = _read(file, phase)
    others = {} if phase else _phases(path)
    left = [n for n, p in others.items() if p.get("kinetics") in ("surface", "edge")]
    if left:
        log.warning(
            "%s: phase %s is taken; reactions of %s are left out", file, gas.name, ", ".join(left)
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
        file=path,
        phase=gas.name,
        name=Path(file).name,
        sha256=_content_hash(gas),
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


def _read(file: str, phase: str) -> tuple[str, ct.Solution]:
    """The path of a mechanism that `load_mechanism` names, and its phase."""
    ours = ", ".join(sorted(p.name for p in DATA.glob("*.yaml")))
    give = (
        f"give the path of a YAML file, one of combred's ({ours}) or one that Cantera ships "
        "(gri30.yaml, h2o2.yaml, ...)"
    )
    path = file
    try:
        bare = Path(file).name == file and not Path(file).is_file()
        path = str(DATA / file) if bare and (DATA / file).is_file() else file
        if Path(path).is_dir():
            raise ValueError(f"{shown(file)!r} is a folder, and no mechanism: {give}")
        gas = ct.Solution(path, phase)
    except OSError as error:  # a name that is no path, as one that is too long
        raise ValueError(f"{shown(file)!r}: {error.strerror}: {give}") from error
    except (RuntimeError, UnicodeError) as error:  # of Cantera, or of its reader of YAML
        if not Path(path).is_file() and "not found" in str(error):
            raise FileNotFoundError(
                f"there is no mechanism {shown(file)!r}{_near(file)}: {give}"
            ) from error
        phases = _phases(path)
        if phase and _gases(phases) and phase not in phases:
            raise ValueError(
                f"{shown(file)!r} has no phase {shown(phase)!r}: give {_gases(phases)}"
            ) from error
        if not path.endswith((".yaml", ".yml")):
            give += (
                "; a CHEMKIN file becomes one, in its folder, by Cantera's "
                f"`ck2yaml --input={Path(path).name} --thermo=FILE --transport=FILE`"
            )
        raise ValueError(
            f"{shown(file)!r} cannot be read by Cantera ({shown(one_line(error), 300)}): {give}"
        ) from error
    if _reacts(gas):
        return path, gas
    seen, phases = [gas], _phases(path)
    for name in () if phase else phases:
        if name != gas.name:
            with contextlib.suppress(ct.CanteraError):  # as of a surface without its gas
                seen.append(ct.Solution(path, name))
        if _reacts(seen[-1]):
            return path, seen[-1]
    found = "; ".join(f"{g.name}, {g.thermo_model}, {g.n_reactions} reactions" for g in seen)
    raise ValueError(
        f"combred needs an ideal gas that reacts, and {file!r} has no such phase ({found}): give "
        "another mechanism"
        + (f", or its phase {_gases(phases)}" if phase and _gases(phases) else "")
    )


def _near(file: str) -> str:
    """The names of mechanisms that a name may stand for, as a question."""
    folders = [DATA, *map(Path, ct.get_data_directories())]
    known = {path.name for folder in folders for path in folder.glob("*.yaml")}
    near = difflib.get_close_matches(file.lower(), sorted(known))
    return f" (did you mean {', '.join(near)}?)" if near else ""


def _reacts(gas: ct.Solution) -> bool:
    """Whether a phase is an ideal gas that reacts."""
    return gas.thermo_model == "ideal-gas" and gas.n_reactions > 0


def _gases(phases: dict[str, dict]) -> str:
    """The names of the ideal gases that have reactions, for a message."""
    gases = [n for n, p in phases.items() if p.get("thermo") == "ideal-gas" and "kinetics" in p]
    return " or ".join(gases)


def located(file: str) -> Path:
    """The path of a mechanism's file, which may be in one of Cantera's folders. Raises
    FileNotFoundError where there is none."""
    for folder in (Path(), *map(Path, ct.get_data_directories())):
        if (folder / file).is_file():
            return folder / file
    raise FileNotFoundError(f"there is no mechanism {shown(file)!r}")


def _phases(path: str) -> dict[str, dict]:
    """The phases of a file (`located`) by name; none where they cannot be read. The rest of the
    file, which may be large, is not parsed."""
    with contextlib.suppress(OSError, YAMLError, UnicodeError, KeyError, TypeError):
        found = re.search(r"(?ms)^phases:.*?(?=^\w|\Z)", located(path).read_text("utf-8"))
        phases = YAML(typ="safe").load(found[0])["phases"]  # type: ignore[index]
        return {str(one["name"]): one for one in phases}
    return {}


def _content_hash(gas: ct.Solution) -> str:
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

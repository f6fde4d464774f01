"""A Cantera mechanism, read once: species, elements, thermodynamic data, inert species.

First in the flow. Takes the name of a mechanism file; gives a `Mechanism` of plain arrays, which
simulation, dataset and surrogate share, and which an exported surrogate carries.
"""

import difflib
import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import cantera as ct
import numpy as np

from combred import data

DATA = data.FOLDER / "mechanisms"
COMMON_FUELS = ("CH4", "H2", "C2H4", "C2H6", "C3H8", "NH3")


@dataclass(frozen=True, eq=False)
class Mechanism:
    """The constants of an ideal-gas mechanism.

    file: the path, or the name of a file that Cantera ships; name: its base name; sha256: hash of
    species and reactions. molecular_weights (n_species,) [kg/kmol]; elements (n_elements,
    n_species) [kg of element per kg of species]; nasa_low, nasa_high (n_species, 7): NASA-7
    coefficients below and above T_mid (n_species,) [K]; T_min, T_max [K]: the range in which the
    polynomials of all species hold; inert (n_species,) bool: species with no net stoichiometry in
    any reaction.
    """

    file: str
    name: str
    sha256: str
    species_names: tuple[str, ...]
    element_names: tuple[str, ...]
    molecular_weights: np.ndarray
    elements: np.ndarray
    nasa_low: np.ndarray
    nasa_high: np.ndarray
    T_mid: np.ndarray
    T_min: float
    T_max: float
    inert: np.ndarray

    @property
    def n_species(self) -> int:
        """The number of species."""
        return len(self.species_names)

    def solution(self) -> ct.Solution:
        """A new Cantera phase of this mechanism."""
        return ct.Solution(self.file)

    def index(self, species: str) -> int:
        """Index of a species. Raises ValueError, with the nearest name, if there is none."""
        if species not in self.species_names:
            near = difflib.get_close_matches(species.upper(), self.species_names, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise ValueError(
                f"{self.name} has no species {species!r}{hint}. Its species are "
                f"{' '.join(self.species_names)}"
            )
        return self.species_names.index(species)

    def mend_mismatch(self, other: str) -> str:
        """The remedy, as text, for a file that was made for the mechanism named `other`."""
        if other == self.name:
            return (
                f"Both are called {other}, but species or rates have changed since. Restore the "
                "old mechanism file, or start a new run=NAME."
            )
        return f"Give mechanism={other}, or another run=NAME."

    def resolve_fuel(self, fuel: str) -> str:
        """The fuel as a composition in moles: "auto" becomes the first of `COMMON_FUELS` that the
        mechanism has, any other text is checked and returned.

        Raises ValueError where a species is unknown, or where "auto" finds no common fuel.
        """
        if fuel != "auto":
            for part in fuel.split(","):
                self.index(part.split(":")[0].strip())
            return fuel
        for name in COMMON_FUELS:
            if name in self.species_names:
                return f"{name}:1"
        raise ValueError(
            f"sampling.fuel=auto looks for {', '.join(COMMON_FUELS)}, and {self.name} has none of "
            "them: name the fuel, as in sampling.fuel=CH3OH:1"
        )

    def mixture(self, fuel: str, oxidizer: str, phi: float) -> np.ndarray:
        """Mass fractions (n_species,) of fuel and oxidizer at the equivalence ratio phi > 0.

        fuel, oxidizer: Cantera compositions in moles, as in "CH4:1" and "O2:1, N2:3.76". Raises
        ValueError where they are not.
        """
        gas = self.solution()
        try:
            gas.set_equivalence_ratio(phi, fuel, oxidizer)
        except ct.CanteraError as error:
            reason = [line for line in str(error).splitlines() if line.strip(" *")][-1]
            raise ValueError(
                f"{self.name} cannot mix fuel {fuel!r} with oxidizer {oxidizer!r}: {reason} "
                "Give compositions in moles, as in sampling.oxidizer='O2:1, N2:3.76'."
            ) from error
        return gas.Y


def load_mechanism(file: str) -> Mechanism:
    """Read a mechanism: one of combred's own (`drm19.yaml`), one of Cantera's, or a path.

    Raises FileNotFoundError if there is no such file, and ValueError if it is not a reacting ideal
    gas with NASA-7 polynomials (the surrogate evaluates these polynomials itself).
    """
    return _load(file)


@functools.lru_cache
def _load(file: str) -> Mechanism:
    own = DATA / file
    bare = Path(file).name == file and not Path(file).is_file()
    path = str(own) if bare and own.is_file() else file
    try:
        gas = ct.Solution(path)
    except ct.CanteraError as error:
        if not Path(path).is_file() and "not found" in str(error):
            ours = sorted(p.name for p in DATA.glob("*.yaml"))
            raise FileNotFoundError(
                f"no mechanism {file!r}: give a path, one of combred's ({', '.join(ours)}) or "
                "one that Cantera ships (gri30.yaml, h2o2.yaml, ...)"
            ) from error
        raise ValueError(f"Cantera cannot read {file!r}: {error}") from error
    if gas.thermo_model != "ideal-gas" or gas.n_reactions == 0:
        raise ValueError(
            f"{file!r} is a {gas.thermo_model} phase with {gas.n_reactions} reactions; combred "
            "needs an ideal gas that reacts: give another mechanism=FILE"
        )
    species = gas.species()
    other = [s.name for s in species if not isinstance(s.thermo, ct.NasaPoly2)]
    if other:
        raise ValueError(
            f"combred needs NASA-7 polynomials, and these species of {file!r} have other "
            f"thermodynamic data: {' '.join(other)}. Fit NASA-7 polynomials to them, or give "
            "another mechanism=FILE"
        )
    coefficients = np.array([s.thermo.coeffs for s in species])
    net = gas.product_stoich_coeffs - gas.reactant_stoich_coeffs
    weights = gas.molecular_weights
    atoms = np.array(
        [[gas.n_atoms(k, m) for k in range(gas.n_species)] for m in range(gas.n_elements)]
    )
    return Mechanism(
        file=path,
        name=Path(file).name,
        sha256=_content_hash(gas),
        species_names=tuple(gas.species_names),
        element_names=tuple(gas.element_names),
        molecular_weights=weights,
        elements=atoms * np.asarray(gas.atomic_weights)[:, None] / weights[None, :],
        nasa_low=coefficients[:, 8:15],
        nasa_high=coefficients[:, 1:8],
        T_mid=coefficients[:, 0],
        T_min=max(s.thermo.min_temp for s in species),
        T_max=min(s.thermo.max_temp for s in species),
        inert=~np.any(net != 0, axis=1),
    )


def _content_hash(gas: ct.Solution) -> str:
    """sha256 of species and reactions; notes, transport data, comments and layout do not count."""

    def plain(entry: dict) -> dict:
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

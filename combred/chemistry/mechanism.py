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
from combred.config.fields import shown

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
                f"{self.name} has no species {shown(species)!r}{hint}. Its species are "
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
                try:
                    self.index(part.split(":")[0].strip())
                except ValueError as error:
                    raise ValueError(f"sampling.fuel={shown(fuel)}: {error}") from error
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
        ValueError where they are not, or where the fuel does not burn in the oxidizer.
        """
        gas = self.solution()
        both = f"sampling.fuel={shown(fuel)}, sampling.oxidizer={shown(oxidizer)}"
        try:
            gas.set_equivalence_ratio(phi, fuel, oxidizer)
            Y = gas.Y
            gas.set_equivalence_ratio(2.0 * phi, fuel, oxidizer)
        except ct.CanteraError as error:
            reason = [line for line in str(error).splitlines() if line.strip(" *")][-1]
            raise ValueError(
                f"{both}: {self.name} cannot mix them ({shown(reason, 120)}). Give compositions in "
                "moles, as in sampling.oxidizer='O2:1, N2:3.76'."
            ) from error
        if np.array_equal(Y, gas.Y):
            raise ValueError(f"{both}: this fuel does not burn: name one that does, as in CH4:1")
        return Y


def load_mechanism(file: str) -> Mechanism:
    """Read a mechanism: one of combred's own (`drm19.yaml`), one of Cantera's, or a path.

    Raises FileNotFoundError if there is no such file, and ValueError if it is not a reacting ideal
    gas with NASA-7 polynomials (the surrogate evaluates these polynomials itself).
    """
    return _load(file)


@functools.lru_cache
def _load(file: str) -> Mechanism:
    path, gas = _read(file)
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


def _read(file: str) -> tuple[str, ct.Solution]:
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
            raise ValueError(f"mechanism={shown(file)} is a folder: {give}")
        return path, ct.Solution(path)
    except OSError as error:  # a name that is no path, as one that is too long
        raise ValueError(f"mechanism={shown(file)}: {error.strerror}: {give}") from error
    except (RuntimeError, UnicodeError) as error:  # of Cantera, or of its reader of YAML
        if not Path(path).is_file() and "not found" in str(error):
            raise FileNotFoundError(f"there is no mechanism={shown(file)}: {give}") from error
        reason = " ".join(line for line in str(error).splitlines() if line.strip(" *"))
        raise ValueError(
            f"mechanism={shown(file)} cannot be read by Cantera ({shown(reason, 300)}): {give}"
        ) from error


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

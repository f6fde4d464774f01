"""The dictionary `thermo` of OpenFOAM: NASA-7 polynomials, and Sutherland's viscosity fitted to
Cantera's.

Takes a phase of a mechanism; gives the text.
"""

import cantera as ct
import numpy as np

from combred.chemistry.states import HIGHEST_T, LOWEST_T
from combred.native.openfoam.files import HEAD
from combred.native.openfoam.janaf import share_break
from combred.native.openfoam.words import BESIDE, require_words

P_STANDARD = 1e5  # Pa, of OpenFOAM's equilibrium constants; entropies are written for it
# OpenFOAM reads numbers of atoms as integers of 32 bits.
MOST_ATOMS = 2**31 - 1


def thermo(gas: ct.Solution, with_list: bool = False) -> str:
    """The dictionary of all species: molecular weight, NASA-7 polynomials, Sutherland's
    coefficients, elements; with_list: before them a list of their names, as from Foundation 8 on.
    Raises ValueError for a species without NASA-7 polynomials, for one whose polynomials cannot be
    refitted to the common break (`share_break`), for a name that is not a word of OpenFOAM, and for
    a number of atoms that is not whole."""
    taken = BESIDE if with_list else frozenset()
    require_words(gas.species_names, gas.element_names, taken)
    T_common, *halves = share_break(gas.species())
    names = f"species ( {' '.join(gas.species_names)} );\n" if with_list else ""
    return (HEAD.format("thermo") + names) + "\n".join(
        _species(gas, k, T_common, halves[0][k], halves[1][k]) for k in range(gas.n_species)
    )


def _species(gas: ct.Solution, k: int, T_common: float, low: np.ndarray, high: np.ndarray) -> str:
    species = gas.species(k)
    shift = np.append(np.zeros(6), np.log(species.thermo.reference_pressure / P_STANDARD))
    low_half, high_half = (" ".join(f"{a:.12g}" for a in half + shift) for half in (low, high))
    As, Ts = sutherland(gas, k)
    elements = " ".join(
        f"{name} {_whole(species.name, name, n)};" for name, n in species.composition.items()
    )
    return f"""{species.name}
{{
    specie {{ molWeight {gas.molecular_weights[k]:.12g}; }}
    thermodynamics
    {{
        Tlow {LOWEST_T:g}; Thigh {HIGHEST_T:g}; Tcommon {T_common:.12g};
        highCpCoeffs ( {high_half} );
        lowCpCoeffs ( {low_half} );
    }}
    transport {{ As {As:.6g}; Ts {Ts:.6g}; }}
    elements {{ {elements} }}
}}"""


def _whole(species: str, element: str, n: float) -> int:
    """The number of atoms of an element in a species. Raises ValueError where OpenFOAM cannot read
    it."""
    if not float(n).is_integer() or abs(n) > MOST_ATOMS:
        raise ValueError(
            f"the species {species} has {n:.12g} atoms of {element}, and OpenFOAM reads whole "
            f"numbers up to {MOST_ATOMS}: change the composition of {species}; or `combred export` "
            "without --openfoam writes the library, and the case needs a `thermo` of yours"
        )
    return int(n)


def sutherland(gas: ct.Solution, k: int) -> tuple[float, float]:
    """As [Pa s/K^0.5] and Ts [K] of mu = As sqrt(T) / (1 + Ts / T) for species k, by least squares
    of sqrt(T) / mu = (1 + Ts / T) / As from 300 to 2500 K."""
    T = np.linspace(300.0, 2500.0, 12)
    mu = []
    for one in T:
        gas.TP = one, ct.one_atm
        mu.append(gas.species_viscosities[k])
    slope, inverse = np.polyfit(1.0 / T, np.sqrt(T) / np.array(mu), 1)
    return 1.0 / inverse, slope / inverse

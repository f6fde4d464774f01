"""A mechanism in a case of OpenFOAM: `combred export MECHANISM CASE --openfoam`.

Takes a mechanism or a model; writes its library, and constant/thermo (NASA-7 polynomials,
Sutherland's viscosity fitted to Cantera's) and constant/reactions in the format of OpenFOAM's
foamChemistryReader. The chemistry solver `combred` (coupling/openfoam) has its reactions in its
library; OpenFOAM uses those of the file for its own chemistry and for time scales (PaSR).
"""

import logging
import os
import tempfile
from pathlib import Path
from typing import Any

import cantera as ct
import numpy as np

from combred.chemistry.fuel import nitrogen
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.states import HIGHEST_T, LOWEST_T
from combred.chemistry.transport import has_transport
from combred.native.exporter import LIBRARY, SOLVER_LIBRARY, export, names_mechanism
from combred.native.foam_files import OWN, put
from combred.native.foam_words import require_words
from combred.native.janaf import share_break

log = logging.getLogger(__name__)

P_STANDARD = 1e5  # Pa, of OpenFOAM's equilibrium constants; entropies are written for it
HEAD = "FoamFile {{ version 2.0; format ascii; class dictionary; object {0}; }}\n"


def thermo(gas: ct.Solution) -> str:
    """The dictionary of all species: molecular weight, NASA-7 polynomials, Sutherland's
    coefficients, elements. Raises ValueError for a species without NASA-7 polynomials, for one
    whose polynomials cannot be refitted to the common break (`share_break`), and for a name that is
    not a word of OpenFOAM."""
    require_words(gas.species_names, gas.element_names)
    T_common, *halves = share_break(gas.species())
    return HEAD.format("thermo") + "\n".join(
        _species(gas, k, T_common, halves[0][k], halves[1][k]) for k in range(gas.n_species)
    )


def _species(gas: ct.Solution, k: int, T_common: float, low: np.ndarray, high: np.ndarray) -> str:
    species = gas.species(k)
    shift = np.append(np.zeros(6), np.log(species.thermo.reference_pressure / P_STANDARD))
    low_half, high_half = (" ".join(f"{a:.12g}" for a in half + shift) for half in (low, high))
    As, Ts = sutherland(gas, k)
    elements = " ".join(f"{name} {n:g};" for name, n in species.composition.items())
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


def reactions(gas: ct.Solution, listed: bool = True) -> str:
    """The dictionary of elements, species and, if `listed`, reactions. Raises ValueError for a kind
    of reaction that OpenFOAM does not know."""
    elements, species = " ".join(gas.element_names), " ".join(gas.species_names)
    found = gas.reactions() if listed else []
    body = "\n".join(_reaction(gas, i, reaction) for i, reaction in enumerate(found))
    return (
        HEAD.format("reactions")
        + f"elements ( {elements} );\nspecies ( {species} );\nreactions\n{{\n{body}\n}}\n"
    )


def _reaction(gas: ct.Solution, number: int, reaction: ct.Reaction) -> str:
    rate: Any = reaction.rate
    kind = type(rate)
    third = reaction.third_body
    forms = {ct.ArrheniusRate: "", ct.LindemannRate: "LindemannFallOff", ct.TroeRate: "TroeFallOff"}
    falloff = kind is not ct.ArrheniusRate
    if kind not in forms or reaction.orders or (falloff and rate.chemically_activated):
        raise ValueError(
            f"reaction {number + 1}, {reaction}, is of a kind that is not supported; supported are "
            "mass action with Arrhenius rates, third bodies, and falloff of Lindemann and Troe. "
            "OpenFOAM's chemistry solver `combred` does not need them"
        )
    form = "Arrhenius" + forms[kind]
    if third is not None and not falloff:
        form = "thirdBodyArrhenius"
    way = "reversible" if reaction.reversible else "irreversible"
    sides = (_side(side) for side in (reaction.reactants, reaction.products))
    if not falloff:
        numbers = _arrhenius(rate)
    else:
        numbers = f"k0 {{ {_arrhenius(rate.low_rate)} }} kInf {{ {_arrhenius(rate.high_rate)} }}"
        numbers += f" F {{ {_troe(rate) if kind is ct.TroeRate else ''} }}"
    if third is not None:
        listed = " ".join(
            f"({name} {third.efficiencies.get(name, third.default_efficiency):g})"
            for name in gas.species_names
        )
        efficiencies = f"coeffs {gas.n_species} ( {listed} );"
        numbers += f" thirdBodyEfficiencies {{ {efficiencies} }}" if falloff else f" {efficiencies}"
    return (
        f"    reaction{number} {{ type {way}{form}Reaction; "
        f'reaction "{" = ".join(sides)}"; {numbers} }}'
    )


def _arrhenius(rate) -> str:
    """A in kmol, m and s, as in OpenFOAM and Cantera; Ta = Ea / R."""
    A, b, Ea = rate.pre_exponential_factor, rate.temperature_exponent, rate.activation_energy
    return f"A {A:.12g}; beta {b:g}; Ta {Ea / ct.gas_constant:.12g};"


def _troe(rate: ct.TroeRate) -> str:
    alpha, T3, T1, T2 = (*rate.falloff_coeffs, 1e30)[:4]  # exp(-1e30 / T) = 0 without the fourth
    return f"alpha {alpha:g}; Tsss {T3:g}; Ts {T1:g}; Tss {T2:g};"


def _side(species: dict[str, float]) -> str:
    powers = [name for name in species if "^" in name]
    if powers:
        raise ValueError(f"OpenFOAM reads the ^ of {powers[0]} in a reaction as an exponent")
    # `2E` would be a number
    return " + ".join(
        name if n == 1 else f"{n:g}{' ' * (name[0] in 'Ee')}{name}" for name, n in species.items()
    )


# -- a case ----------------------------------------------------------------------------------------

CHEMISTRY = """chemistryType {{ solver combred; }}
chemistry on;
initialChemicalTimeStep 1e-7;  // OpenFOAM asks for it
combredCoeffs {{ library "constant/{library}"; }}
"""
THERMOPHYSICAL = """thermoType
{{
    type hePsiThermo;
    mixture reactingMixture;
    transport sutherland;
    thermo janaf;
    energy sensibleEnthalpy;
    equationOfState perfectGas;
    specie specie;
}}
inertSpecie {inert};
chemistryReader foamChemistryReader;
foamChemistryThermoFile "<constant>/thermo";
foamChemistryFile "<constant>/reactions";
"""
CONTROL = """libs ("libcombredChemistry.so");
// made by `combred openfoam FOLDER` (Debian 12, as root) or by wmake in coupling/openfoam
"""


def write_mechanism(mechanism: Mechanism, folder: Path) -> list[Path]:
    """Write the files `thermo` and `reactions` into a folder; returns their paths. Files of others
    are renamed to NAME.orig. Reactions are left out where one is of a kind that OpenFOAM does not
    know. The log tells both. Raises as `thermo`, for a mechanism without transport data, and where
    there is a NAME.orig already."""
    return put(_mechanism_files(mechanism), folder)


def _mechanism_files(mechanism: Mechanism) -> dict[str, bytes]:
    """Names and contents of the files of `write_mechanism`."""
    if not has_transport(mechanism):
        raise ValueError(
            f"{mechanism.name} has no transport data, which OpenFOAM's `thermo` needs: `combred "
            "export` without --openfoam writes the library, and the case needs a `thermo` of yours"
        )
    gas = mechanism.solution()
    gas.transport_model = "mixture-averaged"
    species = thermo(gas)
    try:
        listed = reactions(gas)
    except ValueError as error:
        log.warning("The file `reactions` names the species alone: %s", error)
        listed = reactions(gas, listed=False)
    return {"thermo": (OWN + species).encode(), "reactions": (OWN + listed).encode()}


def inert(mechanism: Mechanism) -> str:
    """OpenFOAM's `inertSpecie`, whose mass fraction is what the others leave of 1: N2, or else the
    first species that takes part in no reaction. Raises ValueError where there is none."""
    try:
        return nitrogen(mechanism)
    except ValueError as error:
        others = np.flatnonzero(mechanism.inert)
        if not len(others):
            raise ValueError(
                f"{mechanism.name} has neither N2 nor another inert species, and OpenFOAM needs an "
                "inertSpecie, which is 1 minus the others: add one to the mechanism, as AR"
            ) from error
        return mechanism.species_names[others[0]]


def write_dictionaries(mechanism: Mechanism, constant: Path) -> list[Path]:
    """Write chemistryProperties, for libsolver.so, and thermophysicalProperties where they are
    missing; returns their paths."""
    entries = _dictionaries(mechanism, SOLVER_LIBRARY)
    return put(_missing(entries, constant), constant)


def _dictionaries(mechanism: Mechanism, library: str) -> dict[str, str]:
    """The entries of chemistryProperties, which names the file of a library, and of
    thermophysicalProperties."""
    return {
        "chemistryProperties": CHEMISTRY.format(library=library),
        "thermophysicalProperties": THERMOPHYSICAL.format(inert=inert(mechanism)),
    }


def _missing(entries: dict[str, str], constant: Path) -> dict[str, bytes]:
    """Those of the dictionaries that are not there, as files."""
    return {
        name: (HEAD.format(name) + text).encode()
        for name, text in entries.items()
        if not os.path.lexists(constant / name)
    }


def export_case(what: Mechanism | str, case: Path | str) -> tuple[list[Path], str]:
    """Make a case of OpenFOAM use a library of combred: write the library of a mechanism or of a
    model (of the names that `combred.native.export` takes), `thermo` and `reactions` to constant/
    of `case`, and chemistryProperties and thermophysicalProperties where they are missing. All is
    made before the first file is written.

    Returns the paths of all files written, and as text the entries that these and controlDict
    still lack. Raises as `export`, `write_mechanism` and `inert`.
    """
    mechanism, case = _mechanism(what), Path(case)
    constant, control = case / "constant", case / "system" / "controlDict"
    contents: dict[str, bytes | None] = {**_mechanism_files(mechanism)}
    with tempfile.TemporaryDirectory() as scratch:
        made = export(what, Path(scratch))
        contents |= {path.name: path.read_bytes() for path in made}
    library = LIBRARY if "surrogate.cpp" in contents else SOLVER_LIBRARY
    contents.setdefault(library, None)  # without a compiler: one of another source is removed
    entries = _dictionaries(mechanism, library)
    missing = _missing(entries, constant)
    written = put(contents | missing, constant)
    left = {control: CONTROL}
    left |= {constant / name: text for name, text in entries.items() if name not in missing}
    if not control.is_file():
        log.warning("%s has no system/controlDict: is it a case of OpenFOAM?", case)
    lacking = {path: text for path, text in left.items() if not _has(path, text)}
    return written, "\n".join(f"// {path}\n{text}" for path, text in lacking.items())


def _has(path: Path, entries: str) -> bool:
    """Whether a file has each line of the entries, comments apart."""
    present = path.read_text() if path.is_file() else ""
    return all(line.partition("//")[0].strip() in present for line in entries.splitlines())


def _mechanism(what: Mechanism | str) -> Mechanism:
    if isinstance(what, Mechanism):
        return what
    if names_mechanism(what):
        return load_mechanism(what)
    from combred.surrogate.shipped import load  # torch takes a second

    return load(what).mechanism

"""A case of OpenFOAM that uses a library of combred.

Takes a mechanism, and what is added to its solver; writes its library, and constant/thermo and
constant/reactions. The chemistry solver `combred` (coupling/openfoam) has its reactions in its
library; OpenFOAM uses those of the file for its own chemistry and for time scales (PaSR).
"""

import logging
import os
import tempfile
from pathlib import Path

import numpy as np

from combred.chemistry.fuel import nitrogen
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.transport import has_transport
from combred.native.exporter import SOLVER_LIBRARY, export
from combred.native.extension import Extension
from combred.native.openfoam.files import HEAD, OWN, put
from combred.native.openfoam.reactions import reactions
from combred.native.openfoam.thermo import thermo

log = logging.getLogger(__name__)

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


def export_case(
    mechanism: Mechanism, case: Path | str, extension: Extension | None = None
) -> tuple[list[Path], str]:
    """Make a case of OpenFOAM use a library of combred: write the library of a mechanism, and of
    what is added to its solver, `thermo` and `reactions` to constant/ of `case`, and
    chemistryProperties and thermophysicalProperties where they are missing. All is made before the
    first file is written.

    Returns the paths of all files written, and as text the entries that these and controlDict
    still lack. Raises as `export`, `write_mechanism` and `inert`.
    """
    case = Path(case)
    constant, control = case / "constant", case / "system" / "controlDict"
    contents: dict[str, bytes | None] = {**_mechanism_files(mechanism)}
    with tempfile.TemporaryDirectory() as scratch:
        made = export(mechanism, Path(scratch), extension)
        contents |= {path.name: path.read_bytes() for path in made}
    library = f"lib{extension.stem}.so" if extension else SOLVER_LIBRARY
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

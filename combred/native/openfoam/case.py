"""A case of OpenFOAM that uses a library of combred.

Takes a mechanism, and what is added to its solver; writes its library, and constant/thermo and
constant/reactions, as the sourced version of OpenFOAM reads them. The chemistry model `combred`
(coupling/openfoam) has its reactions in its library; OpenFOAM's own chemistry uses those of the
file.
"""

import logging
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from combred.chemistry.fuel import nitrogen
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.transport import has_transport
from combred.native.openfoam.files import HEAD, OWN, put
from combred.native.openfoam.reactions import reactions
from combred.native.openfoam.thermo import thermo
from combred.native.openfoam.versions import DEBIAN, Version, sourced
from combred.native.openfoam.words import is_field

log = logging.getLogger(__name__)
NO_UNIT = re.compile(r"dimensions\s*\[[\s0.]*\]\s*;")


def write_mechanism(mechanism: Mechanism, folder: Path, version: Version = DEBIAN) -> list[Path]:
    """Write the files `thermo` and `reactions` into a folder; returns their paths. Files of others
    are renamed to NAME.orig. Reactions are left out where one is of a kind that OpenFOAM does not
    know. The log tells both. Raises as `thermo`, for a mechanism without transport data, and where
    there is a NAME.orig already."""
    return put(_mechanism_files(mechanism, version), folder)


def _mechanism_files(mechanism: Mechanism, version: Version) -> dict[str, bytes]:
    """Names and contents of the files of `write_mechanism`."""
    if not has_transport(mechanism):
        raise ValueError(
            f"{mechanism.name} has no transport data, which OpenFOAM's `thermo` needs: `combred "
            "export` without --openfoam writes the library, and the case needs a `thermo` of yours"
        )
    gas = mechanism.solution()
    gas.transport_model = "mixture-averaged"
    with_list = not version.reads_mechanism
    species = thermo(gas, with_list)
    try:
        listed = reactions(gas, short=with_list)
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


def _missing(entries: dict[str, str], constant: Path) -> dict[str, bytes]:
    """Those of the dictionaries that are not there, as files."""
    return {
        name: (HEAD.format(name) + text).encode()
        for name, text in entries.items()
        if not os.path.lexists(constant / name)
    }


def export_case(
    mechanism: Mechanism,
    case: Path | str,
    library: str,
    write: Callable[[Path], list[Path]],
    version: Version | None = None,
) -> tuple[list[Path], str]:
    """Make a case of OpenFOAM use a library of combred: write the library and its sources,
    `thermo` and `reactions` to constant/ of `case`, and the dictionaries of chemistry and
    thermodynamics where they are missing; for versions of the Foundation, also those of a laminar
    flow. All is made before the first file is written.

    write: writes the library, of that name, and its sources to a folder, and returns their paths.
    version: by default the one that is sourced, and v1912 where there is none. Returns the paths of
    all files written, and as text the entries that dictionaries of chemistry and thermodynamics and
    controlDict still lack. Raises as `write`, `write_mechanism`, `inert` and `sourced`.
    """
    version = version or sourced(os.environ) or DEBIAN
    case = Path(case)
    constant, control = case / "constant", case / "system" / "controlDict"
    contents: dict[str, bytes | None] = {**_mechanism_files(mechanism, version)}
    with tempfile.TemporaryDirectory() as scratch:
        contents |= {path.name: path.read_bytes() for path in write(Path(scratch))}
    contents.setdefault(library, None)  # without a compiler: one of another source is removed
    entries = version.needed(library, inert(mechanism))
    missing = _missing(entries, constant)
    written = put(contents | missing | _missing(version.usual(), constant), constant)
    left = {control: version.control()}
    left |= {constant / name: text for name, text in entries.items() if name not in missing}
    if not control.is_file():
        log.warning("%s has no system/controlDict: is it a case of OpenFOAM?", case)
    for path in _of_other_species(case, mechanism):
        log.warning(
            "%s looks like the field of a species that %s does not have: OpenFOAM ignores it, and "
            "%s takes its place. `combred reduce --keep %s` keeps a species.",
            path, mechanism.name, inert(mechanism), path.name,
        )  # fmt: skip
    lacking = {path: text for path, text in left.items() if not _has(path, text)}
    return written, "\n".join(f"// {path}\n{text}" for path, text in lacking.items())


def _of_other_species(case: Path, mechanism: Mechanism) -> list[Path]:
    """The initial fields without a unit that are no species of the mechanism and not the flow's."""
    found = []
    for path in sorted([*(case / "0").glob("*"), *(case / "0.orig").glob("*")]):
        if is_field(path.name) and path.name not in mechanism.species_names and path.is_file():
            with path.open(errors="replace") as file:
                head = file.read(4000)
            found += [path] if "volScalarField" in head and NO_UNIT.search(head) else []
    return found


def _has(path: Path, entries: str) -> bool:
    """Whether a file has each line of the entries, comments apart."""
    present = path.read_text() if path.is_file() else ""
    return all(line.partition("//")[0].strip() in present for line in entries.splitlines())

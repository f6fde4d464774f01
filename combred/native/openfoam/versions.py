"""Versions of OpenFOAM: which one a shell has sourced, and how the dictionaries of its cases read.

Takes the environment of a shell, or the name of a version; gives the texts of dictionaries.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

DEV = 99  # the Foundation's development version, which is newer than all others
OLDEST, OLDEST_COM = 7, 1912

CHEMISTRY = """{model}
chemistry on;
initialChemicalTimeStep 1e-7;  // OpenFOAM asks for it
combredCoeffs {{ library "constant/{library}"; }}
"""
THERMO_TYPE = """thermoType
{{
    type hePsiThermo;
    mixture {mixture};
    transport sutherland;
    thermo janaf;
    energy sensibleEnthalpy;
    equationOfState perfectGas;
    specie specie;
}}
"""
READER = """chemistryReader foamChemistryReader;
foamChemistryThermoFile "$FOAM_CASE/constant/thermo";
foamChemistryFile "$FOAM_CASE/constant/reactions";
"""
LIBS = """libs ("libcombredChemistry.so");
// compiled by `combred openfoam` in a shell where OpenFOAM is sourced
"""
MODULE = "solver multicomponentFluid;  // of foamRun\n"


@dataclass(frozen=True)
class Version:
    """A version of OpenFOAM. foundation: the number of one of the OpenFOAM Foundation
    (openfoam.org), `DEV` of its development version; 0 of one of openfoam.com."""

    name: str
    foundation: int = 0

    @property
    def reads_mechanism(self) -> bool:
        """Whether the mixture reads the files `thermo` and `reactions`; later ones include
        `thermo`, with a list of the species."""
        return self.foundation <= 7

    @property
    def physical_properties(self) -> str:
        """The file of the thermodynamics."""
        return "physicalProperties" if self.foundation >= 10 else "thermophysicalProperties"

    def needed(self, library: str, inert: str) -> dict[str, str]:
        """Names and entries of the dictionaries that a case with a library of combred needs, but
        system/controlDict. inert: the species that is what the others leave of 1."""
        model = "type combred;" if self.foundation >= 14 else "chemistryType { solver combred; }"
        return {
            "chemistryProperties": CHEMISTRY.format(model=model, library=library),
            self.physical_properties: self._thermophysical(inert),
        }

    def usual(self) -> dict[str, str]:
        """The same of dictionaries of a laminar flow, which a case may have in another form."""
        if not self.foundation:
            return {}
        name, key = ("combustionProperties", "combustionModel")
        if self.foundation >= 14:
            name, key = ("reactionProperties", "reactionModel")
        turbulence = "turbulenceProperties" if self.foundation <= 7 else "momentumTransport"
        return {name: f"{key} laminar;\n", turbulence: "simulationType laminar;\n"}

    def control(self) -> str:
        """The entries of system/controlDict."""
        return LIBS + (MODULE if self.foundation >= 11 else "")

    def _thermophysical(self, inert: str) -> str:
        mixture = "multicomponentMixture" if self.foundation >= 11 else "multiComponentMixture"
        text = THERMO_TYPE.format(mixture="reactingMixture" if self.reads_mechanism else mixture)
        text += f"{'defaultSpecie' if self.foundation >= 9 else 'inertSpecie'} {inert};\n"
        return text + (READER if self.reads_mechanism else '#include "thermo"\n')


DEBIAN = Version("v1912")


def named(name: str) -> Version:
    """The version that a name means: v2312, 13, dev. Raises ValueError for others, and for one
    without a chemistry model of combred."""
    com, foundation = re.fullmatch(r"v?(\d{4})\w*", name), re.fullmatch(r"(\d{1,2})\w*", name)
    if com and int(com[1]) >= OLDEST_COM:
        return Version(f"v{com[1]}")
    if foundation and int(foundation[1]) >= OLDEST:
        return Version(foundation[1], int(foundation[1]))
    if name == "dev":
        return Version(name, DEV)
    raise ValueError(
        f"{name} is no version of OpenFOAM that combred knows: openfoam.com's from v{OLDEST_COM} "
        f"on, as v2312, and the Foundation's from {OLDEST} on, as 13, and dev"
    )


def sourced(environment: Mapping[str, str]) -> Version | None:
    """The version whose etc/bashrc was sourced in a shell with this environment; None: there is
    none. Raises as `named`."""
    name = environment.get("FOAM_API") or environment.get("WM_PROJECT_VERSION")
    return named(name) if name else None

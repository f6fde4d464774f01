"""What a library holds, as C++: species, ranges, digest and card.

Takes a `Mechanism` and an `Identity`; gives the text of `identity.hpp`, which source/about.hpp
tells a flow solver.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.files.records import strict
from combred.native.arrays import constant, literal, quoted, text

# A line before the identity of a network: C++ includes its files, and `combred.native.builder`
# compiles them as a piece of their own.
HAS_NETWORK = "#define COMBRED_NETWORK\n"
ENTHALPY_T = 298.15, 1500.0  # K
Range = Sequence[float] | None  # lowest, highest; None where it is not known


@dataclass(frozen=True)
class Identity:
    """What a library tells of itself. tolerance: the default; card: its facts, as JSON; of a
    network the digest of its content, and the ranges of its training, of dt [s], phi and the first
    columns of a state (T [K], p [Pa], Y)."""

    tolerance: float
    card: dict | None = None
    digest: str = ""
    dt: Range = None
    phi: Range = None
    ranges: Sequence[Range] = (None, None)


def write_identity(mechanism: Mechanism, of: Identity) -> str:
    """The text of `identity.hpp`."""
    names = ", ".join(f'"{quoted(name)}"' for name in mechanism.species_names)
    thermo = ",\n".join(f"    {{{', '.join(map(literal, row))}}}" for row in _thermo(mechanism))
    rows = ",\n".join(f"    {_range(limits)}" for limits in of.ranges)
    return "".join(
        [
            "// What the library holds. Written by combred.native: change nothing here.\n"
            "#pragma once\n#ifndef __CUDACC__\nnamespace identity {\n",
            constant("SPECIES", mechanism.n_species, "int"),
            constant("VARIABLES", len(of.ranges), "int"),
            constant("TOLERANCE", of.tolerance),
            f"constexpr const char *SPECIES_NAMES[SPECIES] = {{{names}}};\n",
            f"constexpr double THERMO[SPECIES][3] = {{\n{thermo}}};\n",
            text("MECHANISM_SHA256", mechanism.sha256),
            text("DIGEST", of.digest),
            text("CARD", json.dumps(strict(of.card), ensure_ascii=False) if of.card else ""),
            f"constexpr double DT_RANGE[2] = {_range(of.dt)};\n",
            f"constexpr double PHI_RANGE[2] = {_range(of.phi)};\n",
            f"constexpr double RANGES[VARIABLES][2] = {{\n{rows}}};\n",
            "}  // namespace identity\n#endif\n",
        ]
    )


def _thermo(mechanism: Mechanism) -> np.ndarray:
    """Molar mass [kg/kmol] and enthalpy [J/kg] at `ENTHALPY_T` of each species, (n_species, 3)."""
    gas, found = mechanism.solution(transport=False), [mechanism.molecular_weights]
    for T in ENTHALPY_T:
        gas.TP = T, ct.one_atm
        enthalpies = gas.standard_enthalpies_RT * ct.gas_constant * T
        found.append(enthalpies / mechanism.molecular_weights)
    return np.stack(found, axis=1)


def _range(limits: Range) -> str:
    """{lowest, highest} in C++, NaN where it is not known."""
    low, high = [literal(x) for x in limits] if limits else ['__builtin_nan("")'] * 2
    return f"{{{low}, {high}}}"

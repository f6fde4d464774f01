"""What a library holds, as C++: species, ranges, digest and card.

Takes a `Mechanism` and the facts of a solver or a surrogate; gives the text of `identity.hpp`,
which source/about.hpp tells a flow solver.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.files.records import strict
from combred.native.arrays import constant, literal, quoted, text

HAS_NETWORK = "#define COMBRED_NETWORK\n"  # a line of the identity of a surrogate
ENTHALPY_T = 298.15, 1500.0  # K
Range = Sequence[float] | None  # lowest, highest; None where it is not known


@dataclass(frozen=True)
class OfTraining:
    """What a library tells of a network: the digest of the surrogate's content, and the ranges of
    its training, of dt [s], phi and the first columns of a state (T [K], p [Pa], Y)."""

    digest: str = ""
    dt: Range = None
    phi: Range = None
    ranges: Sequence[Range] = (None, None)


def write_identity(
    mechanism: Mechanism, tolerance: float, card: dict | None, training: OfTraining = OfTraining()
) -> str:
    """The text of `identity.hpp`; tolerance: the default; card: None: the library tells none."""
    ranges = training.ranges
    names = ", ".join(f'"{quoted(name)}"' for name in mechanism.species_names)
    thermo = ",\n".join(f"    {{{', '.join(map(literal, row))}}}" for row in _thermo(mechanism))
    rows = ",\n".join(f"    {_range(limits)}" for limits in ranges)
    return "".join(
        [
            "// What the library holds. Written by combred.native: change nothing here.\n"
            "#pragma once\n#ifndef __CUDACC__\nnamespace identity {\n",
            constant("SPECIES", mechanism.n_species, "int"),
            constant("VARIABLES", len(ranges), "int"),
            constant("TOLERANCE", tolerance),
            f"constexpr const char *SPECIES_NAMES[SPECIES] = {{{names}}};\n",
            f"constexpr double THERMO[SPECIES][3] = {{\n{thermo}}};\n",
            text("MECHANISM_SHA256", mechanism.sha256),
            text("DIGEST", training.digest),
            text("CARD", json.dumps(strict(card), ensure_ascii=False) if card else ""),
            f"constexpr double DT_RANGE[2] = {_range(training.dt)};\n",
            f"constexpr double PHI_RANGE[2] = {_range(training.phi)};\n",
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

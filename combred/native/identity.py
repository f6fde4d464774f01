"""What a surrogate is, as C++: sizes, species, ranges, digest and card.

Takes a `Surrogate` and its card; gives the text of `identity.hpp`, which
source/about.hpp tells a flow solver.
"""

import json

from combred.native.arrays import constant, literal, text
from combred.records import strict
from combred.surrogate.card import training_range
from combred.surrogate.storage import content_digest
from combred.surrogate.surrogate import Surrogate


def write_identity(surrogate: Surrogate, card: dict | None) -> str:
    """The text of `identity.hpp`; card (`combred.surrogate.card`): None: the library tells no card
    and no range of phi."""
    sizes = {
        "SPECIES": len(surrogate.species),
        "VARIABLES": surrogate.n,
    }
    names = ", ".join(json.dumps(name) for name in surrogate.species)
    of_training = training_range(surrogate)
    rows = ",\n".join(f"    {_range(of_training[key])}" for key in ("T", "p"))
    rows += "".join(f",\n    {_range(limits)}" for limits in of_training["Y"].values())
    phi = (card or {}).get("training", {}).get("sampling", {}).get("phi")
    return "".join(
        [
            "// What the surrogate is. Written by combred.native: change nothing here.\n"
            "#pragma once\n",
            "#define COMBRED_NETWORK\n",
            "#ifndef __CUDACC__\nnamespace identity {\n",
            *(constant(name, size, "int") for name, size in sizes.items()),
            constant("TOLERANCE", surrogate.TOLERANCE),
            f"constexpr const char *SPECIES_NAMES[SPECIES] = {{{names}}};\n",
            text("MECHANISM_SHA256", surrogate.mechanism.sha256),
            text("DIGEST", content_digest(surrogate, surrogate.mechanism)),
            text("CARD", json.dumps(strict(card), ensure_ascii=False) if card else ""),
            f"constexpr double DT_RANGE[2] = {_range(surrogate.dt_range)};\n",
            f"constexpr double PHI_RANGE[2] = {_range(phi)};\n",
            f"constexpr double RANGES[VARIABLES][2] = {{\n{rows}}};\n",
            "}  // namespace identity\n#endif\n",
        ]
    )


def _range(limits: list | tuple | None) -> str:
    """{lowest, highest} in C++, NaN where it is not known."""
    low, high = [literal(x) for x in limits] if limits else ['__builtin_nan("")'] * 2
    return f"{{{low}, {high}}}"

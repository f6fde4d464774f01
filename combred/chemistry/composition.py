"""Compositions in moles, as users write them: "O2:1, N2:3.76" or {"O2": 1, "N2": 3.76}.

Takes the names of the species of a mechanism; `Mechanism.moles` and `mixture` use it.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from combred.config.fields import shown

AMOUNT = r"\+?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?"
Composition = str | Mapping[str, float]  # in moles, as "CH4:1" or {"CH4": 1.0}


def moles(
    composition: Composition, names: Sequence[str], index: Callable[[str], int]
) -> dict[str, str]:
    """The moles of species of a composition. names: of all species; index: that of the species of
    a given name. Raises ValueError as `index`, and where a species has no moles."""
    if isinstance(composition, Mapping):  # names may have a comma or a colon
        parts = [(name, str(amount)) for name, amount in composition.items()]
    else:
        parts = [part.partition(":")[::2] for part in composition.split(",")]
    if any("=" in name and name.strip() not in names for name, _ in parts):
        raise ValueError(
            f"write {shown(composition).replace('=', ':')!r} for {shown(composition)!r}"
        )
    found = {}
    for given, amount in parts:
        name, size = names[index(given.strip())], amount.strip() or "1"
        if name in found or not re.fullmatch(AMOUNT, size, re.IGNORECASE):
            raise ValueError(
                f"{shown(composition)!r} has {shown(size)!r} moles of {name}: give numbers, "
                "and each species once, as in 'O2:1, N2:3.76'"
            )
        found[name] = size
    return found

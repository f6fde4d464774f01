"""Compositions in moles, as users write them: "O2:1, N2:3.76" or {"O2": 1, "N2": 3.76}.

Takes the names of the species of a mechanism; `Mechanism.moles` and `mixture` use it.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from combred.config.fields import shown

AMOUNT = r"\+?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?"
Composition = str | Mapping[str, float]  # in moles, as "CH4:1" or {"CH4": 1.0}
# What the word air means where no species has this name.
AIR = "O2:1, N2:3.76"


def moles(
    composition: Composition, names: Sequence[str], index: Callable[[str], int]
) -> dict[str, str]:
    """The moles of species of a composition; the word air is `AIR`. names: of all species; index:
    that of the species of a given name. Raises ValueError as `index`, and where a species has no
    moles."""
    if isinstance(composition, Mapping):  # names may have a comma or a colon
        parts = [(str(name), str(amount)) for name, amount in composition.items()]
    else:
        if not isinstance(composition, str):
            raise ValueError(
                f"a composition is text as 'O2:1, N2:3.76' or a dict of moles, not "
                f"{type(composition).__name__}"
            )
        _require_commas(composition, names)
        parts = _parts(composition)
    words = [name for name, _ in parts if _is_air(name, names)]
    if words and len(parts) > 1:
        raise ValueError(
            f"{shown(composition)!r}: {words[0].strip()} stands for {AIR!r}, and only by itself: "
            "write moles of O2 and N2 beside the others"
        )
    if words:
        amount = parts[0][1].strip() or "1"
        if not _is_amount(amount) or float(amount) == 0.0:
            raise ValueError(f"{shown(composition)!r}: write air, which is {AIR!r} in moles")
        parts = _parts(AIR)
    found = {}
    for given, amount in parts:
        name, size = names[index(given.strip())], amount.strip() or "1"
        if name in found or not _is_amount(size):
            raise ValueError(
                f"{shown(composition)!r} has {shown(size)!r} moles of {name}: give numbers, "
                "and each species once, as in 'O2:1, N2:3.76'"
            )
        found[name] = size
    return found


def _parts(composition: str) -> list[tuple[str, str]]:
    """Names and amounts, "" of a name alone."""
    return [part.partition(":")[::2] for part in composition.split(",")]


def _is_amount(text: str) -> bool:
    return re.fullmatch(AMOUNT, text, re.IGNORECASE) is not None


def _is_air(name: str, names: Sequence[str]) -> bool:
    return name.strip().lower() == "air" and "air" not in (known.lower() for known in names)


def _require_commas(composition: str, names: Sequence[str]) -> None:
    """ValueError, with the cause and what to write, for other signs between species than commas,
    for another sign than a colon before an amount, and for a percent sign after it. A sign that a
    name of a species has is none of these."""
    written, causes = composition, []

    def write(sign: str, replaced: str, cause: str) -> None:
        nonlocal written
        if replaced != written and not any(sign in name for name in names):
            causes.append(cause)
            written = replaced

    write("=", written.replace("=", ":"), "a colon is before an amount, not =")
    if ";" in written:
        rows = [part.strip() for part in written.split(";") if part.strip()]
        write(";", ", ".join(rows), "commas are between species, not ;")
    write("%", re.sub(r"\s*%", "", written), "amounts are numbers of moles, without %")
    apart = re.sub(r"(:\s*[\d.eE+-]+)\s+(?=[^\s,:]+\s*:)", r"\1, ", written)
    write(" ", apart, "commas are between species, not blanks alone")
    if causes:
        raise ValueError(
            f"write {shown(written)!r} for {shown(composition)!r}: {'; '.join(causes)}"
        )
    if composition.strip() and not all(name.strip() for name, _ in _parts(composition)):
        raise ValueError(
            f"{shown(composition)!r} has a comma or a colon without a species before it: write it "
            "as in 'O2:1, N2:3.76'"
        )

"""Names of species, matched as Cantera matches them.

Efficiencies, colliders, orders, equations and the names that users give are all looked up here. The
keys of `efficiencies` of a CHEMKIN file may be in small letters, where the species are in capitals.
"""

from collections.abc import Sequence
from functools import lru_cache

AMBIGUOUS = -1  # in place of an index: several species differ from a name in capitals alone


@lru_cache(maxsize=64)
def _indices(names: tuple[str, ...]) -> tuple[dict[str, int], dict[bytes, int]]:
    """The index of each name, and of each name in small letters."""
    exact = {name: k for k, name in enumerate(names)}
    small: dict[bytes, int] = {}
    for k, name in enumerate(names):
        small[_small(name)] = AMBIGUOUS if _small(name) in small else k
    return exact, small


def _small(name: str) -> bytes:
    """A name in small letters. As in Cantera, letters beyond ASCII stay as they are."""
    return name.encode("utf-8", "surrogatepass").lower()


def species_index(names: Sequence[str], name: str) -> int | None:
    """The index of a species among the names of all: the one of that very name, else the only one
    that differs in capitals alone. None where there is none. Raises ValueError where several
    species differ from the name in capitals alone; Cantera refuses a mechanism with such a name.
    """
    exact, small = _indices(tuple(names))
    if name in exact:
        return exact[name]
    index = small.get(_small(name))
    if index == AMBIGUOUS:
        alike = ", ".join(one for one in names if _small(one) == _small(name))
        raise ValueError(
            f"the name {name!r} may stand for several: {alike}, which differ in capitals alone: "
            "write one of them as it is spelled"
        )
    return index

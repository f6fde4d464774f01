"""What a state file has to hold: rows of this mechanism, in the units of the schema.

Takes the attributes and shapes of an opened file; `table.open_states` asks.
"""

from pathlib import Path

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.config.fields import shown
from combred.surrogates.dataset.schema import REACTOR, UNITS, StateFileError

AGAIN = "Move it away and sample its states again."


def _text(attribute: object) -> str:
    """An attribute of HDF5, which may be of bytes."""
    return attribute.decode(errors="replace") if isinstance(attribute, bytes) else str(attribute)


def require_meaning(path: Path, attributes: dict, units: dict, mechanism: Mechanism) -> None:
    """StateFileError where a file says that it has other species, units or another reactor."""
    names = list(map(_text, attributes.get("species", mechanism.species_names)))
    told: dict[str, tuple] = {"species": (names, list(mechanism.species_names))}
    told["reactor"] = _text(attributes.get("reactor", REACTOR)), REACTOR
    told |= {f"units of {name}": (_text(unit), UNITS[name]) for name, unit in units.items()}
    for name, (given, needed) in told.items():
        if given != needed:
            raise StateFileError(
                f"{path} has {name} {shown(given, 200)}, and this run needs {shown(needed, 200)}: "
                "write the file again with these, as of combred/surrogates/dataset/schema.py"
            )


def require_whole(
    path: Path, attributes: dict, shapes: dict[str, tuple[int, ...]], mechanism: Mechanism
) -> None:
    """StateFileError where a file is not finished, has not the rows that it should have, or has
    states of another mechanism."""
    for name in ("mechanism", "mechanism_sha256", "samplers", "rows"):  # the last is written last
        if name not in attributes:
            raise StateFileError(f"{path} is not finished: it has no attribute {name}. {AGAIN}")
    rows = attributes["rows"]
    if not isinstance(rows, np.integer) or any(shape[:1] != (rows,) for shape in shapes.values()):
        raise StateFileError(
            f"{path} should have {shown(rows)} rows, but its datasets have the shapes {shapes}. "
            f"{AGAIN}"
        )
    if rows == 0:
        raise StateFileError(
            f"{path} has no labelled rows: none of its states could be integrated. Sample other "
            "ranges of T0, p, phi or dt."
        )
    if str(attributes["mechanism_sha256"]) != mechanism.sha256:
        raise StateFileError(
            f"{path} holds states of {attributes['mechanism']} "
            f"(sha256 {str(attributes['mechanism_sha256'])[:12]}), but this run has the mechanism "
            f"{mechanism.name} ({mechanism.sha256[:12]}). "
            + mechanism.mend_mismatch(str(attributes["mechanism"]))
        )
    wide = {name: (mechanism.n_species,) if name.startswith("Y") else () for name in UNITS}
    if any(shape[1:] != wide[name] for name, shape in shapes.items()):
        raise StateFileError(
            f"{path} has datasets of the shapes {shapes}, and {mechanism.name} has "
            f"{mechanism.n_species} species. {AGAIN}"
        )

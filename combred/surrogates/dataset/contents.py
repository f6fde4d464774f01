"""What a state file has to hold: rows of this mechanism, in the units of the schema.

Takes the attributes and shapes of an opened file; `table.open_states` asks.
"""

from pathlib import Path

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.config.fields import shown
from combred.surrogates.dataset.schema import (
    FORMAT,
    REACTOR,
    STATE_UNITS,
    UNITS,
    StateFileError,
)

AGAIN = "Move it away and sample its states again."


def _text(attribute: object) -> str:
    """An attribute of HDF5, which may be of bytes."""
    return attribute.decode(errors="replace") if isinstance(attribute, bytes) else str(attribute)


def require_format(path: Path, format: object, missing: list[str]) -> None:
    """StateFileError where a file is of another format, or where datasets are missing."""
    if missing or not isinstance(format, int | np.integer) or format != FORMAT:
        written = f"{shown(format)}" + f", a {type(format).__name__}" * isinstance(format, str)
        raise StateFileError(
            f"{path} is an HDF5 file, but not a combred state file of format {FORMAT}, a whole "
            f"number (its format: {written}; datasets missing: {', '.join(missing) or 'none'}). "
            "Formats 1 and 2 are of combred 0.1 and 0.2, with one dt for all rows: sample the "
            "states again. States of your own follow the schema in "
            "combred/surrogates/dataset/schema.py."
        )


def require_meaning(
    path: Path, attributes: dict, units: dict, mechanism: Mechanism
) -> np.ndarray | None:
    """The column of each species of the mechanism in the datasets of a file, None where the order
    is the same. StateFileError where a file has other species, units or another reactor."""
    if "species" not in attributes:
        raise StateFileError(
            f"{path} has no attribute species, which names the columns of Y and Y_next: add it, as "
            "file.attrs['species'] = [...] in h5py, in the order of these columns"
        )
    names = list(map(_text, np.atleast_1d(attributes["species"])))
    species = list(mechanism.species_names)
    order = [names.index(name) for name in species] if sorted(names) == sorted(species) else []
    told: dict[str, tuple] = {"species": (names, names if order else species)}
    told["reactor"] = _text(attributes.get("reactor", REACTOR)), REACTOR
    told |= {f"units of {name}": (_text(unit), UNITS[name]) for name, unit in units.items()}
    for name, (given, needed) in told.items():
        if given != needed:
            raise StateFileError(
                f"{path} has {name} {shown(given, 200)}, and this run needs {shown(needed, 200)}: "
                "write the file again with these, as of combred/surrogates/dataset/schema.py"
            )
    return None if names == species else np.array(order)


def require_precision(path: Path, types: dict[str, np.dtype]) -> None:
    """StateFileError where states are whole numbers or have 16 bits: their changes over dt are
    smaller than such rounding. A pressure may be a whole number."""
    for name in STATE_UNITS:
        kind = types[name]
        if not (kind.kind == "f" and kind.itemsize > 2 or name == "p" and kind.kind in "iu"):
            raise StateFileError(
                f"{path} has {name} as {kind}, which rounds away its change over dt: write the "
                "states again as float64"
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
    if not isinstance(rows, np.integer):
        raise StateFileError(
            f"{path} has the attribute rows {shown(rows)} of type {type(rows).__name__}, and this "
            "is a whole number: set it, as file.attrs['rows'] = len(file['T']) in h5py"
        )
    if any(shape[:1] != (rows,) for shape in shapes.values()):
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

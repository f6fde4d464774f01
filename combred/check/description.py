"""What a compiled library or a network is, and whether it is whole, in a few lines of text.

Takes a file, or the name of a model; gives lines for the command `combred check`.
"""

import difflib
import os
from pathlib import Path

import cantera as ct

from combred.libraries import LIBRARY, load, names_mechanism
from combred.native.damage import is_sealed
from combred.native.exporter import SOLVER_LIBRARY

LIKE = 0.75  # of two names, as difflib counts


def describe(what: str) -> dict[str, str]:
    """Properties of a library, or of a network as `combred.load` takes it, by name; {} of anything
    else, as a mechanism. Raises ValueError where it is damaged, and for a folder of an export."""
    path = Path(what)
    if os.path.isfile(path):  # False of a name that is too long, where Path.is_file raises
        with path.open("rb") as file:
            if file.read(4) == b"\x7fELF":
                return _library(path)
    if not names_mechanism(what) and _is_network(path):
        return _network(what)
    for folder in (path, path / "constant"):  # of a case of OpenFOAM
        for library in (LIBRARY, SOLVER_LIBRARY):
            if os.path.isfile(folder / library):
                raise ValueError(f"{what} is a folder: `combred check {folder / library}`")
    return {}


def _is_network(path: Path) -> bool:
    """Whether it is one, or nothing whose name is like that of one."""
    from combred.surrogates.files.shipped import STAGE, models

    stages = os.path.isdir(path) and any(map(STAGE.fullmatch, os.listdir(path)))
    near = not os.path.exists(path) and difflib.get_close_matches(str(path), models(), 1, LIKE)
    return bool(near) or str(path) in models() or path.suffix == ".safetensors" or stages


def _library(path: Path) -> dict[str, str]:
    one = load(path)
    library = one.library
    sealed = "yes, by its checksum" if is_sealed(path) else "it has no checksum (stripped)"
    found = {"library": "a stiff solver", "whole": sealed}
    if library.digest:
        network = library.card.get("network", {})
        weights = f" of {network['weights']:,} weights" if network else ""
        found |= {"library": f"a network{weights}, and the stiff solver behind it"}
        T, p = (library.range_of("range", column) for column in (0, 1))
        found |= _ranges(T, p, library.range_of("dt_range"))
        found |= {"errors": _errors(library.card), "digest": library.digest}
    name = library.card.get("mechanism", "its name is not told")
    return found | {
        "mechanism": f"{name}, sha256 {library.mechanism_sha256[:12]}",
        "species": f"{len(library.species)}: {' '.join(library.species)}",
        "code": library.level or "of one CPU",
        "tolerance": f"{one.tolerance:g}",
    }


def _network(what: str) -> dict[str, str]:
    from combred.surrogates.files.shipped import card_of, load, network_of

    surrogate = load(what)  # needs torch, as what follows
    from combred.surrogates.files.card import training_range
    from combred.surrogates.files.storage import content_digest

    card = card_of(network_of(what)) or {}
    mechanism, ranges = surrogate.mechanism, training_range(surrogate)
    does = "corrects quasi-steady-state steps" if surrogate.kinetics else "of the state alone"
    network = surrogate.network
    return {
        "network": f"{network.n_weights:,} weights, {'-'.join(map(str, network.widths))}, {does}",
        "whole": "yes, by its digest",
        **_ranges(ranges["T"], ranges["p"], surrogate.dt_range),
        "errors": _errors(card),
        "digest": content_digest(surrogate, mechanism),
        "mechanism": f"{mechanism.name}, sha256 {mechanism.sha256[:12]}",
        "species": f"{mechanism.n_species}: {' '.join(mechanism.species_names)}",
        "tolerance": f"{surrogate.TOLERANCE:g}",
    }


def _errors(card: dict) -> str:
    """The errors of a network alone and with the solver behind it, in words."""
    from combred.experiments.accuracy import NAMES, accuracy_of, delays

    accuracy = accuracy_of(card)
    return "; ".join(f"{name}: {delays(accuracy, key)}" for key, name in NAMES.items())


def _ranges(T: tuple[float, float], p: tuple[float, float], dt: tuple[float, float]) -> dict:
    """The ranges of a training."""
    atm = [f"{x / ct.one_atm:.3g}" for x in p]
    return {
        "trained at": f"{T[0]:.0f} to {T[1]:.0f} K, {atm[0]} to {atm[1]} atm, "
        f"dt {dt[0]:.3g} to {dt[1]:.3g} s"
    }

"""The phase of a mechanism's file that combred takes: the first ideal gas that reacts.

Takes the text of a file (`mechanism_file`); gives a Cantera phase, from which `mechanism` reads
plain arrays.
"""

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import cantera as ct
import numpy as np

from combred.chemistry.mechanism_file import phase_of, phases
from combred.config.fields import shown

log = logging.getLogger(__name__)
# Models of kinetics that are of surfaces and edges, in small letters, with Cantera's other names.
SURFACES = "surface", "interface", "surf", "edge"
# The model of transport of all flames.
TRANSPORT = "mixture-averaged"
STEADY = "qss|(quasi|steady).*(state|species)"  # in keys that name species in a steady state


def choose_phase(file: str, phase: str, text: str) -> ct.Solution:
    """The phase that is taken of a text: the one of the name `phase`, if there is one. Raises
    ValueError where none is an ideal gas that reacts, or where Cantera cannot read it; file: its
    name in messages."""
    listed = phases(text)
    seen, failed = [], {}
    for name in [phase] if phase else listed:
        try:
            seen.append(phase_of(text, name))
        except (RuntimeError, UnicodeError) as error:  # of Cantera
            failed[name] = _told(error)
            continue
        if seen[-1].thermo_model == "ideal-gas" and seen[-1].n_reactions > 0:
            for other in _ideal(failed, listed):
                log.warning(
                    "%s: phase %s is taken; phase %s cannot be read by Cantera: %s",
                    file, name, other, failed[other],
                )  # fmt: skip
            return seen[-1]
    for name in _ideal(failed, listed) or ([] if seen else failed):
        raise ValueError(f"{shown(file)!r} cannot be read by Cantera: {failed[name]}")
    found = "; ".join(f"{g.name}, {g.thermo_model}, {g.n_reactions} reactions" for g in seen)
    raise ValueError(
        f"combred needs an ideal gas that reacts, and {file!r} has no such phase ({found}): give "
        "another mechanism" + (f", or its phase {gases(listed)}" if phase and gases(listed) else "")
    )


def _told(error: Exception) -> str:
    """What Cantera says is wrong with a file, on one line, without the lines of the file."""
    text = re.sub(
        r"(?m)^\|.*|^>.*|^\s*\^\s*$|^\*+$|^\w+ thrown by .*|^Error on .*:$", "", str(error)
    )
    place = re.search(r"(?m)^Error on (lines? .*) of ", str(error))
    return (f"{place[1]}: " if place else "") + shown(" ".join(text.split()), 1000)


def _ideal(names: Iterable[str], phases: dict[str, dict]) -> list[str]:
    """Those of the names that are of ideal gases."""
    return [name for name in names if phases.get(name, {}).get("thermo") == "ideal-gas"]


def gases(phases: dict[str, dict]) -> str:
    """The names of the ideal gases that have reactions, for a message."""
    gases = [n for n, p in phases.items() if p.get("thermo") == "ideal-gas" and "kinetics" in p]
    return " or ".join(gases)


def warn_of_left_out(file: str, gas: ct.Solution, text: str, chosen: bool) -> None:
    """Warn of what a text says and combred does not take: reactions of surfaces, unless the phase
    was `chosen`, another model of transport than that of its flames, and species in a steady
    state. Also where Cantera's own rates lack what a text says."""
    left = [n for n, p in phases(text).items() if str(p.get("kinetics")).lower() in SURFACES]
    if left and not chosen:
        log.warning(
            "%s: phase %s is taken; reactions of %s are left out", file, gas.name, ", ".join(left)
        )
    keys = phases(text).get(gas.name, {})
    if keys.get("explicit-third-body-duplicates") == "modify-efficiency":
        log.warning(
            "%s: `modify-efficiency` changes efficiencies, which Cantera's rates lack until the "
            "mechanism is written and read again: write it by `write_yaml` of a cantera.Solution",
            file,
        )
    transport = keys.get("transport", TRANSPORT)
    if transport not in (TRANSPORT, "none"):
        log.warning(
            "%s: transport `%s` is left out: flames have the model %s",
            file, transport, TRANSPORT,
        )  # fmt: skip
    heads = re.findall(r"""(?m)^["']?([\w-]+)["']?(?= *:)""", text)  # keys of the file
    for key in (key for key in [*gas.input_data, *heads] if re.search(STEADY, key.lower())):
        log.warning("%s: `%s` is left out: all species are integrated", file, key)


def how_to_convert(file: str) -> str:
    """The command that makes a YAML file of one of an older form, as a hint."""
    name = Path(file).name
    if name.endswith((".yaml", ".yml")):
        return ""
    if name.endswith(".cti"):
        return f". Cantera's `cti2yaml {name}` makes a YAML file of it"
    if name.endswith(".xml"):
        return f". Cantera's `ctml2yaml {name}` makes a YAML file of it"
    return (
        ". A CHEMKIN file becomes YAML, in its folder, by Cantera's "
        f"`ck2yaml --input={name} --thermo=FILE --transport=FILE`"
    )


def multipliers_of(gas: ct.Solution) -> np.ndarray:
    """(n_reactions,): the factors of the rate constants of a phase, which its file or
    `set_multiplier` has set."""
    return np.array([gas.multiplier(i) for i in range(gas.n_reactions)])


def content_hash(gas: ct.Solution) -> str:
    """sha256 of species and reactions, of atomic weights that are not Cantera's, and of multipliers
    that are not 1; notes, transport data, comments and layout do not count."""

    def plain(entry: Mapping[str, Any]) -> dict:
        return {
            k: plain(v) if isinstance(v, dict) else v
            for k, v in entry.items()
            if k not in ("note", "transport")
        }

    content = {
        "species": [plain(s.input_data) for s in gas.species()],
        "thermo": [s.thermo.coeffs.tolist() for s in gas.species()],
        "reactions": [plain(r.input_data) for r in gas.reactions()],
    }
    multipliers = multipliers_of(gas)
    if np.any(multipliers != 1.0):
        content["multipliers"] = multipliers.tolist()
    weights = zip(gas.element_names, gas.atomic_weights, strict=True)
    if own := [[name, weight] for name, weight in weights if weight != _cantera_weight(name)]:
        content["weights"] = own
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _cantera_weight(element: str) -> float | None:
    """The atomic weight [kg/kmol] of an element in Cantera; None of one that it does not know."""
    try:
        return ct.Element(element).weight
    except (ct.CanteraError, ValueError):
        return None

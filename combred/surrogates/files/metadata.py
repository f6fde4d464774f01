"""What the metadata of a network's file must be: a table of checks, made before anything uses them.

Takes the JSON that `files.storage` reads, which others may have written; gives what is
wrong with it, in words.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from combred.config.fields import shown

CARRIED = "carried_mechanism"  # text and phase of a mechanism that travels with its network
LEAST_EXPONENT = 1e-3  # of a transform, which is a logarithm below
LONGEST_NAME = 255  # bytes, of a file
Check = tuple[Callable[[Any], bool], str]  # what a value is, and the same in words


def is_file_name(name: Any) -> bool:
    """Whether a value is the name of a file: no path, no character that cannot be printed."""
    return (
        isinstance(name, str)
        and name.isprintable()
        and name not in ("", ".", "..")
        and not {"/", "\\"} & set(name)
        and len(name.encode()) <= LONGEST_NAME
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(least: float, most: float) -> Callable[[Any], bool]:
    """Whether a value is a number from `least` to `most`, which NaN is not."""
    return lambda value: type(value) in (int, float) and least <= value <= most


def _are_widths(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) >= 2
        and all(type(width) is int and width > 0 for width in value)
    )


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_carried(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"text", "phase"}
        and all(map(_is_text, value.values()))
        and value["phase"].isprintable()
    )


EXPONENT: Check = _is_number(LEAST_EXPONENT, 1.0), f"a number from {LEAST_EXPONENT:g} to 1"
# Keys that every version has written.
REQUIRED: Mapping[str, Check] = {
    "mechanism": (is_file_name, "the name of a mechanism's file"),
    "mechanism_sha256": (
        lambda value: _is_text(value) and re.fullmatch("[0-9a-f]{64}", value) is not None,
        "64 hexadecimal digits",
    ),
    "widths": (_are_widths, "a list of two or more whole numbers above 0"),
    "boxcox": EXPONENT,
    "floor": (_is_number(1e-300, 1e-3), "a number from 1e-300 to 1e-3"),
    "power": EXPONENT,
}
OPTIONAL: Mapping[str, Check] = {
    "kinetics": (lambda value: isinstance(value, bool), "true or false"),
    "species": (_are_names, "a list of names"),
    "inputs": (lambda value: value is None or isinstance(value, dict), "a table of keys"),
    "digest": (_is_text, "a text"),
    CARRIED: (_is_carried, "a table of the texts `text` and `phase`"),
}


def wrong_with(metadata: Any) -> str:
    """The first fault of a network's metadata, as a clause; "" if there is none."""
    if not isinstance(metadata, dict):
        return "its metadata are no table of keys"
    absent = [key for key in REQUIRED if key not in metadata]
    if absent:
        return f"its metadata lack {', '.join(absent)}"
    for key, (is_right, should) in {**REQUIRED, **OPTIONAL}.items():
        if key in metadata and not is_right(metadata[key]):
            return f"its {key} is {shown(repr(metadata[key]), 40)}, and should be {should}"
    return ""

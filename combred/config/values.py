"""The value of a setting: its declaration, with unit, help and range; its check; its text."""

import math
import sys
from dataclasses import field, fields
from numbers import Real
from typing import Any, get_origin

from combred.config.fields import require, shown


def setting(
    default: Any,
    help: str,
    unit: str = "",
    within: tuple[float, float] | None = None,
    among: tuple[str, ...] = (),
) -> Any:
    """A dataclass field with its unit and one line of help. A number, or each number of a list,
    lies `within` a closed range, which the help ends with; a text is one of `among`."""
    if within:
        help = f"{help}; {within[0]:g} to {within[1]:g}"
    metadata = {"help": help, "unit": unit, "within": within, "among": among}
    if isinstance(default, (list, dict)):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def check(settings: Any, section: str) -> None:
    """ValueError for a value outside the range of its field, naming the key."""
    for item in fields(settings):
        value = getattr(settings, item.name)
        key, within = f"{section}.{item.name}".lstrip("."), item.metadata.get("within")
        listed, kind = isinstance(value, list), get_origin(item.type)
        require(kind is not list or listed, f"{key}={shown(value)} has to be a list of values")
        single = item.type not in (int, float) or not listed
        require(single, f"{key}={shown(written(value))} has to be one number, and not a list")
        if within:
            low, high = within
            numbers = value if listed else [value]
            require(
                all(isinstance(x, Real) and low <= x <= high for x in numbers),  # false for nan
                f"{key}={shown(written(value))} must lie between {low:g} and {high:g}"
                + (f" {item.metadata['unit']}" if item.metadata["unit"] else ""),
            )
        among = item.metadata.get("among")
        require(
            not among or value in among,
            f"{key}={shown(value)}: {', '.join(filter(None, among or ()))} are possible",
        )


def written(value: Any) -> str:
    """A value as it is written after `key=`, as in [1e-08,1e-05] or true."""
    if isinstance(value, list):
        return f"[{','.join(map(written, value))}]"
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else str(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def number(text: str) -> float:
    """The number in a text, not a number where there is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def is_positive(text: str, most: float = sys.float_info.max) -> bool:
    """Whether a text is a positive number, at most `most`."""
    return 0.0 < number(text) <= most

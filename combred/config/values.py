"""The value of a setting as it is written on the command line.

Takes a text and the type of the setting's field; gives the value. The type alone decides how the
text is read: `run=007` stays 007, and `training.steps=010` is ten.
"""

import re
from typing import Any, get_args, get_origin

from combred.config.fields import shown

LONGEST = 300  # digits of a whole number: a float holds no larger one
TRUE, FALSE = ("true", "1"), ("false", "0")
WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def parse(key: str, text: str, kind: Any) -> Any:
    """The value of `key=text` for a field of type `kind`: int, float, bool, str or a list of one of
    them, written as [a,b]. Raises ValueError, which names key, text and what was expected."""
    if get_origin(kind) is not list:
        return _single(key, text, text, kind)
    (inner,) = get_args(kind)
    stripped = text.strip()
    body = stripped[1:-1]
    if not (stripped.startswith("[") and stripped.endswith("]")) or set(body) & set("[]"):
        raise ValueError(f"{key}={shown(text)}: {_list_of(inner)} is expected, as in {key}=[a,b]")
    items = [item.strip() for item in body.split(",")] if body.strip() else []
    return [_single(key, text, item, inner) for item in items]


def _single(key: str, text: str, item: str, kind: type) -> Any:
    item = item.strip()
    if kind is str:
        return item
    if kind is bool and item.lower() in TRUE + FALSE:
        return item.lower() in TRUE
    if kind is int and re.fullmatch(r"[+-]?[0-9]+(_[0-9]+)*", item) and len(item) < LONGEST:
        return int(item)
    if kind is float and item.isascii():
        try:
            return float(item)
        except ValueError:
            pass
    of = "" if item == text.strip() else f", and {shown(item) or 'an empty entry'!r} is none"
    raise ValueError(f"{key}={shown(text)}: {WANTED[kind]} is expected{of}")


def _list_of(inner: type) -> str:
    return {int: "a list of whole numbers", float: "a list of numbers"}.get(inner, "a list")

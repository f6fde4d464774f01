"""`key=value` arguments, and the settings that they make.

The type of a setting's field alone decides how its text is read: `run=007` stays 007, and
`training.steps=010` is ten.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin

from combred.config.fields import require, shown
from combred.config.profiles import PROFILES
from combred.config.settings import Settings

LONGEST = 300  # digits of a whole number: a float holds no larger one
TRUE, FALSE = ("true", "1"), ("false", "0")
WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}

DEVICES = ("device", "gpu", "cuda", "cpu")  # words that other programs have settings for


def keys(kind: type = Settings, prefix: str = "") -> dict[str, Any]:
    """Every dotted key of the settings and its dataclass field."""
    found: dict[str, Any] = {}
    for item in fields(kind):
        if isinstance(item.type, type) and is_dataclass(item.type):
            found |= keys(item.type, f"{prefix}{item.name}.")
        else:
            found[prefix + item.name] = item
    return found


def _instead(key: str) -> str:
    """What to give instead of a key that there is not: those of the same or nearly the same last
    word, else the most similar one; an unlike one is not named."""
    word = key.rpartition(".")[2].lower()
    if word in DEVICES:
        return (
            ": no setting chooses a device. Networks train on a GPU where torch finds one; "
            "CUDA_VISIBLE_DEVICES= in front of the command keeps to the CPU."
        )
    words: dict[str, list[str]] = {}
    for one in keys():
        words.setdefault(one.rpartition(".")[2], []).append(one)
    near = [one for last in difflib.get_close_matches(word, words, 1, 0.75) for one in words[last]]
    near = near or [one for one in keys() if key and one.startswith(key)]
    near = near or difflib.get_close_matches(key, keys(), n=1, cutoff=0.7)
    return f"; did you mean {' or '.join(near[:3])}?" if near else "."


def resolve(arguments: list[str]) -> Settings:
    """Settings from `key=value` arguments, on top of a profile.

    Raises ValueError for an argument that is not key=value, an unknown key (naming the nearest), a
    value of the wrong type, and values that a settings class refuses.
    """
    given: dict[str, str] = {}
    for i, argument in enumerate(arguments):
        key, equals, value = argument.partition("=")
        if not equals:
            raise ValueError(
                f"{shown(argument)!r} is not key=value (as in stage=2, or training.steps=9000)"
                + _as_an_option(argument, arguments[i + 1 : i + 2])
            )
        if key not in keys():
            raise ValueError(
                f"there is no setting {shown(key)!r}{_instead(key)} "
                "`python -m combred.pipeline` without arguments prints all of them."
            )
        require(
            key not in given,
            f"{key} is given twice, {shown(given.get(key))} and {shown(value)}: leave one out",
        )
        given[key] = value
    both = {"reduction.layers", "reduction.thresholds"} & given.keys()
    require(
        not both or "reduction.parameters" not in given,
        "reduction.parameters chooses layers and widths itself: leave out "
        f"{', '.join(sorted(both))}",
    )
    table = both | ({"reduction.parameters"} & given.keys())
    require(
        not table or not given.get("reduction.criteria"),
        "reduction.criteria lets a search choose the widths of all layers: leave out "
        f"{', '.join(sorted(table))}",
    )
    if both:  # a table of layers is asked for
        given = {"reduction.method": "condensation", "reduction.parameters": "[]", **given}
    profile = given.get("profile", "default")
    require(profile in PROFILES, f"profile={shown(profile)}: {', '.join(PROFILES)} are possible")
    items = keys()
    values = {key: parse(key, text, items[key].type) for key, text in given.items()}
    return _made(Settings, PROFILES[profile], values)


def _as_an_option(argument: str, following: list[str]) -> str:
    """What to write in place of an option, as --stage 2."""
    key, value = argument.lstrip("-"), "".join(following)
    if key not in keys():
        return ""
    return f": write {key}={shown(value) if value and '=' not in value else '...'}"


def _made(kind: type, profile: Mapping[str, Any], values: dict[str, Any], prefix: str = "") -> Any:
    """A settings object from the values of the dotted keys, those of a profile where there is none,
    and the defaults for the rest."""
    found: dict[str, Any] = {}
    for item in fields(kind):
        key = prefix + item.name
        if isinstance(item.type, type) and is_dataclass(item.type):
            found[item.name] = _made(item.type, profile.get(item.name, {}), values, f"{key}.")
        elif key in values:
            found[item.name] = values[key]
        elif item.name in profile:
            found[item.name] = profile[item.name]
    return kind(**found)


def value_of(settings: Settings, key: str) -> Any:
    """The value of a dotted key."""
    value: Any = settings
    for part in key.split("."):
        value = getattr(value, part)
    return value


def parse(key: str, text: str, kind: Any) -> Any:
    """The value of `key=text` for a field of type `kind`: int, float, bool, str or a list of one of
    them, written as [a,b]. Raises ValueError, which names key, text and what was expected."""
    if get_origin(kind) is not list:
        return _single(key, text, text, kind)
    (inner,) = get_args(kind)
    stripped = text.strip()
    body = stripped[1:-1]
    if not (stripped.startswith("[") and stripped.endswith("]")) or set(body) & set("[]"):
        of = {int: " of whole numbers", float: " of numbers"}.get(inner, "")
        raise ValueError(f"{key}={shown(text)}: a list{of} is expected, as in {key}=[a,b]")
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

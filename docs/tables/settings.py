"""Tables of the settings and the profiles (settings.md)."""

import dataclasses

from combred.config.command import keys, resolve, value_of
from combred.config.fields import written
from combred.config.profiles import PROFILES

from .markdown import code, plain, table

GENERAL = "run"  # the heading of settings that belong to no section


def sections() -> dict[str, dict[str, dataclasses.Field]]:
    """The keys and their fields, by section."""
    found: dict[str, dict[str, dataclasses.Field]] = {}
    for key, item in keys().items():
        found.setdefault(key.rpartition(".")[0] or GENERAL, {})[key] = item
    return found


def settings_table() -> str:
    """Every key with its default, unit and help, a table for each section."""
    defaults, text = resolve([]), ""
    columns = {
        "key": lambda key, item: code(key),
        "default": lambda key, item: code(written(value_of(defaults, key))),
        "unit": lambda key, item: plain(item.metadata["unit"]),
        "meaning": lambda key, item: plain(item.metadata["help"]),
    }
    for section, items in sections().items():
        text += f"## {section.capitalize()}\n\n{table(columns, items.items(), left=4)}"
    return text


def profiles_table() -> str:
    """For each profile the keys whose values differ from the defaults."""
    defaults, text = resolve([]), ""
    for profile in PROFILES:
        settings = resolve([f"profile={profile}"])
        values = {key: value_of(settings, key) for key in keys() if key != "profile"}
        rows = [
            (code(key), code(written(value)))
            for key, value in values.items()
            if value != value_of(defaults, key)
        ]
        shown = table(["key", "value"], rows, left=2) if rows else "All defaults.\n\n"
        text += f"### profile={profile}\n\n{shown}"
    return text


TABLES = {
    "settings": settings_table,
    "profiles": profiles_table,
}

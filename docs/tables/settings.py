"""Tables of the settings and the profiles (settings.md)."""

import dataclasses

from combred import config
from combred.config.fields import written

from .markdown import code, plain, table

GENERAL = "run"  # the heading of settings that belong to no section


def sections() -> dict[str, dict[str, dataclasses.Field]]:
    """The keys and their fields, by section."""
    found: dict[str, dict[str, dataclasses.Field]] = {}
    for key, item in config.keys().items():
        found.setdefault(key.rpartition(".")[0] or GENERAL, {})[key] = item
    return found


def settings_table() -> str:
    """Every key with its default, unit and help, a table for each section."""
    defaults, text = config.resolve([]), ""
    columns = {
        "key": lambda key, item: code(key),
        "default": lambda key, item: code(written(config.value_of(defaults, key))),
        "unit": lambda key, item: plain(item.metadata["unit"]),
        "meaning": lambda key, item: plain(item.metadata["help"]),
    }
    for section, items in sections().items():
        text += f"## {section.capitalize()}\n\n{table(columns, items.items(), left=4)}"
    return text


def profiles_table() -> str:
    """For each profile the keys whose values differ from the defaults."""
    defaults, text = config.resolve([]), ""
    for profile in config.PROFILES:
        settings = config.resolve([f"profile={profile}"])
        values = [
            (key, config.value_of(settings, key), config.value_of(defaults, key))
            for key in config.keys()
            if key != "profile"
        ]
        rows = [(code(key), code(written(value)), code(written(default)))
                for key, value, default in values if value != default]  # fmt: skip
        shown = table(["key", "value", "default"], rows, left=3) if rows else "All defaults.\n\n"
        text += f"### profile={profile}\n\n{shown}"
    return text


TABLES = {
    "settings": settings_table,
    "profiles": profiles_table,
}

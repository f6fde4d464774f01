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
        section = key.rpartition(".")[0] or GENERAL
        found.setdefault(section, {})[key] = item
    return found


def settings_table() -> str:
    """Every key with its default, unit and help, a table for each section."""
    defaults, text = config.resolve([]), ""
    for section, items in sections().items():
        rows = [
            [
                code(key),
                code(written(config.value_of(defaults, key))),
                plain(item.metadata["unit"]) or "",
                plain(item.metadata["help"]),
            ]
            for key, item in items.items()
        ]
        text += f"## {section.capitalize()}\n\n"
        text += table(["key", "default", "unit", "meaning"], rows, left=4)
    return text


def profiles_table() -> str:
    """For each profile the keys whose values differ from the defaults."""
    defaults, text = config.resolve([]), ""
    for profile in config.PROFILES:
        settings = config.resolve([f"profile={profile}"])
        rows = [
            [code(key), code(written(value)), code(written(config.value_of(defaults, key)))]
            for key in config.keys()
            if (value := config.value_of(settings, key)) != config.value_of(defaults, key)
            and key != "profile"
        ]
        text += f"### profile={profile}\n\n"
        if rows:
            text += table(["key", "value", "default"], rows, left=3)
        else:
            text += "All defaults.\n\n"
    return text


TABLES = {
    "settings": settings_table,
    "profiles": profiles_table,
}

"""Tables of the settings and the profiles (settings.md)."""

import dataclasses

from combred.config.command import keys, resolve, value_of
from combred.config.profiles import PROFILES
from combred.config.values import written

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
    """The values of each profile that differ from the defaults."""
    defaults = resolve([])
    found = {name: resolve([f"profile={name}"]) for name in PROFILES if name != "default"}

    def cell(profile: str, key: str) -> str | None:
        value = value_of(found[profile], key)
        return code(written(value)) if value != value_of(defaults, key) else None

    columns = {"key": code} | {
        f"profile={name}": lambda key, name=name: cell(name, key) for name in found
    }
    differ = [k for k in keys() if k != "profile" and any(cell(name, k) for name in found)]
    return table(columns, [(key,) for key in differ], left=len(columns))


TABLES = {
    "settings": settings_table,
    "profiles": profiles_table,
}

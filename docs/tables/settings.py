"""Tables of the settings and the profiles (settings.md)."""

from combred.config.command import keys, resolve, value_of
from combred.config.profiles import PROFILES
from combred.config.values import written

from .markdown import code, plain, table


def settings_table() -> str:
    """Every key with its default in its unit, and its help without the range at its end."""
    defaults, rows = resolve([]), []
    for key, item in keys().items():
        value, told = code(written(value_of(defaults, key))), item.metadata
        meaning = told["help"].rpartition("; ")[0] if told["within"] else told["help"]
        rows.append((code(key), f"{value} {plain(told['unit'])}".strip(), plain(meaning)))
    return table(["key", "default", "meaning"], rows, left=3)


def profiles_table() -> str:
    """The values of each profile that differ from the defaults; nobody chooses those of smoke."""
    defaults, shown = resolve([]), [name for name in PROFILES if name not in ("default", "smoke")]
    found = {name: resolve([f"profile={name}"]) for name in shown}

    def cell(profile: str, key: str) -> str | None:
        value = value_of(found[profile], key)
        return code(written(value)) if value != value_of(defaults, key) else None

    rows = [(code(k), *(cell(name, k) for name in found)) for k in keys() if k != "profile"]
    heads = ["key", *(f"profile={name}" for name in found)]
    return table(heads, [row for row in rows if any(row[1:])], left=len(heads))


TABLES = {
    "settings": settings_table,
    "profiles": profiles_table,
}

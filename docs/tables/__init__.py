"""Tables of the site and of the README that are made from the code and from measured results.

    python -m docs.tables

Takes `combred.config`, the cards of the shipped models and benchmarks/results/*.json; gives one
file a table under docs/generated/, which the pages include, and the tables of README.md, below
their names in comments. No number is typed in. Where a file of results is missing, a sentence takes
the place of its table (`MISSING`); a model that does not ship has no row.
"""

from collections.abc import Callable
from pathlib import Path

from . import flows, models, precision, readme, reduction, settings, solver, steps

PAGES = flows, models, precision, readme, reduction, settings, solver, steps
TABLES: dict[str, Callable[[], str]] = {k: v for page in PAGES for k, v in page.TABLES.items()}


def write_all(folder: Path) -> None:
    """Write every table to `folder`, a file only where its text has changed."""
    folder.mkdir(exist_ok=True)
    for name, make in TABLES.items():
        path, text = folder / f"{name}.md", make()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)

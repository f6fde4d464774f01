"""Writes all tables: `python -m docs.tables`."""

from pathlib import Path

from . import write_all
from .readme import fill

DOCS = Path(__file__).parents[1]

if __name__ == "__main__":
    write_all(DOCS / "generated")
    for folder in (DOCS.parent, DOCS.parent / "coupling"):
        page = folder / "README.md"
        page.write_text(fill(page.read_text()))

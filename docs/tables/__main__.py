"""Writes all tables into their pages: `python -m docs.tables`. With --stale it lists results
that are older than the code, a line a file."""

import sys

from . import PAGES, fill
from .results import RESULTS, outdated

if __name__ == "__main__":
    if sys.argv[1:] == ["--stale"]:
        told = [outdated(path.name) for path in sorted(RESULTS.glob("*.json"))]
        print("\n".join(filter(None, told)) or "no result is older than the code")
        sys.exit()
    for page in PAGES:
        text = page.read_text()
        filled = fill(text)
        if filled != text:
            page.write_text(filled)

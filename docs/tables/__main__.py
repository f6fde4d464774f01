"""Writes all tables into their pages: `python -m docs.tables`; with --stale, lists the results that
other code has measured than is there, a line for each file."""

import sys

from . import PAGES, fill
from .results import RESULTS, told_stale

if __name__ == "__main__":
    if sys.argv[1:] == ["--stale"]:
        told = [told_stale(path.name) for path in sorted(RESULTS.glob("*.json"))]
        print("\n".join(filter(None, told)) or "all results are of the present code")
        sys.exit()
    for page in PAGES:
        text = page.read_text()
        filled = fill(text)
        if filled != text:
            page.write_text(filled)

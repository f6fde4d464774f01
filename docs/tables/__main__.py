"""Writes all tables into their pages: `python -m docs.tables`."""

from . import PAGES, fill

if __name__ == "__main__":
    for page in PAGES:
        text = page.read_text()
        filled = fill(text)
        if filled != text:
            page.write_text(filled)

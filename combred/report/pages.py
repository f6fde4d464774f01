"""Pages, and how they are written: one file of HTML with its figures in it, and figures/ beside."""

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import jinja2
import matplotlib
from markupsafe import Markup, escape

from combred.files.records import read_record, write_bytes
from combred.report.blocks import Block, Note, Picture, Section, Table
from combred.report.style import MARK, STYLE, save


@dataclass(frozen=True)
class Page:
    """The content of a page, in this order. title; name: of the run or mechanism; alarms: warnings
    that stand before any number; verdict: the result in a sentence; further: the most important
    numbers; head: blocks before the first section; sections."""

    title: str
    name: str
    alarms: Sequence[Note]
    verdict: str
    further: str
    head: Sequence[Block]
    sections: Sequence[Section]


def write_page(path: Path, page: Page) -> Path:
    """Write a page, whole or not at all, and its figures into figures/ beside it; those of
    other pages there are removed. Returns its path."""
    blocks = [*page.head, *(b for section in page.sections for b in section.blocks)]
    folder = path.parent / "figures"
    folder.mkdir(exist_ok=True)
    with matplotlib.rc_context(STYLE):  # type: ignore[arg-type]  # its stubs list every key
        figures = {b.name: b.draw() for b in blocks if isinstance(b, Picture)}
        for old in folder.glob("*.png"):
            if old.is_file() and MARK in old.read_bytes():  # a user's own stay
                old.unlink()
        for name, figure in figures.items():
            save(figure, folder / f"{name}.png")
    write_bytes(path, render(page, folder).encode())
    return path


def read_finished(path: Path, key: str, what: str) -> dict:
    """The numbers of a page. Raises ValueError where they have no `key`, which is written last, or
    are not there; what: made them."""
    record = read_record(path)
    if key not in record:
        raise ValueError(f"{path} is missing or not finished: run the {what} again")
    return record


def made_with(rows: Sequence[Sequence[str]], source: str) -> Section:
    """The section of what the numbers were made with: a name and a text in each row."""
    return Section("How it was made", [Table(["", ""], rows, source, left=2)])


def render(page: Page, figures: Path) -> str:
    """The template, filled with a page of today; figures: the folder of its pictures."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("combred.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inline"] = inline
    environment.globals["png"] = lambda name: b64encode((figures / f"{name}.png").read_bytes())
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    return environment.get_template("page.html.j2").render(page=page, date=today)


def inline(text: str) -> Markup:
    """A line with `code` and **strong** words as HTML, escaped; 1e-8 is not broken across
    lines."""
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    marked = re.sub(r"\b\d[\d.]*e-\d+", r'<span class="whole">\g<0></span>', marked)
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", marked))

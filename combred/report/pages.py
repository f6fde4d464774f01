"""Pages made from the template: their text, their figures as parts of the page, their files."""

import base64
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from combred.report.blocks import Picture
from combred.report.style import save

FIGURES = "figures"


def write_page(path: Path, content: dict) -> None:
    """Write a page, whole or not at all, and its figures into figures/ beside it; other figures
    there are removed.

    content: the variables of the template, but for the date; "head" (blocks) and "sections".
    """
    folder = path.parent / FIGURES
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    blocks = [*content["head"], *(b for section in content["sections"] for b in section.blocks)]
    for block in blocks:
        if isinstance(block, Picture):
            save(block.figure, folder / f"{block.name}.png")
    content = {"date": datetime.now(UTC).strftime("%Y-%m-%d"), **content}
    new = path.with_name(f"{path.name}.new")
    new.write_text(render(content, folder), encoding="utf-8")
    os.replace(new, path)


def render(content: dict, figures: Path) -> str:
    """The template, filled with the content of a page; figures: the folder of its pictures."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("combred.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inline"] = inline
    environment.globals["data_uri"] = lambda name: data_uri(figures / f"{name}.png")
    return environment.get_template("page.html.j2").render(content)


def inline(text: str) -> Markup:
    """A line with `code` and **strong** words as HTML, escaped; 1e-08 is not broken across
    lines."""
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    marked = re.sub(r"\b\d[\d.]*e-\d+", r'<span class="whole">\g<0></span>', marked)
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", marked))


def data_uri(path: Path) -> str:
    """A PNG as a data URI, which is part of the page."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode("ascii")

"""Pages made from the templates: their text, their figures as parts of the page, their files."""

import base64
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import jinja2
from markupsafe import Markup, escape


def write_page(path: Path, content: dict) -> None:
    """Write a page, report.html or report.md, from its template, whole or not at all; its figures
    lie in figures/ beside it. content: the variables of the template, but for the date."""
    new = path.with_name(f"{path.name}.new")
    content = {"date": datetime.now(UTC).strftime("%Y-%m-%d"), **content}
    template = f"report{path.suffix}.j2"
    new.write_text(render(template, content, path.parent), encoding="utf-8")
    os.replace(new, path)


def render(template: str, content: dict, folder: Path) -> str:
    """A template of combred/report/templates, filled with the content of a report."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("combred.report", "templates"),
        autoescape=template.endswith(".html.j2"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inline"] = inline
    environment.filters["cell"] = lambda text: text.replace("|", "\\|")
    environment.globals["data_uri"] = lambda name: data_uri(folder / "figures" / f"{name}.png")
    return environment.get_template(template).render(content)


def inline(text: str) -> Markup:
    """A line with `code` and **strong** words as HTML, escaped; 1e-08 is not broken across
    lines."""
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    marked = re.sub(r"\b\d[\d.]*e-\d+", r'<span class="whole">\g<0></span>', marked)
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", marked))


def data_uri(path: Path) -> str:
    """A PNG as a data URI, which is part of the page."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode("ascii")

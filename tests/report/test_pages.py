"""Pages: no text of the numbers becomes part of them; how numbers are written."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from run_folder import Page

from combred.report import pages, style
from combred.report.blocks import Note, Picture, Section, Table, Text
from combred.report.formats import (
    NBSP,
    NO_IGNITION,
    duration,
    kelvin,
    number,
    percent,
    several,
    significant,
)
from combred.report.style import literal

HOSTILE = "<img src=x onerror=alert(1)></title></script>\"'`a` {{ 7 * 7 }} $\\frac$"


def require_harmless(page: Page, pictures: int) -> None:
    """No `HOSTILE` text has become a tag, or an attribute that calls something."""
    assert len(page.all("img")) == pictures
    assert len(page.all("title")) == 1 and not page.all("script")
    assert not [name for _, of in page.tags for name in of if name.startswith("on")]
    assert "&lt;img src=x" in page.source and "{{ 7 * 7 }}" in page.source


def hostile() -> Figure:
    figure = Figure()
    figure.subplots().set_title(literal(HOSTILE))
    return figure


def test_no_text_of_any_block_becomes_part_of_a_page(tmp_path):
    table = Table([HOSTILE] * 2, [[HOSTILE], [HOSTILE] * 2], HOSTILE, HOSTILE)
    notes = [Note(HOSTILE), Note(HOSTILE, alarm=True)]
    picture = Picture("picture", hostile, HOSTILE, HOSTILE, HOSTILE)
    blocks = [Text(HOSTILE), *notes, table, picture]
    (tmp_path / "figures").mkdir()
    style.save(hostile(), tmp_path / "figures/old.png")
    Figure().savefig(tmp_path / "figures/own.png")
    page = pages.Page(HOSTILE, HOSTILE, notes, HOSTILE, HOSTILE, blocks, [Section(HOSTILE, blocks)])
    pages.write_page(tmp_path / "a.html", page)
    require_harmless(Page(tmp_path / "a.html"), 2)
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"picture.png", "own.png"}


@pytest.mark.parametrize(
    ("fraction", "written"),
    [
        (0.40509, "40.5 %"),
        (0.0834, "8.34 %"),
        (0.000612, "0.06 %"),
        (4e-6, "0.0004 %"),
        (9.6e-5, "0.01 %"),
        (1e-13, "< 0.000001 %"),
    ]
    + [(0.0, "0.00 %"), (np.nan, "–"), (None, "–"), (np.inf, NO_IGNITION)],
)
def test_percent(fraction, written):
    assert percent(fraction).replace(NBSP, " ") == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(617.69, "618"), (5.839, "5.84"), (0.28871, "0.289"), (0, "0"), (9.996, "10.0")],
)
def test_significant(value, written):
    assert significant(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1e-6, "1e-6"),
        (1e-4, "1e-4"),
        (2.5e-10, "2.5e-10"),
        (0.001, "0.001"),
        (0, "0"),
        (1400, "1400"),
    ],
)
def test_number(value, written):
    assert number(value) == written


@pytest.mark.parametrize(
    "written, expected",
    [
        *[(duration(1.44), "1.4 s"), (duration(119), "119 s"), (duration(300), "5.00 min")],
        *[(duration(9000), "2.50 h"), (several([1.0]), "1"), (several([1.0, 2.0]), "1 and 2")],
        (several([1400, 1500, 1600], "K"), "1400, 1500 and 1600 K"),
        *[(kelvin(52.04), "52.0 K"), (kelvin(0.2), "0.20 K"), (kelvin(0.00105), "0.001 K")],
    ],
)
def test_times_and_lists(written, expected):
    assert written.replace(NBSP, " ") == expected

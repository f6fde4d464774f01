"""Pages: no text of the numbers becomes part of them; how numbers are written."""

from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure

from combred.report.blocks import Note, Picture, Section, Table, Text
from combred.report.formats import NBSP, NO_IGNITION, duration, percent, several, significant
from combred.report.pages import Page, write_page
from combred.report.style import literal

HOSTILE = "<img src=x onerror=alert(1)></title></script>\"'`a` {{ 7 * 7 }} $\\frac$"


class Tags(HTMLParser):
    """The tags of a page, and their attributes that call something."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.calls = Counter(), []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.calls += [name for name, _ in attributes if name.startswith("on")]


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
    (tmp_path / "figures/old.png").touch()
    page = Page(
        HOSTILE, HOSTILE, HOSTILE, notes, HOSTILE, HOSTILE, blocks, [Section(HOSTILE, blocks)]
    )
    write_page(tmp_path / "a.html", page)
    text = (tmp_path / "a.html").read_text()
    found = Tags(text)
    assert found.tags["img"] == 2 and found.tags["title"] == 1 and found.tags["script"] == 0
    assert not found.calls and "&lt;img src=x" in text and "{{ 7 * 7 }}" in text
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"picture.png"}


@pytest.mark.parametrize(
    ("fraction", "written"),
    [(0.40509, "40.5 %"), (0.0834, "8.34 %"), (0.000612, "0.06 %"), (4e-6, "0.0004 %")]
    + [(0.0, "0.00 %"), (np.nan, "–"), (None, "–"), (np.inf, NO_IGNITION)],
)
def test_percent(fraction, written):
    assert percent(fraction).replace(NBSP, " ") == written


@pytest.mark.parametrize(
    ("value", "written"), [(617.69, "618"), (5.839, "5.84"), (0.28871, "0.289"), (0, "0")]
)
def test_significant(value, written):
    assert significant(value) == written


@pytest.mark.parametrize(
    "written, expected",
    [
        *[(duration(1.44), "1.4 s"), (duration(119), "119 s"), (duration(300), "5.00 min")],
        *[(duration(9000), "2.50 h"), (several([1.0]), "1"), (several([1.0, 2.0]), "1 and 2")],
        (several([1400, 1500, 1600], "K"), "1400, 1500 and 1600 K"),
    ],
)
def test_times_and_lists(written, expected):
    assert written.replace(NBSP, " ") == expected

"""The blocks that pages are made of.

A block is content without layout; `page.html.j2` lays it out. Text may hold `code` and **strong**
words. Imports nothing of combred, and matplotlib for types alone, so that the console can show a
`Table`, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Block:
    """Content of a page; the template knows a block by the name of its class."""


@dataclass(frozen=True)
class Text(Block):
    """A paragraph."""

    body: str


@dataclass(frozen=True)
class Note(Block):
    """A highlighted paragraph: something is missing or, with `alarm`, wrong."""

    body: str
    alarm: bool = False


@dataclass(frozen=True)
class Table(Block):
    """Rows of formatted numbers under column heads; a row of one cell is a heading in the table.

    `source`: the files that hold the numbers. The first `left` columns are words, aligned left.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    source: str
    caption: str = ""
    left: int = 1

    def known(self) -> "Table":
        """The table without the columns that hold nothing but – in every row."""
        cells = [row for row in self.rows if len(row) > 1]
        keep = [i for i in range(len(self.columns)) if any(row[i] != "–" for row in cells)]
        rows = [[row[i] for i in keep] if row in cells else row for row in self.rows]
        return replace(self, columns=[self.columns[i] for i in keep], rows=rows)


@dataclass(frozen=True)
class Picture(Block):
    """A figure, which becomes figures/<name>.png, with its caption and the files that hold its
    numbers. `draw` makes it when the page is written, in the style of all pages."""

    name: str
    draw: "Callable[[], Figure]"
    alt: str
    caption: str
    source: str


@dataclass(frozen=True)
class Section:
    """A heading and its blocks."""

    title: str
    blocks: Sequence[Block]

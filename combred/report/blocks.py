"""The blocks of a page, and how numbers are written.

Imports nothing of combred. A block is content without layout; `page.html.j2` lays it out. Text may
hold `code` and **strong** words.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from matplotlib.figure import Figure

ATM = 101325.0  # Pa
NO_IGNITION = "**no ignition**"
NBSP = "\u00a0"


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    body: str


@dataclass(frozen=True)
class Note:
    """A highlighted paragraph: something is missing or, with `alarm`, wrong."""

    kind: ClassVar[str] = "note"
    body: str
    alarm: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of formatted numbers under column heads; a row of one cell is a heading in the table.

    `source`: the files that hold the numbers. The first `left` columns are words, aligned left.
    """

    kind: ClassVar[str] = "table"
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    source: str
    caption: str = ""
    left: int = 1


@dataclass(frozen=True)
class Picture:
    """A figure, which becomes figures/<name>.png, with its caption and the files that hold its
    numbers."""

    kind: ClassVar[str] = "picture"
    name: str
    figure: Figure
    alt: str
    caption: str
    source: str


@dataclass(frozen=True)
class Code:
    """Lines to copy."""

    kind: ClassVar[str] = "code"
    body: str


Block = Text | Note | Table | Picture | Code


@dataclass
class Section:
    """A heading and its blocks."""

    title: str
    blocks: list[Block] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        """The name by which a link finds the heading."""
        return self.title.lower().replace(" ", "-")


# -- numbers ---------------------------------------------------------------------------------------


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, without exponent: 617.7 -> 618; – if not finite."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def percent(fraction: float | None, sign: str = "") -> str:
    """A fraction in percent, 0.4051 -> 40.5 %; None and NaN: –; infinite: no ignition."""
    if fraction is None or math.isnan(fraction):
        return "–"
    if math.isinf(fraction):
        return NO_IGNITION
    value = 100 * fraction
    decimals = 1 if abs(value) >= 9.95 else 2
    written = significant(value, 1) if 0 < abs(value) < 0.01 else f"{value:.{decimals}f}"
    return f"{sign}{written}{NBSP}%"


def kelvin(value: float | None) -> str:
    """A temperature difference [K] with one decimal."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.1f}{NBSP}K"


def microseconds(seconds: float) -> str:
    """A time per state [s] in microseconds."""
    return f"{significant(1e6 * seconds)}{NBSP}µs"


def duration(seconds: float | None) -> str:
    """A computing time [s] in seconds, minutes or hours."""
    if seconds is None:
        return "–"
    if seconds < 120:
        return f"{significant(seconds, 2 if seconds < 100 else 3)}{NBSP}s"
    if seconds < 7200:
        return f"{significant(seconds / 60)}{NBSP}min"
    return f"{significant(seconds / 3600)}{NBSP}h"


def atmospheres(p: float) -> str:
    """A pressure [Pa] in atm, with three digits: 2026500 -> 20."""
    return f"{p / ATM:.3g}"


def shape(widths: Sequence[int]) -> str:
    """Widths of a network as in papers: 23-800-23."""
    return "-".join(map(str, widths))


def several(values: Sequence[float], unit: str = "") -> str:
    """A list in words: 1400, 1500 and 1600 K."""
    words = [f"{value:g}" for value in values]
    joined = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    return f"{joined}{NBSP}{unit}" if unit else joined

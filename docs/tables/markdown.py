"""Cells and tables of Markdown."""

import math
from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence], left: int = 1) -> str:
    """A Markdown table; a cell of None is "-". The first `left` columns are left-aligned, the
    others right-aligned."""
    rule = ["---"] * left + ["---:"] * (len(heads) - left)
    lines = [" | ".join("-" if c is None else str(c) for c in row) for row in (heads, rule, *rows)]
    return "".join(f"| {line} |\n" for line in lines) + "\n"


def plain(text: object) -> str:
    """Text for a cell: what Markdown would interpret is escaped."""
    text = str(text)
    for character in "\\|<>*_`$[]":
        text = text.replace(character, "\\" + character)
    return text


def code(value: object) -> str:
    """A value for a cell, as code."""
    text = str(value).replace("|", "\\|")
    return f"`{text}`" if text else "(empty)"


def percent(*shares: float | None, digits: int = 2) -> str:
    """Shares as percent, separated by slashes; None and NaN are "-", infinity is "fails"."""
    if all(share is None for share in shares):
        return "-"
    return " / ".join(number(None if s is None else 100 * s, digits) for s in shares) + " %"


def both(found: dict | None, *names: str, digits: int = 2) -> str | None:
    """Two numbers of a result as percent, by default its mean and worst; None without a result."""
    return found and percent(*(found[name] for name in names or ("mean", "worst")), digits=digits)


def number(value: float | None, digits: int) -> str:
    """A number with its digits."""
    if value is None or math.isnan(value):
        return "-"
    return "fails" if math.isinf(value) else f"{value:.{digits}f}"


def digits(value: float, count: int) -> float:
    """A value rounded to a number of digits, for a cell."""
    found = float(f"{value:.{count}g}")
    return int(found) if abs(found) >= 1.0 and found == int(found) else found


def us(microseconds: float, count: int = 2) -> str:
    """A time in microseconds, rounded to a number of digits."""
    return f"{digits(microseconds, count)} us"


def seconds(dt: str | float) -> str:
    """A time step [s] for a cell: 1e-06 is "1e-6 s"."""
    mantissa, _, exponent = f"{float(dt):.1e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)} s"


def short(value: float) -> str:
    """A tolerance or an error for a cell: 0.0001 is "1e-4"."""
    return f"{value:g}" if value >= 1e-3 else f"{value:.0e}".replace("e-0", "e-")

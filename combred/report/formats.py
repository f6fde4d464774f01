"""How numbers and lists are written on pages and on the console.

Imports nothing of combred. **Strong** words are alarming, as in blocks.
"""

import math
from collections.abc import Sequence

ATM = 101325.0  # Pa
NO_IGNITION, NO_FLAME = "**no ignition**", "**no flame**"
NBSP = "\u00a0"


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, without exponent: 617.7 -> 618; – if not finite."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])  # of the rounded number
    return f"{value:.{max(0, digits - 1 - exponent)}f}"


def number(value: float) -> str:
    """A number of the settings, with an exponent below a thousandth: 0.0001 -> 1e-4."""
    if not 0 < abs(value) < 1e-3:
        return f"{value:g}"
    digits, _, exponent = f"{value:.5e}".partition("e")
    return f"{float(digits):g}e{int(exponent)}"


def percent(fraction: float | None, sign: str = "", infinite: str = NO_IGNITION) -> str:
    """A fraction in percent, 0.4051 -> 40.5 %; None and NaN: –; infinite: the words given."""
    if fraction is None or math.isnan(fraction):
        return "–"
    if math.isinf(fraction):
        return infinite
    value = 100 * fraction
    if 0 < abs(value) < 1e-6:
        return f"<{NBSP}0.000001{NBSP}%"
    decimals = 1 if abs(value) >= 9.95 else 2
    written = significant(value, 1) if 0 < abs(value) < 0.01 else f"{value:.{decimals}f}"
    return f"{sign}{written}{NBSP}%"


def worst_delay(errors: dict | str) -> str:
    """The largest error of a delay in the errors of a chemistry; a case that does not ignite has
    null in JSON. A text, as "not measured", stays."""
    if isinstance(errors, str):
        return errors
    size = errors["delay_error"]["worst"]
    return percent(math.inf if size is None else size)


def kelvin(value: float | None) -> str:
    """A temperature difference [K]; None, NaN and infinite: –."""
    digits = 3 if abs(value or 0.0) >= 1 else 2 if abs(value or 0.0) >= 0.1 else 1
    written = "–" if value is None else significant(value, digits)
    return written if written == "–" else f"{written}{NBSP}K"


def microseconds(seconds: float) -> str:
    """A time per state [s] in microseconds."""
    return f"{significant(1e6 * seconds)}{NBSP}µs"


def duration(seconds: float) -> str:
    """A computing time [s] in seconds, minutes or hours."""
    if seconds < 120:
        return f"{significant(seconds, 2 if seconds < 100 else 3)}{NBSP}s"
    size, unit = (60, "min") if seconds < 7200 else (3600, "h")
    return f"{significant(seconds / size)}{NBSP}{unit}"


def atmospheres(p: float) -> str:
    """A pressure [Pa] in atm, with three digits: 2026500 -> 20."""
    return f"{p / ATM:.3g}"


def shape(widths: Sequence[int]) -> str:
    """Widths of a network as in papers: 23-800-23."""
    return "-".join(map(str, widths))


def several(values: Sequence[float], unit: str = "") -> str:
    """A list in words: 1400, 1500 and 1600 K."""
    words = [number(value) for value in values]
    joined = " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
    return f"{joined}{NBSP}{unit}" if unit else joined


def span(limits: Sequence[float]) -> str:
    """The lowest and the highest value, one where they agree: 1e-8 to 1e-5."""
    return " to ".join(dict.fromkeys(map(number, limits)))

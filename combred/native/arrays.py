"""Numbers and text of Python as C++: literals and arrays.

First in `combred.native`: what writes C++ writes with it.
"""

import math
import re

import numpy as np

LONGEST = 500  # characters of a name in a comment


def literal(value: float, kind: str = "double") -> str:
    """A finite number as a C++ literal that is read back exactly; kind: double, float or int.
    Raises ValueError for a number that is not finite."""
    if kind == "float":
        value = float(np.float32(value))
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be written as a number of C++: the surrogate is damaged")
    if kind == "int":
        return str(int(value))
    return _of_float(value) if kind == "float" else repr(float(value))


def _of_float(value: float) -> str:
    """A number of float32 as a literal."""
    text = f"{value:.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def constant(name: str, value: float, kind: str = "double") -> str:
    """A line that defines a constant."""
    return f"constexpr {kind} {name} = {literal(value, kind)};\n"


def array(name: str, values: np.ndarray, kind: str = "double") -> str:
    """The definition of an array (n,); TABLE of source/solver/lanes.hpp makes it constant."""
    content = _row(np.asarray(values), kind)
    return f"alignas(64) TABLE {kind} {name}[{len(values)}] = {{\n{content}}};\n"


def quoted(value: str) -> str:
    """What stands between the quotes of a string of C++, UTF-8, for any text. Raises ValueError for
    one with a character of value 0, which would end the string."""
    if "\0" in value:
        raise ValueError(f"{value!r} has a character of value 0, which a library cannot hold")
    value = value.replace("\\", "\\\\").replace('"', '\\"').replace("??", "?\\?")
    return value.replace("\n", "\\n").replace("\r", "\\r")


def comment(value: str) -> str:
    """A name or a title as a comment, up to the end of its line, has it: printable ASCII, with _ in
    place of other characters and of what continues a line, and at most `LONGEST` characters."""
    plain = "".join(c if " " <= c <= "~" and c != "\\" else "_" for c in value[:LONGEST])
    return plain.replace("??", "?_")


def text(name: str, value: str) -> str:
    """The definition of a string, UTF-8, in lines of at most 90 characters."""
    parts = re.findall(r"(?:\\.|[^\\]){1,90}", quoted(value)) or [
        ""
    ]  # an escape stays in one piece
    lines = "\n".join(f'    "{part}"' for part in parts)
    return f"constexpr const char *{name} =\n{lines};\n"


def _row(values: np.ndarray, kind: str) -> str:
    if kind == "float" and np.isfinite(floats := values.astype(np.float32)).all():
        texts = list(map(_of_float, floats.tolist()))  # as `literal`, without a call for each check
    else:
        texts = [literal(value, kind) for value in values.tolist()]
    lines = [", ".join(texts[i : i + 8]) for i in range(0, len(texts), 8)]
    return ",\n    ".join(lines)

"""Numbers and sums as C++ of either precision, and long lists of statements as functions.

First in `combred.native.solver`; its other modules write with it. `R` is float or double.
"""

import math

LOG2_E = math.log2(math.e)
LOG2_10 = math.log2(10.0)
# Units of concentrations [kmol/m3] and of T [K] in logarithms, to the base 2: typical values, so
# that logarithms are small and their rounding is, too.
LOG2_C0, LOG2_T0 = -20.0, 10.0
NEVER = 1e30  # stands for what is beyond the range of float: exp(-NEVER T) is zero
LEAST = 1e-12  # coefficients below it are rounding
SUM = 8  # terms of a sum, each of which waits for the one before it
PART = 24  # reactions of one function: compilers take long for larger ones
UNUSED = "[[maybe_unused]]"
TYPE = f"{UNUSED} typedef Vector<R> V;"


def real(value: float) -> str:
    """A finite number as a C++ literal of type R, read back exactly."""
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be written as a number of C++")
    return f"R({float(value)!r})"


def total(terms: list[tuple[float, str]], empty: str = "V{}", least: float = LEAST) -> str:
    """The sum of coefficients times expressions. A long sum is one of shorter ones, which a
    processor computes at the same time."""
    terms = [(c, text) for c, text in terms if abs(c) > least]
    parts = []
    for first in range(0, len(terms), SUM):
        text = ""
        for c, expression in terms[first : first + SUM]:
            size = "" if abs(abs(c) - 1.0) < LEAST else f"{real(abs(c))} * "
            sign = (" - " if c < 0 else " + ") if text else ("-" if c < 0 else "")
            text += f"{sign}{size}{expression}"
        parts.append(text)
    if not parts:
        return empty
    return parts[0] if len(parts) == 1 else " + ".join(f"({part})" for part in parts)


def indented(lines: list[str]) -> list[str]:
    """Statements within braces."""
    return [f"  {line}" for line in lines]


def functions(
    name: str,
    arguments: dict[str, str],
    blocks: list[list[str]],
    template: dict[str, str] | None = None,
    part: int = PART,
    first: tuple[str, ...] = (),
) -> str:
    """A function `name` that runs all blocks of statements, in functions of `part` blocks each.

    arguments, template: name -> type, as {"g": "const Gas<R> &"} and {"D": "bool "}; first: lines
    at the head of each of these functions.
    """
    kinds = ", ".join(kind + one for one, kind in (template or {}).items())
    head = f"template <{kinds}> " if template else ""
    given = f"<{', '.join(template)}>" if template else ""
    declared = ", ".join(kind + one for one, kind in arguments.items())
    pieces, calls = [], []
    for start in range(0, len(blocks), part):
        lines = [*first, *(line for block in blocks[start : start + part] for line in block)]
        pieces.append(f"{head}PART void {name}_from_{start}({declared}) {{\n{body(lines)}}}\n")
        calls.append(f"{name}_from_{start}{given}({', '.join(arguments)});")
    unused = [f"(void){one};" for one in arguments]
    pieces.append(f"{head}INLINE void {name}({declared}) {{\n{body(calls or unused)}}}\n")
    return "\n".join(pieces)


def body(lines: list[str]) -> str:
    """The text of statements in a function."""
    return "".join(f"  {line}\n" for line in lines)

"""The checksum of a surrogate's tables of numbers, weights among them.

Takes the text of `surrogate.hpp`; gives the text of `tables.hpp`, by which a library compares its
tables with what was written (`combred_check` of source/combred.h): a digit that has changed in a
copy of the source changes them.
"""

import re
import zlib

import numpy as np

TYPES = {"double": np.float64, "float": np.float32, "int": np.int32, "uint32_t": np.uint32}
TABLE = re.compile(r"TABLE (double|float|int|uint32_t) (\w+)(?:\[\w*\])+ = \{(.*?)\};", re.DOTALL)
NUMBER = re.compile(r"[-+.\deE]+")


def write_tables(surrogate: str) -> str:
    """The text of `tables.hpp`, of the text of `surrogate.hpp`. Raises ValueError where it has no
    table."""
    tables = TABLE.findall(surrogate)
    if not tables:
        raise ValueError("surrogate.hpp has no table of numbers")
    found = 0
    for kind, _, content in tables:
        numbers = NUMBER.findall(content.replace("f", ""))
        found = zlib.crc32(np.array(numbers, np.float64).astype(TYPES[kind]).tobytes(), found)
    calls = "".join(f"  sum.add({name}, sizeof({name}));\n" for _, name, _ in tables)
    return (
        "// The checksum of all tables. Written by combred.native: change nothing here.\n"
        '#pragma once\n#include "checksum.hpp"\n#include "surrogate.hpp"\n\n'
        f"static bool tables_are_whole() {{\n  Checksum sum;\n{calls}"
        f"  return sum.value() == {found:#010x}u;\n}}\n"
    )

"""Damage of compiled code: a checksum behind its last byte, compared before it is loaded.

Takes the bytes of a library; gives them with a line behind them, the CRC-32 of what stands before.
Loaders of libraries ignore that line. coupling/library.hpp compares it in the same way. Code for
a GPU in the cache has the same line, which is taken off.
"""

import os
import re
import zlib
from pathlib import Path

SEAL = re.compile(rb"combred crc32 ([0-9a-f]{8})\n\Z")


def sealed(library: bytes) -> bytes:
    """The bytes of a library with their checksum behind them."""
    return library + b"combred crc32 %08x\n" % zlib.crc32(library)


def unsealed(content: bytes) -> bytes:
    """The bytes that `sealed` was given. Raises ValueError where the checksum is missing, or that
    of others."""
    found = SEAL.search(content[-64:])
    whole = content[: -len(found[0])] if found else b""
    if not found or int(found[1], 16) != zlib.crc32(whole):
        raise ValueError("the content differs from what was compiled")
    return whole


def is_sealed(path: Path) -> bool:
    """Whether a library has a checksum behind it (`strip` removes it)."""
    return SEAL.search(path.read_bytes()[-64:]) is not None


def require_whole(path: Path) -> int:
    """The CRC-32 of a library. Raises FileNotFoundError if there is none, ValueError if its bytes
    differ from its checksum, where it has one (`strip` removes it), or if it was cut short."""
    path = Path(path)
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"there is no library {path}: make it with combred.native.compile or .export"
        )
    content = path.read_bytes()
    found = SEAL.search(content[-64:])
    damaged = len(content) < _least(content)
    if found:
        damaged |= int(found[1], 16) != zlib.crc32(content[: -len(found[0])])
    if damaged:
        raise ValueError(
            f"{path} is damaged: its content differs from what was compiled. Copy it again, or "
            "compile it again with combred.native.export."
        )
    return zlib.crc32(content)


def _least(content: bytes) -> int:
    """The least size of a 64-bit ELF file: the end of its table of sections, which stands last."""
    if content[:6] != b"\x7fELF\x02\x01" or len(content) < 64:
        return 64 if content[:4] == b"\x7fELF" else 0
    number = int.from_bytes
    table, entry, entries = content[40:48], content[58:60], content[60:62]
    return number(table, "little") + number(entry, "little") * number(entries, "little")

"""Damage of compiled code: a checksum behind its last byte, compared before it is loaded.

Takes the bytes of a library; gives them with a line behind them, the CRC-32 of what stands before.
Loaders of libraries ignore that line. coupling/library.hpp compares it in the same way. Code for
a GPU in the cache has the same line, which is taken off.
"""

import os
import re
import struct
import zlib
from pathlib import Path

ELF64 = b"\x7fELF\x02\x01"  # the first bytes of a 64-bit library, little-endian
DYNSYM = 11  # the type of the section that holds the table of symbols for the loader
SEAL = re.compile(rb"combred crc32 ([0-9a-f]{8})\n\Z")


def sealed(library: bytes) -> bytes:
    """The bytes of a library with their checksum behind them."""
    return library + b"combred crc32 %08x\n" % zlib.crc32(library)


def unsealed(content: bytes) -> bytes:
    """The bytes that `sealed` was given. Raises ValueError where the checksum is missing, or that
    of others."""
    if not _is_right(content):
        raise ValueError("the content differs from what was compiled")
    return content[: -len(sealed(b""))]


def is_sealed(path: Path) -> bool:
    """Whether a library has a checksum behind it (`strip` removes it)."""
    return _is_right(path.read_bytes()) is not None


def _is_right(content: bytes) -> bool | None:
    """Whether the checksum behind bytes is theirs; None where there is none."""
    found = SEAL.search(content[-64:])
    return found and int(found[1], 16) == zlib.crc32(content[: -len(found[0])])


def require_whole(path: Path, needs_seal: bool = False) -> int:
    """The CRC-32 of a library. Raises FileNotFoundError if there is none, ValueError if its bytes
    differ from its checksum, or if it was cut short. needs_seal: also where it has no checksum
    (`strip` removes it)."""
    path = Path(path)
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"there is no library {path}: make it with combred.native.compile or .export"
        )
    content = path.read_bytes()
    right = _is_right(content)
    if right is False or (needs_seal and not right) or len(content) < _least(content):
        raise ValueError(
            f"{path} is damaged: its content differs from what was compiled. Copy it again, or "
            "compile it again with combred.native.export."
        )
    return zlib.crc32(content)


def _sections(content: bytes) -> tuple[int, int, int]:
    """The table of sections of a 64-bit ELF file: its beginning, the size of an entry, and their
    number."""
    return *struct.unpack_from("<Q", content, 40), *struct.unpack_from("<HH", content, 58)


def _least(content: bytes) -> int:
    """The least size of a 64-bit ELF file: the end of its table of sections, which stands last."""
    if content[:6] != ELF64 or len(content) < 64:
        return 64 if content[:4] == b"\x7fELF" else 0
    table, entry, entries = _sections(content)
    return table + entry * entries


def defines(path: Path, name: str) -> bool:
    """Whether a library defines a function, by its table of symbols: nothing is loaded, which would
    run code of it. True of any file of another format than ELF of 64 bits."""
    content = path.read_bytes()
    if content[:6] != ELF64:
        return True
    try:
        table, entry, entries = _sections(content)
        sections = [  # kind, beginning, size, and the section of its names
            struct.unpack_from("<4xI16xQQI", content, table + i * entry) for i in range(entries)
        ]
        start, size, names = next(rest for kind, *rest in sections if kind == DYNSYM)
        for at in range(start, start + size, 24):
            text, section = struct.unpack_from("<I2xH", content, at)
            if section and content.startswith(f"{name}\0".encode(), sections[names][1] + text):
                return True
    except (struct.error, OverflowError, IndexError, StopIteration):
        pass  # it has no such table
    return False

"""HDF5 files that are written whole or not at all, and that show damage when they are read.

The first 512 bytes of a file are HDF5's user block, which its readers skip. It holds the SHA-256 of
all other bytes.
"""

import functools
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

from combred.files.records import put_in_place

BLOCK = 512  # bytes of the user block, the smallest that HDF5 knows
MARK = b"combred sha256 "
SIGNATURE = b"\x89HDF\r\n\x1a\n"  # of a file without a user block


@contextmanager
def new_file(path: Path) -> Iterator[h5py.File]:
    """A new file, which takes the place of `path`, with its digest, once it is whole."""
    new = Path(path).with_suffix(".new")
    try:
        with h5py.File(new, "w", userblock_size=BLOCK) as file:
            yield file
        seal(new)
        put_in_place({new: path})
    finally:
        new.unlink(missing_ok=True)


def seal(path: Path) -> None:
    """Write the digest of a file of `new_file` again, after a change that was meant."""
    text = MARK + _digest(path).encode()
    with path.open("r+b") as file:
        file.write(text.ljust(BLOCK, b"\0"))


def require_intact(path: Path) -> None:
    """ValueError where a file differs from what was written. A file without a user block, which was
    not written by `new_file`, is not checked."""
    with path.open("rb") as file:
        head = file.read(BLOCK)
    if head.startswith(SIGNATURE):
        return
    if not head.startswith(MARK):
        raise ValueError("it is no HDF5 file of combred, or its beginning is damaged")
    there = path.stat()
    if head != (MARK + _known(path, there.st_size, there.st_mtime_ns).encode()).ljust(BLOCK, b"\0"):
        raise ValueError("it is truncated or damaged: its content differs from what was written")


def require_space(folder: Path, size: int) -> None:
    """Raise OSError unless `size` bytes can be written into `folder`, which is made if needed.

    Checked in advance, because HDF5 may crash the process when the disk becomes full.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, size)


@functools.lru_cache(maxsize=64)
def _known(path: Path, size: int, time: int) -> str:
    """The digest of a file of this size and time, which one command reads several times."""
    return _digest(path)


def _digest(path: Path) -> str:
    """The SHA-256 of all bytes of a file after its user block."""
    with path.open("rb") as file:
        file.seek(BLOCK)
        return hashlib.file_digest(file, "sha256").hexdigest()

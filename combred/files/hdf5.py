"""HDF5 files that are written whole or not at all, and that show damage when they are read.

The first 512 bytes of a file are HDF5's user block, which its readers skip. It holds the SHA-256 of
all other bytes. Every file is read through `opened`, for HDF5 itself follows links and reads bytes
of other files.
"""

import errno
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
DENSEST = 1100  # numbers over stored bytes; deflate reaches 1032
# What reading a file that others wrote may raise.
UNREADABLE = (
    OSError, ValueError, KeyError, IndexError, RuntimeError, AttributeError, TypeError, MemoryError,
    OverflowError,
)  # fmt: skip


def remedy_for(error: BaseException, otherwise: str) -> str:
    """The remedy for an error of reading: that for a lock, or another one."""
    reason = str(error)
    if "unable to lock file" not in reason:
        return otherwise
    if f"errno = {errno.EAGAIN}" in reason or f"errno = {errno.EACCES}" in reason:
        return "Another program has it open for writing: close it there, and run this again."
    return (
        "Its file system has no locks: copy it to a local disk, or set HDF5_USE_FILE_LOCKING=FALSE "
        "where no other program writes it."
    )


@contextmanager
def new_file(path: Path) -> Iterator[h5py.File]:
    """A new file, which takes the place of `path`, with its digest, once it is whole."""
    path = Path(path)
    new = path.with_suffix(".new")
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
    if path.exists() and not path.is_file():  # reading a pipe may never end
        raise ValueError("it is no regular file")
    with path.open("rb") as file:
        head = file.read(BLOCK)
    if head.startswith(SIGNATURE):
        return
    if not head.startswith(MARK):
        raise ValueError("it is no HDF5 file of combred, or its beginning is damaged")
    there = path.stat()
    if head != (MARK + _known(path, there.st_size, there.st_mtime_ns).encode()).ljust(BLOCK, b"\0"):
        raise ValueError("it is truncated or damaged: its content differs from what was written")


@contextmanager
def opened(path: Path) -> Iterator[h5py.File]:
    """A file, opened for reading, that holds all its numbers itself and is what was written.

    Raises ValueError where it is damaged, where it has links, numbers in other files or datasets
    that are no numbers, and where it declares more of them than it can hold; OSError where it is no
    HDF5 file.
    """
    checked = Path(path).stat()
    require_intact(Path(path))
    with h5py.File(path, "r") as file:
        there = os.fstat(file.id.get_vfd_handle())
        if (there.st_ino, there.st_mtime_ns) != (checked.st_ino, checked.st_mtime_ns):
            raise ValueError("another program has just replaced it: run this again")
        _require_own(file, there.st_size)
        yield file


def _require_own(file: h5py.File, size: int) -> None:
    """ValueError unless all objects of a file of `size` bytes are groups and numbers in it."""
    groups, seen = [file], set()
    while groups:
        group = groups.pop()
        if (place := h5py.h5o.get_info(group.id).addr) in seen:
            continue  # a group may hold itself
        seen.add(place)
        for name in group:
            told = f"its {name!r}"
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise ValueError(f"{told} is a link: its numbers may lie elsewhere")
            item = group[name]
            if isinstance(item, h5py.Group):
                groups.append(item)
            elif not (
                isinstance(item, h5py.Dataset) and item.shape is not None
                and item.dtype.kind in "biuf"
            ):  # fmt: skip
                raise ValueError(f"{told} holds no numbers")
            elif item.is_virtual or item.external:
                raise ValueError(f"{told} has its numbers in other files")
            elif item.nbytes > DENSEST * size:
                raise ValueError(f"{told} has {item.shape} numbers in a file of {size} bytes")


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

"""A folder that one process at a time writes to."""

import errno
import fcntl
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(folder: Path, other: str = "run=NAME") -> Iterator[None]:
    """Hold the lock of a folder, the file `lock` in it. The lock ends with the process, also if
    it is killed. Raises ValueError, which names the other process, while one holds it, and where
    the file system has no locks; other: how another folder is given."""
    path = folder / "lock"
    with path.open("a+") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
                raise ValueError(
                    f"the file system of {folder} has no locks ({error.strerror}), which keep two "
                    f"commands from writing there at once: work in a folder on a local disk"
                ) from error
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise
            file.seek(0)
            raise ValueError(
                f"{folder} is in use by {file.read().strip() or 'another process'}. Wait until it "
                f"has finished, or give this run another folder with {other}."
            ) from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


@contextmanager
def opened_folder(folder: Path) -> Iterator[None]:
    """A folder with its lock held, made where it is missing; removed at the end where it was made
    and nothing was written. Raises ValueError as `locked`, and where it cannot be made."""
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"the folder {folder} cannot be made ({error.strerror}): give another with --folder"
        ) from error
    try:
        with locked(folder, "--folder"):
            yield
    finally:
        if made and [path.name for path in folder.iterdir()] == ["lock"]:
            shutil.rmtree(folder)

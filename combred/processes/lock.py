"""A folder that one process at a time writes to."""

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(folder: Path, other: str = "run=NAME") -> Iterator[None]:
    """Hold the lock of a folder, the file `lock` in it. The lock ends with the process, also if
    it is killed. Raises ValueError, which names the other process, while one holds it; other: how
    another folder is given."""
    path = folder / "lock"
    with path.open("a+") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
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

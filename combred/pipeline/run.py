"""A run: its settings, its mechanism, and its folder with a lock.

What puts the steps together knows it; a step takes its own settings and artefacts.
"""

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.config.settings import Settings


@dataclass(frozen=True)
class Run:
    """A run of the pipeline. The names of its files stand here and in `artefacts`."""

    settings: Settings
    mechanism: Mechanism
    folder: Path

    def path(self, name: str) -> Path:
        """A file of the run folder."""
        return self.folder / name

    def weights(self, stage: int) -> Path:
        """The trained network of a stage."""
        return self.path(f"stage{stage}.safetensors")

    @property
    def workers(self) -> int:
        """Number of processes of sampling and of references."""
        return self.settings.workers or len(os.sched_getaffinity(0))

    @property
    def mixture(self) -> Mixture:
        """Fuel and oxidizer."""
        return Mixture(self.settings.sampling.fuel, self.settings.sampling.oxidizer)


@contextmanager
def locked(folder: Path, other: str = "run=NAME") -> Iterator[None]:
    """Hold the lock of a run folder, the file `lock` in it. The lock ends with the process, also if
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

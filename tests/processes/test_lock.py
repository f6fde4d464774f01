"""The lock of a run folder: one process at a time, and free again once a process has ended."""

import errno
import fcntl
import os
import signal
import subprocess
import sys

import pytest

from combred.processes.lock import locked, opened_folder

HOLD = """
import sys, time
from pathlib import Path
from combred.processes.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_refused_by_the_name_of_the_first_until_it_is_killed(tmp_path):
    first = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert first.stdout.readline() == "held\n"
        with pytest.raises(ValueError, match=f"in use by process {first.pid} on .*run=NAME"):
            with locked(tmp_path):
                pass
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    with locked(tmp_path):
        assert (tmp_path / "lock").read_text().startswith("process ")


def test_a_lock_is_free_after_an_error(tmp_path):
    with pytest.raises(KeyError):
        with locked(tmp_path):
            raise KeyError
    with locked(tmp_path):
        pass


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_told(number, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "lockf", refuse)
    with pytest.raises(ValueError, match="has no locks .*: work in a folder on a local disk"):
        with locked(tmp_path):
            pass


def test_a_folder_that_cannot_be_made_is_told_with_the_option(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="cannot be made .*another with --folder"):
        with opened_folder(tmp_path / "file/folder"):
            pass

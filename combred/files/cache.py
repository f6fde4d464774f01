"""The cache of compiled code: its size, and how it is cleared.

Removes nothing but entries that combred names, of this user, and no links. Another process may just
compile or load them: what was changed within an hour stays.
"""

import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

from combred.files.records import cache_folder

NAME = re.compile(r"[0-9a-f]{24}(\.o|\.cubin)?")  # of a folder of a library, or of a compiled part
RECENT = 3600.0  # s


def entries() -> dict[Path, int]:
    """The entries of the cache, and their sizes [bytes]. Raises ValueError as `cache_folder`."""
    found = {}
    for path in cache_folder().iterdir():
        with suppress(FileNotFoundError):  # another process has just put it into place
            own = not path.is_symlink() and path.stat().st_uid == os.geteuid()
            if own and NAME.fullmatch(path.name):
                files = [path, *path.rglob("*")] if path.is_dir() else [path]
                found[path] = sum(file.lstat().st_size for file in files if file.is_file())
    return found


def clear() -> int:
    """Remove the entries that were not changed recently; how many bytes they had."""
    old = {path: size for path, size in entries().items() if _age(path) > RECENT}
    for path in old:
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    return sum(size for path, size in old.items() if not path.exists())


def _age(path: Path) -> float:
    try:
        return time.time() - max(one.lstat().st_mtime for one in (path, *path.glob("*")))
    except FileNotFoundError:
        return 0.0

"""Records: JSON files of numbers, written whole or not at all, hashes of files, and the cache.

Imports nothing of combred.
"""

import contextlib
import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

COMPILED = 0o644  # permissions of code in the cache, before the umask
DIGEST = "digest"  # key of a record: the digest of its other keys


def read_json(path: Path) -> dict:
    """The content of a JSON file, {} if there is no file, without the digest that `write_record`
    adds. Raises ValueError if it is damaged, or holds no table of keys."""
    return _read(path)[0]


def read_record(path: Path) -> dict:
    """The content of a file of `write_record`, {} if there is no file. Raises ValueError if it is
    damaged, or of another kind."""
    content, has_digest = _read(path)
    if not has_digest:
        raise ValueError(
            f"{path} was not written by this version of combred, it has no digest: move it away "
            "and run again"
        )
    return content


def _read(path: Path) -> tuple[dict, bool]:
    """The content of a JSON file without its digest, and whether it has one, as one that is
    missing."""
    if not path.exists():
        return {}, True
    try:
        content = parse(path.read_text())
    except ValueError as error:  # also where it is no UTF-8
        raise ValueError(f"{path} is not JSON ({error}): move it away and run again") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds no table of keys and values: move it away and run again")
    stored = content.pop(DIGEST, None)
    if stored is not None and stored != digest_of(content):
        raise ValueError(
            f"{path} is damaged, its content differs from what was written: move it away and run "
            "again"
        )
    return content, stored is not None


def parse(text: str | bytes) -> Any:
    """The content of JSON. Raises ValueError where it is none, or where a table has a key twice, of
    which readers take the first or the last."""
    try:
        return json.loads(text, object_pairs_hook=_table)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _table(pairs: list[tuple[str, Any]]) -> dict:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it has the key {twice[:60]!r} twice")
    return table


def digest(path: Path) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def digest_of(content: dict) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of plain JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def write_json(path: Path, numbers: dict) -> None:
    """Write a JSON file, whole or not at all. NaN and infinity are written as Python reads them;
    see `strict`."""
    text = json.dumps(numbers, indent=1, default=_plain)
    write_bytes(Path(path), (text + "\n").encode())


def write_record(path: Path, numbers: dict) -> None:
    """`write_json`, with a digest of the numbers, by which `read_json` finds damage."""
    content = json.loads(json.dumps(numbers, default=_plain))
    write_json(path, content | {DIGEST: digest_of(content)})


def write_bytes(path: Path, data: bytes) -> None:
    """As `write_files`, of one file."""
    write_files({path: data})


def write_files(contents: dict[Path, bytes], mode: int = 0o666, lasting: bool = True) -> None:
    """Write files (path -> content), each whole or not at all, in order, and none before the disk
    has room for all. A symbolic link is replaced, and not followed.

    mode: permissions before the umask; lasting: as in `put_in_place`. Raises OSError if the disk
    is full.
    """
    # Other threads, processes and containers may write the same.
    new = {path.with_name(f"{path.name}.{secrets.token_hex(6)}.new"): path for path in contents}
    try:
        for name, path in new.items():
            there = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(there, "wb") as file:
                file.write(contents[path])
        put_in_place(new, lasting)
    except OSError as error:
        error.filename = error.filename or str(path)  # a full disk does not tell it
        raise
    finally:
        for name in new:
            name.unlink(missing_ok=True)


def put_in_place(new: dict[Path, Path], lasting: bool = True) -> None:
    """Rename files (old name -> new name), each in its folder. lasting: their content is on the
    disk before, and the names are after it, so that files are whole after a power failure, too;
    this takes some ms."""
    for path in new.values():
        if path.is_dir() and not path.is_symlink():  # before the first has taken its place
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    for name in new if lasting else ():
        sync(name)
    for name, path in new.items():
        os.replace(name, path)
    for folder in {path.parent for path in new.values()} if lasting else ():
        with contextlib.suppress(OSError):  # network file systems may not know it of folders
            sync(folder)


def sync(path: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    there = os.open(path, os.O_RDONLY)
    try:
        os.fsync(there)
    finally:
        os.close(there)


ANOTHER_RUN = "name another run with run=NAME, "  # what a user of the pipeline may do, too


def read_begun(path: Path, inputs: dict, what: str) -> dict:
    """The record of work that was begun with these inputs, its key "inputs"; {} if there is no
    file. Raises ValueError where it has others; what: the name of such work, as "check"."""
    record = read_record(path)
    if record and record.get("inputs") != inputs:
        other = [key for key, *_ in differences(record.get("inputs", {}), inputs)]
        raise ValueError(
            f"{path} is of another {what}, with other {', '.join(other)}: give another folder, or "
            "move it away"
        )
    return record


def require_same(path: Path, stored: dict, now: dict, instead: str = "") -> None:
    """ValueError, with what differs, if a file was made with other inputs, plain JSON, than now.
    instead: what else mends it than to give those again or to move the file away."""
    differing = [
        f"{key}: {then!r} then, {new!r} now" for key, then, new in differences(stored, now)
    ]
    if differing:
        raise ValueError(
            f"{path} was made with other settings ({'; '.join(differing[:4])}). Give those again, "
            f"{instead}or move {path.name} and what was made from it away."
        )


def differences(a: Any, b: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(key, value in a, value in b) wherever two nested dicts differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            yield from differences(a.get(key), b.get(key), f"{path}.{key}".lstrip("."))
    elif a != b:
        yield path, a, b


def strict(value):
    """The same content with None for NaN and infinity: JSON that every parser reads."""
    if isinstance(value, dict):
        return {key: strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(item) for item in value]
    if isinstance(value, (float, np.floating)) and not np.isfinite(value):
        return None
    return value


def _plain(value):
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value)} is not JSON")


def cache_folder() -> Path:
    """Where compiled libraries and unpacked mechanisms are kept: $XDG_CACHE_HOME/combred, or
    ~/.cache/combred, as `own_folder`. Raises ValueError where there is no home folder, too."""
    root = os.environ.get("XDG_CACHE_HOME")
    try:
        return own_folder((Path(root) if root else Path.home() / ".cache") / "combred")
    except (
        RuntimeError
    ) as error:  # of Path.home: neither HOME nor a name of the user, as in containers
        raise ValueError(
            "this user has no home folder, in which compiled code is kept: set XDG_CACHE_HOME to a "
            "folder in which you may write"
        ) from error


def own_folder(path: Path) -> Path:
    """A folder of the cache, for this user alone where it has to be made. Raises ValueError where
    it cannot be made, and as `require_own`."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"the cache {path} cannot be made ({error.strerror}): set XDG_CACHE_HOME to a folder "
            "in which you may write"
        ) from error
    return require_own(path)


def require_loads(path: Path) -> None:
    """ValueError where a folder of the cache is on a disk from which no library can be loaded."""
    if os.statvfs(path).f_flag & getattr(os, "ST_NOEXEC", 0):
        raise ValueError(
            f"the cache {path} is on a disk that is mounted with noexec, from which no compiled "
            "library can be loaded: set XDG_CACHE_HOME to a folder on another disk"
        )


def require_own(path: Path) -> Path:
    """The path of a file or a folder of the cache. Raises ValueError where another user than this
    one and root owns it, or where others may write to it, as ssh does: code of the cache is run."""
    there = path.stat()
    if there.st_uid not in (0, os.geteuid()):
        fault, remedy = "another user owns it", "remove it"
    elif there.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        fault, remedy = "others may write to it", "remove it and let combred make it again"
    else:
        return path
    raise ValueError(
        f"the cache {path} is not safe, {fault} and combred runs code of it: {remedy}, or set "
        "XDG_CACHE_HOME to another folder"
    )

"""Generated C++ as a shared library, with the compiler at hand and a cache of what was compiled.

Takes the files of `combred.native.extension` or `combred.native.solver.generator`; gives the path
of a library, for this machine's CPU (`build`) or for all CPUs of its kind (`build_portable`).
"""

import contextlib
import fcntl
import hashlib
import logging
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from combred.files.records import (
    COMPILED,
    cache_folder,
    own_folder,
    require_loads,
    require_own,
    write_files,
)
from combred.native.compilers import (
    LEVELS,
    compile_command,
    find_compiler,
    link_command,
    native_flags,
    room_in,
    run,
    version,
)
from combred.native.damage import require_whole, sealed
from combred.native.identity import HAS_NETWORK

log = logging.getLogger(__name__)
PIECES = {"network": 8, "doubles": 4, "floats": 2, "calls": 1}  # COMBRED_PIECE of source/names.hpp
MAIN = "library.cpp"  # of source/, which includes all others
SOURCES = "sources"  # a folder
# The pieces whose objects serve all networks of a mechanism, and files that these do not include.
SHARED, OF_NETWORK = ("doubles", "floats"), ("network/", "identity.hpp")


def build(files: dict[str, str], folder: Path | None = None, flags: tuple[str, ...] = ()) -> Path:
    """The library of generated files (name -> text), compiled for this machine's CPU, as a path.

    folder: where the library is written, and its sources to a folder of the library's name; None: a
    folder of the cache. Both are named after the digest of sources, compiler and flags; a library
    that is there is taken unless it is damaged. flags: more flags of the compiler. Raises
    RuntimeError without a compiler, or where it fails; ValueError where the cache cannot be made,
    is not safe, or is on a disk from which nothing can be loaded (`combred.files.records`).
    """
    compiler = find_compiler()
    native = native_flags(compiler)
    objects = {name: (*own, *native, *flags) for name, own in _pieces(files).items()}
    return _library(files, folder, compiler, objects)


def build_portable(files: dict[str, str], folder: Path | None = None) -> Path:
    """The library of generated files, compiled for every CPU of this machine's kind, as a path;
    arguments and errors as those of `build`.

    On x86-64 it holds code for the levels v2 (SSE4.2), v3 (AVX2) and v4 (AVX-512), and takes the
    highest that the CPU runs, for few states v3 at most; elsewhere one code, for the oldest CPU.
    """
    return _library(files, folder, find_compiler(), _portable_objects(files))


def build_alone(files: dict[str, str], flags: tuple[str, ...] = ()) -> Path:
    """As `build`, into the cache, of one object: the first of the files includes the others."""
    compiler = find_compiler()
    return _library(files, None, compiler, {"alone": (*native_flags(compiler), *flags)})


def compile_ahead(files: dict[str, str], scratch: Path) -> None:
    """Compile what the libraries of `build_portable` of a mechanism have in common, nine tenths of
    such a library, for the cache; scratch: an empty folder. Errors as those of `build`."""
    every = _portable_objects(files).items()
    shared = {name: flags for name, flags in every if name.startswith(SHARED)}
    _compiled(files, scratch, find_compiler(), shared)


def _portable_objects(files: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """The objects of a library for every CPU, with their own flags."""
    pieces = _pieces(files)
    if platform.machine() not in ("x86_64", "AMD64"):
        return pieces
    levels = {name: (*flags, f"-DCOMBRED_LEVEL={name}") for name, flags in LEVELS.items()}
    return {"dispatch": ("-DCOMBRED_DISPATCH",)} | {
        f"{piece}-{level}": (*own, *flags)
        for level, flags in levels.items()
        for piece, own in pieces.items()
    }


def _main(files: dict[str, str]) -> str:
    """The file that is compiled and includes all others, or has their text."""
    return MAIN if MAIN in files else next(iter(files))


def _pieces(files: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """The objects of a library, compiled at the same time, with their own flags."""
    has_network = HAS_NETWORK in files.get("identity.hpp", files[_main(files)])
    pieces = {name: (f"-DCOMBRED_PIECE={bit}",) for name, bit in PIECES.items()}
    return {name: flags for name, flags in pieces.items() if has_network or name != "network"}


def _library(
    files: dict[str, str],
    folder: Path | None,
    compiler: list[str],
    objects: dict[str, tuple[str, ...]],
) -> Path:
    """The library of objects (name -> flags), all compiled from the main file."""
    command = [*compile_command(compiler), *link_command(compiler), version(compiler)]
    options = [word for name, flags in objects.items() for word in ("", name, *flags)]
    name = _digest([*command, *options], files)
    home = Path(folder) if folder else own_folder(cache_folder() / name)
    home.mkdir(parents=True, exist_ok=True)
    library = home / f"libcombred-{name}.so"
    if not folder:
        require_loads(home)
    if _is_kept(library, not folder):
        return library
    with _alone(home), room_in(home):
        if _is_kept(library, not folder):  # another one has compiled it
            return library
        if os.path.lexists(library):
            log.warning("%s is damaged. It is compiled again.", library)
        if not folder:
            _tell(f"compiling C++, once; the library is kept in {home}")
            if library.is_dir() and not library.is_symlink():  # a link is replaced
                shutil.rmtree(library)
        with tempfile.TemporaryDirectory(dir=home) as scratch:
            linked = Path(scratch) / "linked.so"
            made = _compiled(files, Path(scratch), compiler, objects)
            run([[*link_command(compiler), *map(str, made), "-o", str(linked)]])
            content = sealed(linked.read_bytes())
            with contextlib.suppress(OSError):  # they are there
                os.rename(Path(scratch) / SOURCES, library.with_suffix(""))
            write_files({library: content}, COMPILED)
    return library


def _is_kept(path: Path, in_cache: bool = True) -> bool:
    """Whether there is a compiled file, without damage. Raises ValueError as `require_own`, if it
    is of the cache."""
    if in_cache and path.is_file():
        require_own(path)
    try:
        require_whole(path, needs_seal=True)
        return True
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One thread of all processes compiles in a folder at a time; the others wait for what it
    makes."""
    here = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # file systems without locks: each compiles for itself
            try:
                fcntl.flock(here, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _tell(f"another one compiles in {folder}: waiting for it")
                fcntl.flock(here, fcntl.LOCK_EX)
        yield
    finally:
        os.close(here)


def _tell(text: str) -> None:
    """Say what takes time."""
    if sys.stderr.isatty():  # also in a notebook: silence for a minute would look like a fault
        sys.stderr.write(f"{text}\n")
    else:
        log.info(text)


def _compiled(
    files: dict[str, str], scratch: Path, compiler: list[str], objects: dict[str, tuple[str, ...]]
) -> list[Path]:
    """The objects of files, which are written to `SOURCES` in the folder `scratch`: others may
    compile other files for the same place. Objects of the mechanism alone are those of the cache,
    and new ones are kept there."""
    compile, sources = compile_command(compiler), scratch / SOURCES
    for file, text in files.items():
        (sources / file).parent.mkdir(parents=True, exist_ok=True)
        (sources / file).write_text(text)
    kept: dict[str, Path] = {}
    of_solver = {file: text for file, text in files.items() if not file.startswith(OF_NETWORK)}
    if len(of_solver) < len(files):
        with contextlib.suppress(ValueError):  # a cache that cannot be used only costs time
            known = [*compile, version(compiler)]
            kept = {
                name: cache_folder() / f"{_digest([*known, *flags], of_solver)}.o"
                for name, flags in objects.items()
                if name.startswith(SHARED)
            }
    found = {name: path for name, path in kept.items() if _is_kept(path)}
    made = {name: scratch / f"{name}.o" for name in objects if name not in found}
    source = str(sources / _main(files))
    run([
        [*compile, *objects[name], "-I", str(sources), "-c", source, "-o", str(path)]
        for name, path in made.items()
    ])  # fmt: skip
    for name in kept.keys() - found.keys():
        with contextlib.suppress(OSError):
            write_files({kept[name]: sealed(made[name].read_bytes())}, COMPILED)
    return list((made | found).values())


def _digest(words: list[str], files: dict[str, str]) -> str:
    """The digest of a command and of the files that it compiles."""
    content = [*words, *(part for file in sorted(files.items()) for part in file)]
    return hashlib.sha256("\0".join(content).encode()).hexdigest()[:24]

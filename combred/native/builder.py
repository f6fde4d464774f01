"""Generated C++ as a shared library, with the compiler at hand and a cache of what was compiled.

Takes the files of `combred.native.generator` or `combred.native.solver.generator`; gives the path
of a library, for this machine's CPU (`build`) or for all CPUs of its kind (`build_portable`).
"""

import contextlib
import hashlib
import logging
import os
import platform
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from combred.files.records import cache_folder, write_bytes
from combred.native.compilers import (
    LEVELS,
    CompilerError,
    compile_command,
    find_compiler,
    link_command,
    native_flags,
    version,
)
from combred.native.damage import require_whole, sealed
from combred.native.identity import HAS_NETWORK
from combred.native.single_file import MAIN
from combred.processes.interrupts import postponed

log = logging.getLogger(__name__)
MAINS = (MAIN, "solver.cpp", "surrogate.cpp")  # what is compiled, the first that there is
PIECES = {"network": 8, "doubles": 4, "floats": 2, "calls": 1}  # COMBRED_PIECE of source/names.hpp
# The pieces whose objects serve all networks of a mechanism, and files that these do not include.
SHARED, OF_NETWORK = ("doubles", "floats"), ("network/", "identity.hpp")

# A command in sh, and beside it a process that waits for the end of its input, a pipe that Python
# holds open. The pipe ends with Python, also after SIGKILL, and the group of the command with it.
WATCHED = """
exec 3<&0 </dev/null
(read -r _ <&3; kill -s TERM -- -$$) >/dev/null 2>&1 &
"$@" 3<&-
status=$?
kill $!
exit $status
"""


def build(files: dict[str, str], folder: Path | None = None, flags: tuple[str, ...] = ()) -> Path:
    """The library of a surrogate or of a solver, compiled from generated files (name -> text) for
    this machine's CPU, as a path.

    folder: where sources and library are written; None: a folder of the cache, named after the
    digest of sources, compiler and flags, and reused. flags: more flags of the compiler. Raises
    RuntimeError without a compiler, or where it fails.
    """
    compiler = find_compiler()
    native = native_flags(compiler)
    objects = {name: (*own, *native, *flags) for name, own in _pieces(files).items()}
    return _library(files, folder, compiler, objects)


def build_portable(files: dict[str, str], folder: Path | None = None) -> Path:
    """The library of a surrogate or of a solver, compiled for every CPU of this machine's kind, as
    a path; arguments and errors as those of `build`.

    On x86-64 it holds code for the levels v2 (SSE4.2), v3 (AVX2) and v4 (AVX-512), and chooses when
    it is loaded; elsewhere one code, for the oldest CPU.
    """
    pieces = _pieces(files)
    objects = pieces
    if platform.machine() in ("x86_64", "AMD64"):
        levels = {name: (*flags, f"-DCOMBRED_LEVEL={name}") for name, flags in LEVELS.items()}
        objects = {"dispatch": ("-DCOMBRED_DISPATCH",)} | {
            f"{piece}-{level}": (*own, *flags)
            for level, flags in levels.items()
            for piece, own in pieces.items()
        }
    return _library(files, folder, find_compiler(), objects)


def _main(files: dict[str, str]) -> str:
    """The file that is compiled and includes all others."""
    return next(name for name in MAINS if name in files)


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
    compile, link = compile_command(compiler), link_command(compiler)
    known = version(compiler)
    options = [word for name, flags in objects.items() for word in ("", name, *flags)]
    name = _digest([*compile, *link, known, *options], files)
    home = Path(folder) if folder else cache_folder() / name
    library = home / f"libcombred-{name}.so"
    if library.is_file():
        try:
            require_whole(library)
            return library
        except ValueError as error:
            log.warning("%s It is compiled again.", error)
    if not folder:
        told = f"compiling C++, once; the library is kept in {home}"
        if sys.stderr.isatty():  # also in a notebook: silence for a minute would look like a fault
            sys.stderr.write(f"{told}\n")
        else:
            log.info(told)
    home.mkdir(parents=True, exist_ok=True)
    # Another process may compile the same: every file appears whole, by a rename.
    for file, text in files.items():
        (home / file).parent.mkdir(exist_ok=True)
        write_bytes(home / file, text.encode())
    of_solver = {file: text for file, text in files.items() if not file.startswith(OF_NETWORK)}
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        made = {name: Path(scratch) / f"{name}.o" for name in objects}
        kept = {
            name: cache_folder() / f"{_digest([*compile, known, *flags], of_solver)}.o"
            for name, flags in objects.items()
            if name.startswith(SHARED) and len(of_solver) < len(files)
        }
        found = {name: path for name, path in kept.items() if _is_whole(path)}
        source, linked = str(home / _main(files)), Path(scratch) / library.name
        run([
            [*compile, *flags, "-I", str(home), "-c", source, "-o", str(made[name])]
            for name, flags in objects.items()
            if name not in found
        ])  # fmt: skip
        for name in kept.keys() - found.keys():
            with contextlib.suppress(OSError):  # a cache that cannot be written only costs time
                kept[name].parent.mkdir(parents=True, exist_ok=True)
                write_bytes(kept[name], sealed(made[name].read_bytes()))
        run([[*link, *map(str, (made | found).values()), "-o", str(linked)]])
        write_bytes(library, sealed(linked.read_bytes()))
    return library


def _digest(words: list[str], files: dict[str, str]) -> str:
    """The digest of a command and of the files that it compiles."""
    content = [*words, *(part for file in sorted(files.items()) for part in file)]
    return hashlib.sha256("\0".join(content).encode()).hexdigest()[:24]


def _is_whole(path: Path) -> bool:
    """Whether there is a compiled object, without damage."""
    try:
        require_whole(path)
        return True
    except (OSError, ValueError):
        return False


def run(commands: list[list[str]], oldest: str = "g++ 9 or clang++ 10") -> None:
    """Run commands of compilers at the same time; an interrupt ends them all, and so does the end
    of this process.

    Raises CompilerError with the output of the first command that fails, and the oldest compilers
    that serve.
    """
    started: list[subprocess.Popen[str]] = []
    theirs, ours = os.pipe()
    try:
        for command in commands:
            with postponed():
                watched = ["sh", "-c", WATCHED, "sh", *command]
                one = subprocess.Popen(
                    watched,
                    process_group=0,  # its own, so that what g++ has started ends with it
                    text=True,
                    stdin=theirs,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
                started.append(one)
        said = [process.communicate()[0] for process in started]
    except BaseException:
        for process in started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in started:
            process.wait()
        raise
    finally:
        os.close(theirs)
        os.close(ours)
    for command, process, text in zip(commands, started, said, strict=True):
        if process.returncode != 0:
            raise CompilerError(
                f"{shlex.join(command)} failed; combred needs {oldest} at least:\n{text[-2000:]}"
            )

"""Generated C++ as a shared library, with the compiler at hand and a cache of what was compiled.

Takes the files of `combred.native.generate`; gives the path of a library.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from combred.records import write_bytes

COMPILERS = ("g++", "clang++")
FLAGS = (
    "-std=c++17", "-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno",
    "-fno-trapping-math", "-fvisibility=hidden", "-shared", "-fPIC", "-Wno-psabi",
)  # fmt: skip


def find_compiler() -> list[str]:
    """The command of a C++ compiler: $CXX, g++ or clang++, the first that there is.

    Raises RuntimeError, with the remedy, where there is none.
    """
    chosen = shlex.split(os.environ.get("CXX", ""))
    for command in [chosen] if chosen else [[name] for name in COMPILERS]:
        path = shutil.which(command[0])
        if path:
            return [path, *command[1:]]
    asked = f"CXX={chosen[0]} is not there" if chosen else f"neither {' nor '.join(COMPILERS)} is"
    raise RuntimeError(
        f"no C++ compiler was found ({asked}): install one, as in `apt install g++` or `conda "
        "install gxx`, or set CXX to its command"
    )


def cache_folder() -> Path:
    """Where compiled libraries are kept: $XDG_CACHE_HOME/combred, or ~/.cache/combred."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "combred"


def build(files: dict[str, str], folder: Path | None = None, flags: tuple[str, ...] = ()) -> Path:
    """The library compiled from generated files (name -> text), as a path.

    folder: where sources and library are written; None: a folder of the cache, named after the
    digest of sources, compiler and flags, and reused. flags: more flags, after `FLAGS`. Raises
    RuntimeError without a compiler, or where it fails.
    """
    compiler = find_compiler()
    command = [*compiler, *FLAGS, *flags]
    digest = hashlib.sha256("\0".join([*command, _version(compiler)]).encode())
    for name, text in sorted(files.items()):
        digest.update(f"\0{name}\0{text}".encode())
    name = digest.hexdigest()[:24]
    home = Path(folder) if folder else cache_folder() / name
    library = home / f"libcombred-{name}.so"
    if library.is_file():
        return library
    home.mkdir(parents=True, exist_ok=True)
    # Another process may compile the same: every file appears whole, by a rename.
    for file, text in files.items():
        write_bytes(home / file, text.encode())
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        made = Path(scratch) / library.name
        done = subprocess.run(
            [*command, str(home / "surrogate.cpp"), "-o", str(made)], capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(
                f"{shlex.join(command)} failed on {home / 'surrogate.cpp'}; combred needs g++ 9 or "
                f"clang++ 10 at least:\n{done.stderr[-2000:]}"
            )
        made.replace(library)
    return library


def _version(compiler: list[str]) -> str:
    """What the compiler says of itself and of this machine's processor."""
    asked = [*compiler, "-march=native", "-E", "-dM", "-x", "c++", os.devnull]
    done = subprocess.run(asked, capture_output=True, text=True)
    return done.stdout + done.stderr

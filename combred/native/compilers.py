"""The C++ compiler: which one there is, the options that it takes, and its processes.

First of the build. g++, clang++, and zig's clang from pip (`combred[native]`) are tested.
"""

import contextlib
import errno
import functools
import importlib.util
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from combred.processes.interrupts import postponed

COMPILERS = ("g++", "clang++")
FLAGS = (
    "-std=c++17", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math",
    "-fno-exceptions", "-fvisibility=hidden", "-fPIC", "-Wno-psabi",
)  # fmt: skip
# The levels of x86-64 by their features: compilers before g++ 11 and clang++ 12 do not know the
# names of levels.
LEVELS: dict[str, tuple[str, ...]] = {
    "v2": ("-mssse3", "-msse4.1", "-msse4.2", "-mpopcnt", "-mcx16")
}
LEVELS["v3"] = (*LEVELS["v2"], "-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mlzcnt", "-mmovbe")
LEVELS["v4"] = (
    *LEVELS["v3"], "-mavx512f", "-mavx512dq", "-mavx512cd", "-mavx512bw", "-mavx512vl",
)  # fmt: skip
ZIG_GLIBC = "2.17"  # the oldest that zig offers: its libraries load on every Linux since 2014


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

# What compilers say where a disk is full, or where a file exceeds the limit of the shell.
FULL = "No space left on device", "Disk quota exceeded"
LIMITED = "File size limit exceeded", "File too large"
# Bytes: a disk with less is full, whatever the compiler says, as of a bus error.
LEAST = 1 << 20
TOO_LARGE = (
    "the limit of this shell on the size of files is too small to compile: raise it with "
    "`ulimit -f unlimited`"
)


class CompilerError(RuntimeError):
    """There is no C++ compiler, or it failed; the message has the remedy."""


def find_compiler() -> list[str]:
    """The command of a C++ compiler: $CXX, g++, clang++ or zig's, the first that there is.

    Raises CompilerError, with the remedy, where there is none.
    """
    try:
        chosen = shlex.split(os.environ.get("CXX", ""))
    except ValueError as error:
        raise CompilerError(
            f"CXX={os.environ['CXX']} is no command ({error}): set it to a C++ compiler, as g++"
        ) from error
    for command in [chosen] if chosen else [[name] for name in COMPILERS]:
        path = shutil.which(command[0])
        if path:
            return [path, *command[1:]]
    if not chosen and importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "c++"]
    asked = f"CXX={chosen[0]} is not there" if chosen else f"neither {' nor '.join(COMPILERS)} is"
    raise CompilerError(
        f"no C++ compiler was found ({asked}): install one, as in `apt install g++` or `pip "
        "install ziglang`, or set CXX to its command"
    )


def is_zig(compiler: list[str]) -> bool:
    """Whether a command is zig's clang."""
    return compiler[-1] == "c++" and any("zig" in word for word in compiler)


def compile_command(compiler: list[str]) -> list[str]:
    """The command that compiles for the oldest CPU of this machine's kind."""
    target = f"{platform.machine()}-linux-gnu.{ZIG_GLIBC}"
    return [*compiler, *(["-target", target] if is_zig(compiler) else []), *FLAGS]


def link_command(compiler: list[str]) -> list[str]:
    """The command that makes a library of objects, which call the C library alone, and so it needs
    no other (--as-needed). Its functions call each other even where another surrogate's library is
    loaded (-Bsymbolic)."""
    if is_zig(compiler):  # as C: zig compiles its C++ library for the first program that uses it
        command = [*compile_command(compiler)[: -len(FLAGS)], "-s"]
        command[len(compiler) - 1] = "cc"
    else:
        command = compiler
    linux = ["-Wl,--as-needed,-Bsymbolic"] if sys.platform == "linux" else []
    return [*command, "-shared", "-fPIC", *linux]


def native_flags(compiler: list[str]) -> tuple[str, ...]:
    """The options for this machine's CPU."""
    for flag in ("-march=native", "-mcpu=native"):  # clang on ARM once knew the second alone
        if _asked(compiler, flag).returncode == 0:
            return (flag,)
    return ()


def version(compiler: list[str]) -> str:
    """The macros of the compiler, which tell its version and this machine's CPU. Raises
    CompilerError for a command that is no C++ compiler."""
    done = _asked(compiler, *native_flags(compiler))
    if done.returncode != 0 or "__cplusplus" not in done.stdout:
        said = f" ({done.stderr.strip().splitlines()[-1]})" if done.stderr.strip() else ""
        raise CompilerError(
            f"`{shlex.join(compiler)}` is no C++ compiler that works{said}: set CXX to g++, or to "
            "another one"
        )
    return done.stdout + done.stderr


def _asked(compiler: list[str], *flags: str) -> subprocess.CompletedProcess:
    """The macros that a compiler defines."""
    return _once((*compile_command(compiler), *flags, "-E", "-dM", "-x", "c++", os.devnull))


@functools.cache
def _once(command: tuple[str, ...]) -> subprocess.CompletedProcess:
    """The answer to a command, which is asked once in a process."""
    try:
        return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as error:  # a file that is no program
        return subprocess.CompletedProcess(command, 1, "", str(error))


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
            _require_room(command, text)
            why = f"combred needs {oldest} at least"
            if "Killed" in text:
                why = "it was killed, as where memory runs out: end other programs, and try again"
            raise CompilerError(f"{shlex.join(command)} failed; {why}:\n{text[-2000:]}")


def _require_room(command: list[str], output: str) -> None:
    """CompilerError, with the folder, where a compiler has failed for want of room for its files:
    temporary ones, or what it makes."""
    if any(text in output for text in LIMITED):
        raise CompilerError(TOO_LARGE)
    folders = [Path(os.environ.get("TMPDIR") or "/tmp")]  # noqa: S108  that of compilers
    if "-o" in command[:-1]:
        folders.append(Path(command[command.index("-o") + 1]).parent)
    room = {}
    for folder in folders:
        with contextlib.suppress(OSError):
            room[folder] = shutil.disk_usage(folder).free
    least = min(room, key=lambda folder: room[folder], default=folders[0])
    if any(text in output for text in FULL) or room.get(least, LEAST) < LEAST:
        raise CompilerError(_no_room(least))


@contextlib.contextmanager
def room_in(folder: Path) -> Iterator[None]:
    """A context in which a full disk, of this folder, is a CompilerError."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise CompilerError(TOO_LARGE) from error
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise CompilerError(_no_room(folder)) from error
        raise


def _no_room(folder: Path) -> str:
    return (
        f"there is no room to compile in {folder}: make room there, or take a folder on another "
        "disk (XDG_CACHE_HOME is that of the cache, TMPDIR that of temporary files)"
    )

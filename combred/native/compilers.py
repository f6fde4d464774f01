"""The C++ compiler: which one there is, and the options that it takes.

First of the build. g++, clang++, and zig's clang from pip (`combred[native]`) are tested.
"""

import functools
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys

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


class CompilerError(RuntimeError):
    """There is no C++ compiler, or it failed; the message has the remedy."""


def find_compiler() -> list[str]:
    """The command of a C++ compiler: $CXX, g++, clang++ or zig's, the first that there is.

    Raises CompilerError, with the remedy, where there is none.
    """
    chosen = shlex.split(os.environ.get("CXX", ""))
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
    """What the compiler says of itself and of this machine's CPU."""
    done = _asked(compiler, *native_flags(compiler))
    return done.stdout + done.stderr


def _asked(compiler: list[str], *flags: str) -> subprocess.CompletedProcess:
    """The macros that a compiler defines."""
    return _once((*compile_command(compiler), *flags, "-E", "-dM", "-x", "c++", os.devnull))


@functools.cache
def _once(command: tuple[str, ...]) -> subprocess.CompletedProcess:
    """The answer to a command, which is asked once in a process."""
    return subprocess.run(command, capture_output=True, text=True)

"""The C interface of a compiled library, source/combred.h, by ctypes.

Takes the path of a library; gives its functions with the types of their arguments.
"""

import ctypes
from pathlib import Path
from typing import Any

from combred.native.damage import defines, require_whole

INTERFACE = 10  # COMBRED_INTERFACE of source/combred.h
# COMBRED_DT, COMBRED_OPTIONS, COMBRED_NOT_ADVANCED
DT_STATUS, OPTIONS_STATUS, NOT_ADVANCED = 3, 4, 6
POINTER, SIZE = ctypes.c_void_p, ctypes.c_size_t
TEXTS = "status_text", "species_name", "mechanism_sha256", "digest", "card", "level"
WORKSPACE = [POINTER, SIZE]
COMPUTING = {  # the functions that each level has, and their arguments
    "advance": [SIZE, POINTER, POINTER, SIZE, POINTER, POINTER, *WORKSPACE],
    "advance_with_sources": [SIZE, POINTER, POINTER, SIZE, *[POINTER] * 3, *WORKSPACE],
    "time_to": [SIZE, POINTER, POINTER, SIZE, *[POINTER] * 4, *WORKSPACE],
    "rates": [SIZE, POINTER, POINTER, POINTER, *WORKSPACE],
    "jacobian": [POINTER, ctypes.c_int, POINTER, *WORKSPACE],
    "time_scale": [SIZE, POINTER, POINTER, *WORKSPACE],
    "workspace_size": [],
}
_LOADED: dict[str, int] = {}  # CRC-32 of the libraries that this process has loaded, by path


class Options(ctypes.Structure):
    """`combred_options` of source/combred.h."""

    _fields_ = [
        ("tolerance", ctypes.c_double),
        ("max_steps", ctypes.c_int64),
        ("reactor", ctypes.c_int64),
        ("wall", ctypes.c_void_p),
    ]


class Report(ctypes.Structure):
    """`combred_report` of source/combred.h."""

    _fields_ = [
        ("error", ctypes.c_void_p),
        ("steps", ctypes.c_void_p),
        ("not_advanced", ctypes.c_size_t),
    ]


def open_library(path: Path) -> ctypes.CDLL:
    """The functions of a library, without their level. Raises FileNotFoundError if there is no such
    library, ValueError if it is damaged, is not combred's, is of another version, or has changed
    since this process loaded it."""
    found, whole = require_whole(path), str(path.resolve())
    if _LOADED.get(whole, found) != found:
        raise ValueError(
            f"{path} has changed since this process loaded it, and a process loads a "
            "library once: write the new one to another path, or start Python again"
        )
    try:
        if not defines(path, "combred_interface"):
            raise OSError("it has no function combred_interface")
        calls = ctypes.CDLL(whole)
        _LOADED[whole] = found
        interface = calls.combred_interface()
    except (OSError, AttributeError) as error:
        if "failed to map segment" in str(error):
            raise ValueError(
                f"{path} cannot be loaded ({error}): its disk is mounted with noexec, or memory is "
                "limited (ulimit -v). Copy it to another disk"
            ) from error
        raise ValueError(
            f"{path} is not a library of combred for this machine ({error}): "
            "make one with combred.native.export"
        ) from error
    if interface == 0:
        raise ValueError(
            f"{path} cannot read the files of its export, surrogate.pt and libsolver.so, beside it "
            "(standard error tells which): copy all files of the export, or export it again"
        )
    if interface != INTERFACE:
        raise ValueError(
            f"{path} has version {interface} of the interface, and this combred needs "
            f"{INTERFACE}: compile it again with combred.native.compile or combred.solver"
        )
    for name in TEXTS:
        getattr(calls, f"combred_{name}").restype = ctypes.c_char_p
    calls.combred_species_name.argtypes, calls.combred_n_species.restype = [SIZE], SIZE
    return calls


def of_level(calls: ctypes.CDLL, path: Path, level: str) -> list[Any]:
    """The functions that compute, in the order of `COMPUTING`: of a level, or of "" those of the
    level that is chosen. Raises ValueError where the library has no code of the level, or this CPU
    does not run it."""
    prefix = f"combred_{level}_" if level else "combred_"
    try:
        found = [getattr(calls, prefix + name) for name in COMPUTING]
    except AttributeError as error:
        raise ValueError(
            f"{path} has no code of the level {level!r}: make it with combred.native.build_portable"
        ) from error
    highest = calls.combred_level().decode().removeprefix("x86-64-")
    if level > highest:
        raise ValueError(f"this CPU runs no code of the level {level!r}: give {highest!r}")
    for function, arguments in zip(found, COMPUTING.values(), strict=True):
        function.argtypes = arguments
    found[-1].restype = SIZE
    return found

"""The compilers, a program of tests/native/advance.c and a library's source, and answers of two
libraries that differ by rounding."""

import functools
import importlib.util
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from combred.chemistry.states import states_of
from combred.chemistry.stepper import Solution
from combred.native import builder, exporter
from combred.native.compilers import FLAGS, find_compiler
from combred.native.solver import library as solver_library
from combred.native.solver.generator import SOURCE

# The compilers by name, None where there is none.
ZIG = f"{sys.executable} -m ziglang c++"
COMPILERS = {"g++": shutil.which("g++"), "clang++": shutil.which("clang++")}
COMPILERS["zig"] = ZIG if importlib.util.find_spec("ziglang") else None
SANITIZERS = ("-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


IN_ONE = "from combred.native import builder; builder.PIECES = {'all': 15}\n"
ONE_STATE = "-DCOMBRED_BYTES=0"  # at a time, which compiles faster than lanes


def compile_quickly(
    patch: pytest.MonkeyPatch, *flags: str, in_one: bool = True
) -> Callable[..., Path]:
    """From here on solvers and exported libraries are compiled in one piece, in half the time of
    all pieces, for this CPU alone, and with `flags`, by default not optimised. The function is
    returned."""
    quick = functools.partial(builder.build, flags=flags or ("-O0",))
    if in_one:
        patch.setattr(builder, "PIECES", {"all": 15})
    patch.setattr(exporter, "build_portable", quick)
    patch.setattr(solver_library, "build", quick)
    return quick


def quick_compiler(folder: Path, *flags: str) -> str:
    """The command of a compiler, for CXX of another process, with more flags than the one that
    there is."""
    file = folder / "quick-compiler"
    file.write_text(f'#!/bin/sh\nexec {shlex.join(find_compiler())} "$@" {shlex.join(flags)}\n')
    file.chmod(0o755)
    return str(file)


def require_same_answers(found, known, states: np.ndarray, tolerance: float) -> None:
    """Asserts that two libraries give the same answers but for rounding; found, known: later states
    [T, p, Y], errors and steps of `states`."""
    later, error, steps = known
    assert np.isfinite(found[1]).all() and np.isfinite(error).all()
    moved, off, same = np.abs(later - states), np.abs(found[0] - later), found[2] == steps
    off_T = off[:, 0] / (moved[:, 0] + 1.0)
    off_Y = off[:, 2:].max(axis=1) / (moved[:, 2:].max(axis=1) + 1e-5)
    # Rounding of floats and of doubles in 10 steps or so; where it decides whether a step is
    # accepted, answers differ by the tolerance.
    assert same.mean() > 0.9
    rounding = 1e-4 if tolerance > 1e-4 else 1e-10
    assert max(off_T[same].max(), off_Y[same].max()) <= rounding
    assert max(off_T.max(), off_Y.max()) <= 2.0 * tolerance


class CompiledProgram:
    """`attempt` of a library by a program. command: the words that start it, the program itself
    the last."""

    def __init__(self, *command: str | Path):
        self.command = command

    def attempt(self, T, p, Y, dt: float, tolerance: float = 0.0) -> Solution:
        """As `Stepper.attempt`; tolerance 0: the library's own. Raises CalledProcessError
        where the program fails."""
        states = states_of(T, p, Y)
        file, n = Path(self.command[-1]).with_name("states"), len(states)
        np.concatenate([[n], states.ravel(), [dt, tolerance]]).tofile(file)
        subprocess.run([*self.command, file], check=True, timeout=300, stderr=subprocess.PIPE)
        found = np.fromfile(file, float, states.size + 2 * n)
        later, error, steps = np.split(found, [states.size, states.size + n])
        later = later.reshape(states.shape)
        return Solution(later[:, 0], later[:, 1], later[:, 2:], error, steps.astype(np.int64))


def sanitized(source: Path) -> CompiledProgram:
    """advance.c, which allocates no byte more than it has to, with a library's source under the
    sanitizers of addresses and of undefined behaviour."""
    folder = source.parent
    advance = [Path(__file__).with_name("native") / "advance.c", "-I", SOURCE]
    subprocess.run(["gcc", *SANITIZERS, "-c", *advance], cwd=folder, check=True)
    command = ["g++", *FLAGS, "-O0", "-march=native", *SANITIZERS, source.name, "advance.o"]
    built = subprocess.run([*command, "-o", "advance"], cwd=folder, capture_output=True, text=True)
    if "cannot find" in built.stderr:
        pytest.skip("the sanitizers' libraries are not installed")
    assert built.returncode == 0, built.stderr
    return CompiledProgram(folder / "advance")


def spoil(states: np.ndarray) -> None:
    """Replace one number of each row of `states` by one that is hardly that of a state."""
    rng = np.random.default_rng(0)
    values = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-300, 5e-324, 1e300, -1e-9]
    for row in states:
        row[rng.integers(len(row))] = rng.choice(values)

"""The library by other ways: without vectors and by other compilers. Answers differ by rounding.
(For every CPU, and under the sanitizers: tests/native/test_portable.py, test_sanitizers.py.)

The mechanism is small and has three kinds of polynomials, third bodies, falloff and a linear-Burke
rate.
"""

import shutil

import numpy as np
import pytest
from compiled_program import COMPILERS, ONE_STATE, compile_quickly, require_same_answers

from combred.native import build
from combred.native.compilers import find_compiler, is_zig
from combred.native.interface import Library
from combred.native.solver import generate

needs_gcc = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
DT = 1e-7


@pytest.fixture(scope="module")
def states(every_thermo, random_states):
    """203 states [T, p, Y], no multiple of a block, of 30 Pa to 3e5 Pa."""
    T, p, Y = random_states(every_thermo, 203, seed=1)
    return np.column_stack([T, 0.03 * p, Y])


@pytest.fixture(scope="module")
def require_agreement(every_thermo, solver_of, states):
    """A function: asserts that a library has the answers of that of this CPU."""
    native = solver_of(every_thermo).library
    known_rates = native.rates(states)
    known = {(tol, v): integrated(native, states, tol, v) for tol in (1e-3, 9e-5) for v in (0, 1)}

    def require(library: Library) -> None:
        for found, true in zip(library.rates(states), known_rates, strict=True):
            # Rounding of exponents of up to some hundred, over the fastest rate of a state.
            fastest = np.abs(known_rates).max(axis=(0, 2))
            assert np.all(np.abs(found - true).max(axis=1) <= 1e-12 * fastest)
        J, true = library.jacobian(states[5]), native.jacobian(states[5])
        assert np.abs(J - true).max() <= 1e-12 * np.abs(true).max()
        for (tolerance, volume), answers in known.items():
            found = integrated(library, states, tolerance, volume)
            require_same_answers(found, answers, states, tolerance)

    return require


def integrated(library: Library, states, tolerance, volume):
    """Later states, errors and steps."""
    later = states.copy()
    return later, *library.integrate_in_place(later, DT, tolerance, 0, bool(volume))


def test_states_burn(every_thermo, solver_of, states):
    later, error, steps = integrated(solver_of(every_thermo).library, states, 1e-3, 0)
    assert np.isfinite(error).all() and steps.max() > 10
    assert np.abs(later - states)[:, 0].mean() > 10.0  # K


# -- other compilations ----------------------------------------------------------------------------


def test_one_state_at_a_time(every_thermo, require_agreement, tmp_path, monkeypatch):
    """Without vectors, as on a GPU."""
    build = compile_quickly(monkeypatch, "-O1", ONE_STATE)
    require_agreement(Library(build(generate(every_thermo), tmp_path)))


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["clang++", "zig"])
def test_each_compiler_gives_the_same_answers(
    every_thermo, require_agreement, monkeypatch, compiler
):
    if COMPILERS[compiler] is None:
        pytest.skip(f"{compiler} is not here")
    monkeypatch.setenv("CXX", COMPILERS[compiler])
    assert is_zig(find_compiler()) == (compiler == "zig")
    require_agreement(Library(build(generate(every_thermo))))

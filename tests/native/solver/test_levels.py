"""The library by other ways: for every CPU, without vectors, by other compilers, as one file, under
the sanitizers. Answers differ by rounding.

The mechanism is small and has three kinds of polynomials, third bodies, falloff and a linear-Burke
rate.
"""

import shutil
import subprocess

import numpy as np
import pytest
from compiled_program import (
    COMPILERS,
    quick_compiler,
    require_same_answers,
    sanitized,
    spoil,
)

from combred.native import build, build_portable
from combred.native.compilers import FLAGS, LEVELS, find_compiler, is_zig
from combred.native.damage import sealed
from combred.native.interface import Library
from combred.native.single_file import join
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


# -- every CPU -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def portable(every_thermo, tmp_path_factory):
    """The library for every CPU, in a folder of its own. Hardly optimised: in
    tests/native/test_portable.py the solver of hydrogen is compiled as for a user."""
    folder = tmp_path_factory.mktemp("portable")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CXX", quick_compiler(folder, "-O1"))
        return build_portable(generate(every_thermo), folder)


@pytest.fixture
def highest(portable) -> str:
    """The level that the library has chosen on this machine."""
    level = Library(portable).level
    if not level:
        pytest.skip("levels are of x86-64")
    return level.removeprefix("x86-64-")


@pytest.mark.slow
@pytest.mark.parametrize("level", ["", *LEVELS])
def test_each_level_has_the_same_answers(portable, highest, level, require_agreement):
    if level > highest:
        pytest.skip(f"this CPU runs {highest} at most")
    library = Library(portable, level)
    assert library.level == f"x86-64-{level or highest}"
    require_agreement(library)


@pytest.mark.slow
def test_levels_share_no_function(portable, highest, tmp_path):
    """A function of the C++ library that the linker keeps once would be that of any level."""
    if shutil.which("g++") is None or shutil.which("nm") is None:
        pytest.skip("needs g++ and nm")
    source = portable.parent / "library.cpp"
    flags = [*FLAGS, "-O1", *LEVELS["v3"], "-DCOMBRED_LEVEL=v3", f"-I{portable.parent}"]
    subprocess.run(["g++", *flags, "-c", source, "-o", tmp_path / "v3.o"], check=True)
    said = subprocess.run(["nm", tmp_path / "v3.o"], capture_output=True, text=True).stdout
    kinds = {line.split()[-1]: line.split()[-2] for line in said.splitlines()}
    shown = {name for name, kind in kinds.items() if kind in "TVW"}
    public = ("advance", "rates", "jacobian", "workspace_size")
    assert {f"combred_v3_{name}" for name in public} <= shown
    assert all("combred_v3_" in name for name in shown)


@pytest.mark.slow
def test_the_library_needs_the_c_library_alone(portable):
    content = portable.read_bytes()
    for library in (b"libstdc++", b"libgcc_s", b"CXXABI", b"__gxx_personality"):
        assert library not in content


# -- other compilations ----------------------------------------------------------------------------


def test_one_state_at_a_time(every_thermo, require_agreement, tmp_path):
    """Without vectors, as on a GPU."""
    flags = ("-DCOMBRED_BYTES=0", "-O1")
    require_agreement(Library(build(generate(every_thermo), tmp_path, flags)))


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_each_compiler_gives_the_same_answers(
    every_thermo, require_agreement, monkeypatch, compiler
):
    if COMPILERS[compiler] is None:
        pytest.skip(f"{compiler} is not here")
    monkeypatch.setenv("CXX", COMPILERS[compiler])
    assert is_zig(find_compiler()) == (compiler == "zig")
    require_agreement(Library(build(generate(every_thermo))))


@pytest.fixture(scope="module")
def single(every_thermo, tmp_path_factory):
    """A folder with solver.cpp, all files joined."""
    folder = tmp_path_factory.mktemp("single")
    text = join(generate(every_thermo), "library.cpp")
    assert '#include "' not in text
    (folder / "solver.cpp").write_text(text)
    return folder


@needs_gcc
@pytest.mark.slow
def test_one_file_compiles_by_one_command(single, require_agreement):
    command = ["g++", *FLAGS, "-O1", "-march=native", "-shared", "solver.cpp", "-o", "one.so"]
    done = subprocess.run(command, cwd=single, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr[-2000:]
    library = single / "one.so"
    library.write_bytes(sealed(library.read_bytes()))  # as `build` does
    require_agreement(Library(library))


# -- sanitizers ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program(single):
    return sanitized(single / "solver.cpp")


@needs_gcc
@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 203])
def test_sanitizers_find_nothing_in_batches_of_all_sizes(program, states, n):
    found = program.integrate(*split(states[:n]), DT)
    assert found.Y.shape == states[:n, 2:].shape and np.isfinite(found.error).all()
    assert np.all(found.steps >= 1)


@needs_gcc
@pytest.mark.slow
def test_sanitizers_find_nothing_in_states_that_are_none(program, states):
    odd = states.copy()
    spoil(odd[:190])
    found = program.integrate(*split(odd), DT)
    assert np.isinf(found.error[:190]).sum() > 60
    alone = program.integrate(*split(odd[190:]), DT)
    assert np.array_equal(found.Y[190:], alone.Y) and np.array_equal(found.error[190:], alone.error)


def split(states):
    """T, p and Y."""
    return states[:, 0], states[:, 1], states[:, 2:]

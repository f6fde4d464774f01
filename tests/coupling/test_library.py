"""The C++ class and the examples, built here, against the same libraries in Python."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from combred.chemistry.states import HIGHEST_P, HIGHEST_T, LOWEST_T, LOWEST_Y, OFF_SUM
from combred.native import NativeSurrogate
from combred.native.damage import sealed
from combred.native.interface import DT_STATUS, INTERFACE, NOT_ADVANCED, OPTIONS_STATUS
from combred.native.solver.generator import LONGEST_DT, MOST_ATTEMPTS, SOURCE, TOLERANCE
from combred.surrogates.model.tolerance import NETWORK_TOLERANCE

COUPLING = Path(__file__).parents[2] / "coupling"
Y0 = {"CH4": 0.0552, "O2": 0.2202, "N2": 0.7246}
GIVEN = [f"{name}={value}" for name, value in Y0.items()]
DT = 1e-6  # s
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ and gcc")


def run(*words, **more) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)


def initial_state(native, T: float) -> np.ndarray:
    return np.array([[T, 101325.0, *(Y0.get(name, 0.0) for name in native.library.species)]])


def by_python(native, states, dt, tolerance=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States (n, 2 + n_species) dt [s] later, their error ratios and numbers of steps."""
    found = native.attempt(states[:, 0], states[:, 1], states[:, 2:], dt, tolerance)
    return np.column_stack([found.T, found.p, found.Y]), found.error, found.steps


def ignition(native, n: int, dt: float):
    """States (n + 1, n_species + 2), errors and numbers of steps of an ignition at 1700 K."""
    found = [(initial_state(native, 1700.0), np.zeros(1), np.zeros(1))]
    for _ in range(n):
        found.append(by_python(native, found[-1][0], dt))
    return tuple(np.concatenate(part) for part in zip(*found, strict=True))


def are_of(native, counts) -> bool:
    """Whether numbers of steps are those of a network, whose own is none, or of a solver."""
    return (counts.min() == 0) == isinstance(native, NativeSurrogate)


@pytest.mark.parametrize("dt, n", [(DT, 300), (1e-5, 30)])
def test_an_ignition_equals_that_of_python(ignite, native, dt, n):
    done = run(ignite, native.library.path, 1700, 101325, dt, n, *GIVEN)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    found = np.array([line.split() for line in lines if line[0] != "#"], float)
    states, errors, counts = ignition(native, n, dt)
    T = states[:, 0]
    assert T[-1] > 2600.0 and are_of(native, counts[1:])
    assert np.allclose(found[:, 0], dt * np.arange(n + 1))
    assert np.allclose(found[:, 1], T, rtol=1e-9)  # of ten digits
    assert np.allclose(found[:, 2], errors, rtol=1e-5) and np.array_equal(found[:, 3], counts)
    (delay,) = (float(line.split()[2]) for line in lines if line.startswith("# delay"))
    steepest = int(np.argmax(np.diff(T)))
    assert delay == pytest.approx((steepest + 0.5) * dt, rel=1e-5)
    (said,) = (line for line in lines if line.startswith("# steps per call"))
    assert float(said.split()[4].rstrip(",")) == pytest.approx(counts[1:].mean(), rel=1e-3)


def test_an_ignition_in_c(native, tmp_path):
    """By the C interface, linked with the library."""
    shutil.copy(native.library.path, tmp_path)
    shutil.copy(SOURCE / "combred.h", tmp_path)
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", tmp_path]
    name = native.library.path.stem.removeprefix("lib")
    command += [COUPLING / "ignite.c", "-L", tmp_path, f"-Wl,-rpath,{tmp_path}", f"-l{name}"]
    done = run(*command, "-o", tmp_path / "ignite")
    assert done.returncode == 0, done.stderr
    done = run(tmp_path / "ignite")
    assert done.returncode == 0, done.stderr
    found = np.array([line.split() for line in done.stdout.splitlines()], float)
    T = ignition(native, 400, DT)[0][1:, 0]
    assert T[-1] > 2600.0 and np.allclose(found[:, 1], T, rtol=1e-5)  # of six digits


def test_the_headers_tell_the_numbers_of_the_code():
    header = " ".join((SOURCE / "combred.h").read_text().split())
    for told in (
        f"above {LONGEST_DT:g} s".replace("e+", "e"),
        f"{TOLERANCE:g} of a solver, {NETWORK_TOLERANCE:g} of a surrogate",
        f"max_steps; /* largest number of the solver's steps of a state; 0: {MOST_ATTEMPTS}.",
        f"T from {LOWEST_T:g} to {HIGHEST_T:g} K, p above 0 and below 1e30 Pa, no Y below",
        f"no Y below {LOWEST_Y:g}".replace("e-0", "e-"),
        f"COMBRED_DT = {DT_STATUS}, ",
        f"COMBRED_OPTIONS = {OPTIONS_STATUS}, ",
        f"COMBRED_NOT_ADVANCED = {NOT_ADVANCED} ",
        f"#define COMBRED_INTERFACE {INTERFACE} ",
    ):
        assert told in header, told
    assert HIGHEST_P == 1e30 and OFF_SUM == 1e-3 and "sum Y within 1e-3 of 1;" in header
    assert f"interface = {INTERFACE};" in (COUPLING / "library.hpp").read_text()


def test_the_example_of_the_header_runs(libraries, tmp_path):
    """Compiled by the command that it gives."""
    header = (SOURCE / "combred.h").read_text()
    shutil.copy(SOURCE / "combred.h", tmp_path)
    shutil.copy(libraries["solver"].library.path, tmp_path)
    example = header[header.index("       #include") : header.index("*/")]
    (tmp_path / "example.c").write_text(example)
    command = re.search(r"\((cc -I.*?)\n\s+(-Wl.*?-lsolver)", header)
    words = " ".join(command.groups()).replace("FOLDER", str(tmp_path)).split()
    done = run(*words, "-Wall", "-Wextra", "-Werror", "-o", "example", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert run(tmp_path / "example").returncode == 0


def advance(program, library, folder: Path, state, dt, *tolerance) -> subprocess.CompletedProcess:
    """`advance` on states and time steps; its results are read from `folder / "states"`."""
    np.concatenate([[len(state)], state.ravel(), dt]).tofile(folder / "states")
    return run(program, library, folder / "states", *tolerance)


@pytest.mark.parametrize("n", [0, 1, 600])
@pytest.mark.parametrize("tolerance", [None, 0.5])
def test_every_state_has_its_time_step(program, native, tmp_path, n, tolerance):
    rng = np.random.default_rng(0)
    states = ignition(native, 250, DT)[0]
    state, dt = states[rng.integers(len(states), size=n)], 10.0 ** rng.uniform(-7.0, -4.7, n)
    given = () if tolerance is None else (tolerance,)
    done = advance(program, native.library.path, tmp_path, state, dt, *given)
    assert done.returncode == 0, done.stderr
    size = state.size
    found = np.fromfile(tmp_path / "states", float, size + 2 * n)
    later, error, count = by_python(native, state, dt, tolerance)
    assert np.array_equal(found[:size].reshape(state.shape), later)
    assert np.array_equal(found[size : size + n], error)
    assert np.array_equal(found[size + n :], count)
    if n > 1:
        assert are_of(native, count) and count.max() > 2


@pytest.mark.parametrize("wrong", [0.0, -DT, np.nan, np.inf])
def test_a_time_step_that_is_none_is_refused(program, ignite, native, tmp_path, wrong):
    state = initial_state(native, 1700.0).repeat(3, axis=0)
    done = advance(program, native.library.path, tmp_path, state, np.array([DT, wrong, DT]))
    assert done.returncode == 1
    assert f"error: dt = {wrong:g} s (state 1 of 3)" in done.stderr
    assert "positive and finite" in done.stderr
    done = run(ignite, native.library.path, 1700, 101325, wrong, 1, *GIVEN)
    assert done.returncode == 1 and "positive and finite" in done.stderr


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
def test_a_tolerance_that_is_none_is_refused(program, native, tmp_path, wrong):
    state = initial_state(native, 1700.0)
    done = advance(program, native.library.path, tmp_path, state, np.array([DT]), wrong)
    assert done.returncode == 1 and f"positive and finite; this one is {wrong:g}" in done.stderr


def test_a_state_that_is_not_valid_is_left_as_it_was(program, native, tmp_path):
    state = initial_state(native, 1700.0).repeat(4, axis=0)  # two for each thread
    state[1, 2:] *= 1.1  # sum Y
    done = advance(program, native.library.path, tmp_path, state, np.full(4, DT))
    assert done.returncode == 0, done.stderr
    found = np.fromfile(tmp_path / "states")
    later, error = found[: state.size].reshape(state.shape), found[state.size :][:4]
    assert error[0] <= 1.0 and later[0, 0] != state[0, 0]
    assert error[1] == np.inf and np.array_equal(later[1], state[1])


def test_errors_of_the_user_are_named(ignite, libraries):
    library = libraries["solver"].library.path
    done = run(ignite, library, 1700, 101325, DT, 1, "CH5=0.1")
    assert done.returncode == 1 and "CH4" in done.stderr
    assert "CH5=0.1 is not NAME=Y with a species of the library" in done.stderr
    done = run(ignite, library, "hot", 101325, DT, 1, "CH4=0.1")
    assert done.returncode == 1 and "'hot' is not a number: it stands for T [K]" in done.stderr
    for place, word in ((2, "1e-6s"), (2, "abc"), (3, "4x"), (4, "CH4=0.5x")):
        words = ["1700", "101325", "1e-6", "1", "CH4=0.1"]
        words[place] = word
        done = run(ignite, library, *words)
        assert done.returncode == 1 and not done.stdout
        assert f"'{word.removeprefix('CH4=')}' is not a number: it stands for" in done.stderr
    for calls in ("-5", "1e30", "2.5", "nan"):
        done = run(ignite, library, 1700, 101325, DT, calls, "CH4=0.1")
        assert done.returncode == 1 and f"{calls} calls: a whole number from 0" in done.stderr
        assert done.stdout == ""
    assert run(ignite, library).returncode == 2


def test_a_file_of_another_kind_is_refused(ignite, native, tmp_path):
    other, cut = tmp_path / "libother.so", tmp_path / "cut.so"
    (tmp_path / "other.c").write_text("int other(void) { return 0; }\n")
    run("gcc", "-shared", "-fPIC", tmp_path / "other.c", "-o", other)
    cut.write_bytes(native.library.path.read_bytes()[:20_000])
    for path, cause in (
        (other, "it has no function combred_interface"),
        (Path(__file__), "it is no library"),
        (cut, "it is damaged: its end is missing"),
    ):
        done = run(ignite, path, 1700, 101325, DT, 1, "CH4=0.1")
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
        assert f"{path} is no library of combred for this machine ({cause}" in done.stderr
        assert "combred.native.export" in done.stderr
    done = run(ignite, tmp_path / "none.so", 1700, 101325, DT, 1, "CH4=0.1")
    assert done.returncode == 1 and "none.so is missing or cannot be read" in done.stderr


def test_sixty_flipped_bits(ignite, libraries, tmp_path):
    """Each is refused or changes no answer; ten are in the mark behind the library."""
    path = libraries["solver"].library.path
    rng, whole = np.random.default_rng(1), path.read_bytes()
    marks = len(whole) - 1 - rng.integers(len(sealed(b"")), size=10)
    known = run(ignite, path, 1700, 101325, DT, 1, *GIVEN).stdout.splitlines()[:2]
    file, refused = tmp_path / "flipped.so", 0
    for place in [*rng.integers(len(whole), size=50), *marks]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.integers(8)
        file.write_bytes(flipped)
        done = run(ignite, file, 1700, 101325, DT, 1, *GIVEN)
        if done.returncode == 1:
            assert "error: " in done.stderr
            refused += 1
        else:
            assert place in marks and done.stdout.splitlines()[:2] == known
    assert refused >= 50


def test_the_commands_of_the_readme_burn(libraries, tmp_path):
    """All but the first, which exports the library."""
    text = (COUPLING / "README.md").read_text()
    lines = text.split("<!-- ignite -->")[1].split("```")[1].removeprefix("bash\n").splitlines()
    assert len(lines) == 3 and "combred.native.export" in lines[0]
    (tmp_path / "coupling").symlink_to(COUPLING)
    (tmp_path / "library").symlink_to(libraries["solver"].library.path.parent)
    done = run("bash", "-euc", "\n".join(lines[1:]), cwd=tmp_path)
    assert done.returncode == 0 and not done.stderr, done.stderr
    T = [float(line.split()[1]) for line in done.stdout.splitlines()[:401]]
    assert T[-1] == pytest.approx(ignition(libraries["solver"], 400, DT)[0][-1, 0], abs=0.01)  # K


def test_the_lines_of_the_readme_compile(tmp_path):
    readme = (COUPLING / "README.md").read_text().split("<!-- class -->\n```cpp\n")[1]
    lines = readme.split("```")[0]
    head = '#include "library.hpp"\nvoid example(std::size_t n, std::size_t n_cells) {\n'
    (tmp_path / "example.cpp").write_text(f"{head}{lines}}}\n")
    done = run("g++", "-std=c++11", "-fsyntax-only", "-I", COUPLING, tmp_path / "example.cpp")
    assert done.returncode == 0, done.stderr

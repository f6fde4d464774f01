"""The library for every CPU: each level of x86-64 that this machine runs against torch and against
the library of this CPU."""

import ctypes
import shutil
import subprocess
import sys

import numpy as np
import pytest

from combred.native import NativeSurrogate, builder, generate
from combred.native.builder import build_portable
from combred.native.compilers import FLAGS, LEVELS, compile_command
from combred.native.interface import Options, of_level
from combred.native.library import Library
from combred.native.solver import generate as generate_solver

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session"),
]


def built_quickly(files, folder):
    """A library for every CPU: the code of a level in one piece, not optimised."""

    def quick(compiler: list[str]) -> list[str]:
        return [word.replace("-O3", "-O0") for word in compile_command(compiler)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "PIECES", {"all": 15})
        patch.setattr(builder, "compile_command", quick)
        return build_portable(files, folder)


@pytest.fixture(scope="session")
def portable(correcting, made_once):
    with made_once("portable") as folder:
        return built_quickly(generate(correcting), folder)


@pytest.mark.parametrize("level", ["", *LEVELS])
def test_each_level_gives_the_answers_of_torch_and_of_this_cpu(
    portable, level, require_agreement, require_same_solver
):
    highest = NativeSurrogate(portable).library.level.removeprefix("x86-64-")
    if level > highest:
        with pytest.raises(ValueError, match=f"give '{highest}'"):
            NativeSurrogate(portable, level=level)
        return
    native = NativeSurrogate(portable, level=level)
    assert native.library.level == f"x86-64-{level or highest}"
    require_agreement(native)
    require_same_solver(native.library)


def test_levels_share_no_function(exported, portable, tmp_path):
    """A function of the C++ library that the linker keeps once would be that of any level. Nor does
    the library need the one of C++."""
    if not NativeSurrogate(portable).library.level or shutil.which("nm") is None:
        pytest.skip("needs x86-64 and nm")
    flags = [*FLAGS, "-O0", *LEVELS["v3"], "-DCOMBRED_LEVEL=v3"]
    source = exported / "surrogate.cpp"
    subprocess.run(["g++", *flags, "-c", source, "-o", tmp_path / "v3.o"], check=True)
    said = subprocess.run(["nm", tmp_path / "v3.o"], capture_output=True, text=True).stdout
    kinds = {line.split()[-1]: line.split()[-2] for line in said.splitlines()}
    shown = {name for name, kind in kinds.items() if kind in "TVW"}
    public = ("advance", "rates", "jacobian", "workspace_size")
    assert {f"combred_v3_{name}" for name in public} <= shown
    assert all("combred_v3_" in name for name in shown)
    for library in (b"libstdc++", b"libgcc_s", b"CXXABI", b"__gxx_personality"):
        assert library not in portable.read_bytes()


OTHER = """
import ctypes, sys
import numpy as np
from combred.native import NativeSurrogate
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
x = np.load(sys.argv[3])
np.save(sys.argv[3], NativeSurrogate(sys.argv[2]).integrate(x[:, 0], x[:, 1], x[:, 2:], 1e-6).T)
"""


def test_functions_of_another_library_do_not_take_the_place_of_its_own(portable, path, tmp_path):
    """Another surrogate that the program is linked with has functions of the same names."""
    names = ("advance", "rates", "jacobian", "workspace_size")
    prefixes = ("combred_", *(f"combred_{level}_" for level in LEVELS))
    text = "".join(f"int {p}{name}(void) {{ return 77; }}\n" for p in prefixes for name in names)
    (tmp_path / "other.c").write_text(text)
    other, states = tmp_path / "other.so", path.state.numpy()
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "other.c", "-o", other], check=True)
    np.save(tmp_path / "states.npy", states)
    words = [sys.executable, "-c", OTHER, other, portable, tmp_path / "states.npy"]
    subprocess.run(words, check=True)
    known = NativeSurrogate(portable).integrate(path.T, path.p, path.Y, 1e-6).T
    assert np.array_equal(np.load(tmp_path / "states.npy"), known)


def test_a_level_that_is_not_there_is_refused(compiled, portable):
    for library, level in ((compiled.library.path, "v3"), (portable, "v9")):
        with pytest.raises(ValueError, match=f"no code of the level '{level}'"):
            NativeSurrogate(library, level=level)


def test_few_states_have_the_lanes_of_avx2(mechanism, tmp_path):
    """Up to 32 where the CPU has AVX-512, bit for bit; of a solver without a network."""
    path = built_quickly(generate_solver(mechanism), tmp_path)
    if Library(path).level != "x86-64-v4":
        pytest.skip("needs AVX-512")
    rows = np.column_stack([
        np.linspace(900.0, 2000.0, 33), np.full(33, 1e5),
        mechanism.mixture("H2:1", "O2:1, N2:3.76", np.ones(33)),
    ])  # fmt: skip
    T, seconds, none = rows[:, 0] + 5.0, np.empty(33), np.zeros((33, 2 + mechanism.n_species))
    more = (), (none.ctypes.data,), (T.ctypes.data, seconds.ctypes.data)
    options, dt = Options(1e-3, 0, 0), np.array([1e-6])
    for n, level in ((32, "v3"), (33, "v4")):
        library, found = Library(path), []  # whose workspace serves each level
        for calls in (of_level(library.calls, path, ""), of_level(library.calls, path, level)):
            for call, given in zip(calls, more, strict=False):
                found.append(rows[:n].copy())
                where = found[-1].ctypes.data, dt.ctypes.data, 0, *given
                how = ctypes.byref(options), None, *library._workspace()
                assert call(n, *where, *how) == 0
        for chosen, own in zip(found[:3], found[3:], strict=True):
            assert np.array_equal(chosen, own) and not np.array_equal(chosen, rows[:n])

"""The library for every CPU: each level of x86-64 that this machine runs against torch; ARM."""

import platform
import shutil
import subprocess
import sys

import numpy as np
import pytest

from combred.native import NativeSurrogate, build_portable, generate
from combred.native.compilers import LEVELS

pytestmark = pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")


@pytest.fixture(scope="module")
def portable(correcting, mechanism, tmp_path_factory):
    """The library for every CPU, in a folder of its own."""
    return build_portable(generate(correcting, mechanism), tmp_path_factory.mktemp("portable"))


@pytest.fixture
def highest(portable) -> str:
    """The level that the library has chosen on this machine."""
    level = NativeSurrogate(portable).level
    if not level:
        pytest.skip(f"levels are of x86-64, and this is {platform.machine()}")
    return level.removeprefix("x86-64-")


def test_the_library_needs_the_c_library_alone(portable):
    content = portable.read_bytes()
    for library in (b"libstdc++", b"libgcc_s", b"CXXABI", b"__gxx_personality"):
        assert library not in content


def test_the_library_gives_the_answers_of_torch(portable, require_agreement):
    require_agreement(NativeSurrogate(portable))


@pytest.mark.parametrize("level", LEVELS)
def test_each_level_gives_the_answers_of_torch(portable, highest, level, require_agreement):
    if level > highest:
        pytest.skip(f"this CPU runs {highest} at most")
    native = NativeSurrogate(portable, level)
    assert native.level == f"x86-64-{level}"
    require_agreement(native)


def test_the_highest_level_of_the_cpu_is_chosen(highest):
    """As the compiler sees this CPU with -march=native."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    asked = ["g++", "-march=native", "-E", "-dM", "-x", "c++", "/dev/null"]
    macros = set(subprocess.run(asked, capture_output=True, text=True).stdout.split())
    wanted = {"v4": "__AVX512VL__", "v3": "__AVX2__", "v2": "__SSE4_2__"}
    assert highest == next(level for level, macro in wanted.items() if macro in macros)


def test_levels_share_no_function(portable, highest, tmp_path):
    """A function of the C++ library that the linker keeps once would be that of any level.
    With -O1, fewer functions are inlined than with -O3."""
    if shutil.which("g++") is None or shutil.which("nm") is None:
        pytest.skip("needs g++ and nm")
    command = ["g++", "-std=c++17", "-O1", "-mavx2", "-mfma", "-DCOMBRED_LEVEL=v3", "-Wno-psabi"]
    command += ["-c", portable.parent / "surrogate.cpp", "-o", tmp_path / "v3.o"]
    subprocess.run(command, check=True)
    said = subprocess.run(["nm", tmp_path / "v3.o"], capture_output=True, text=True).stdout
    kinds = {line.split()[-1]: line.split()[-2] for line in said.splitlines()}
    assert {name for name, kind in kinds.items() if kind in "TVWu"} == {
        f"combred_v3_{name}" for name in ("advance", "rates", "check", "workspace_size")
    }


OTHER = """
import ctypes, sys
import numpy as np
from combred.native import NativeSurrogate
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
states = np.load(sys.argv[3])
np.save(sys.argv[3], NativeSurrogate(sys.argv[2]).integrate(states, 1e-6)[0])
"""


def test_functions_of_another_library_do_not_take_the_place_of_its_own(portable, path, tmp_path):
    """Another surrogate that the program is linked with has functions of the same names."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    names = ("advance", "rates", "check", "workspace_size")
    prefixes = ("combred_", *(f"combred_{level}_" for level in LEVELS))
    text = "".join(f"int {p}{name}(void) {{ return 77; }}\n" for p in prefixes for name in names)
    (tmp_path / "other.c").write_text(text)
    other, states = tmp_path / "other.so", path.state.numpy()
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "other.c", "-o", other], check=True)
    np.save(tmp_path / "states.npy", states)
    words = [sys.executable, "-c", OTHER, other, portable, tmp_path / "states.npy"]
    subprocess.run(words, check=True)
    known = NativeSurrogate(portable).integrate(states, 1e-6)[0]
    assert np.array_equal(np.load(tmp_path / "states.npy"), known)


def test_a_level_that_is_not_there_is_refused(compiled, portable):
    for library, level in ((compiled.library, "v3"), (portable, "v9")):
        with pytest.raises(ValueError, match=f"no code of the level '{level}'"):
            NativeSurrogate(library, level)

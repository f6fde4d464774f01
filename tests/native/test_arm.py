"""The same source on 64-bit ARM, in an emulator, against torch on this machine."""

import shutil
import subprocess
from pathlib import Path

import pytest
from compiled_program import CompiledProgram

from combred.native import generate
from combred.native.compilers import FLAGS
from combred.native.single_file import single_file
from combred.native.solver.generator import SOURCE

COMPILER, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64"

pytestmark = pytest.mark.skipif(
    any(shutil.which(name) is None for name in (COMPILER, EMULATOR)),
    reason=f"needs {COMPILER} and {EMULATOR}: `apt install g++-aarch64-linux-gnu qemu-user`",
)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")
def test_arm_gives_the_answers_of_torch(correcting, mechanism, require_agreement, tmp_path):
    (tmp_path / "surrogate.cpp").write_text(
        single_file(generate(correcting), "of ARM", "surrogate")
    )
    program = [Path(__file__).with_name("advance.c"), "-I", SOURCE]
    subprocess.run(["aarch64-linux-gnu-gcc", "-O1", "-c", *program], cwd=tmp_path, check=True)
    command = [COMPILER, *FLAGS, "-static", "surrogate.cpp", "advance.o", "-o", "advance"]
    subprocess.run(command, cwd=tmp_path, check=True)
    require_agreement(CompiledProgram(EMULATOR, tmp_path / "advance"))

"""The same source on 64-bit ARM, in an emulator: the network against torch, and the solver against
the library of this machine."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from compiled_program import CompiledProgram, require_same_answers

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
def test_arm_gives_the_answers_of_torch_and_of_this_machine(
    correcting, compiled, burning, mechanism, require_agreement, tmp_path
):
    (tmp_path / "surrogate.cpp").write_text(
        single_file(generate(correcting), "of ARM", "surrogate")
    )
    program = [Path(__file__).with_name("advance.c"), "-I", SOURCE]
    subprocess.run(["aarch64-linux-gnu-gcc", "-O1", "-c", *program], cwd=tmp_path, check=True)
    command = [COMPILER, *FLAGS, "-static", "surrogate.cpp", "advance.o", "-o", "advance"]
    subprocess.run(command, cwd=tmp_path, check=True)
    on_arm, states = CompiledProgram(EMULATOR, tmp_path / "advance"), burning[::8]
    require_agreement(on_arm)
    dt = 0.9 * compiled.dt_range[0]  # out of the training: few steps of the solver
    for tolerance in (1e-3, 1e-6):
        answers = []
        for one in (on_arm, compiled):
            found = one.attempt(states[:, 0], states[:, 1], states[:, 2:], dt, tolerance)
            later = np.column_stack([found.T, found.p, found.Y])
            answers.append((later, found.error, found.steps))
        assert answers[0][2].min() > 0
        require_same_answers(*answers, states, tolerance)

"""A program that was compiled from tests/native/advance.c and a library's source."""

import subprocess
from pathlib import Path

import numpy as np

from combred.chemistry.states import Solution, states_of

SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


class CompiledProgram:
    """`integrate` of a library by a program. command: the words that start it, the program itself
    the last."""

    def __init__(self, *command: str | Path):
        self.command = command

    def integrate(self, T, p, Y, dt: float, tolerance: float = 0.0) -> Solution:
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

"""A program that was compiled from tests/native/advance.c and a surrogate, as a solver."""

import subprocess
from pathlib import Path

import numpy as np

SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


class CompiledProgram:
    """`integrate` of a compiled surrogate by a program. command: the words that start it, the
    program itself the last."""

    def __init__(self, *command: str | Path):
        self.command = command

    def integrate(self, states: np.ndarray, dt: float) -> tuple[np.ndarray, ...]:
        """The states dt later, the error estimates and the numbers of steps. Raises
        CalledProcessError where the program fails."""
        file, n = Path(self.command[-1]).with_name("states"), len(states)
        np.concatenate([[n], states.ravel(), [dt]]).tofile(file)
        subprocess.run([*self.command, file], check=True, timeout=300, stderr=subprocess.PIPE)
        found = np.fromfile(file, float, states.size + 2 * n)
        later, error, steps = np.split(found, [states.size, states.size + n])
        return later.reshape(states.shape), error, steps.astype(np.int64)

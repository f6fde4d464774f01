"""A network in torch with the solver behind it, as an `Advance`: what a compiled surrogate does,
for one that has no C++.

Takes a `Surrogate`; gives an `Advance`. `library.choice` compiles those that have C++.
"""

import logging

from combred.chemistry.states import Real, Rows, Tolerance, steps_of
from combred.chemistry.stepper import Solution, Stepper
from combred.native.solver import Solver
from combred.surrogates.library.choice import compile
from combred.surrogates.library.generator import is_compiled
from combred.surrogates.model.surrogate import Surrogate

log = logging.getLogger(__name__)


class SolverBehind(Stepper):
    """Each state is advanced by the network where its error ratio is at most 1, else by the solver
    at the same tolerance."""

    def __init__(self, surrogate: Surrogate):
        self.surrogate = surrogate
        self.solver = Solver(surrogate.mechanism, surrogate.TOLERANCE)

    def attempt(
        self, T: Rows, p: Real, Y: Rows, dt: Real, tolerance: Tolerance = None, max_steps: int = 0
    ) -> Solution:
        """As `Stepper.attempt`; steps are 0 where the network's step was taken."""
        found = self.surrogate.attempt(T, p, Y, dt, tolerance)
        left = ~(found.error <= 1.0)
        if left.any():
            tolerance = self.surrogate.TOLERANCE if tolerance is None else tolerance
            given = found.T[left], found.p[left], found.Y[left]
            steps = steps_of(dt, len(left))[left]
            rest = self.solver.attempt(*given, steps, tolerance, max_steps)
            for name in ("T", "Y", "error", "steps"):
                getattr(found, name)[left] = getattr(rest, name)
        return found


def with_solver(surrogate: Surrogate) -> Stepper:
    """The surrogate and the solver behind its network: compiled, or in torch where the network has
    no C++ or cannot be compiled here, which the log tells."""
    try:
        if is_compiled(surrogate):
            return compile(surrogate)
    except (RuntimeError, ValueError) as error:
        log.warning("The network stays in torch, with the solver behind it: %s", error)
    return SolverBehind(surrogate)

"""Cantera's doors: states as a `SolutionArray`, and a reactor with a clock.

Takes any `Advance` (of `combred.solver`, a compiled library, a surrogate, CVODE); gives it the
interface of Cantera's samples.
"""

from typing import Any

import cantera as ct
import numpy as np

from combred.chemistry.reactor import Advance
from combred.chemistry.states import require_real

CLOSE = 1e-9  # relative difference of two times that are the same


def advance(solver: Advance, states: ct.SolutionArray, dt: float | np.ndarray) -> ct.SolutionArray:
    """The states of a `SolutionArray` dt [s] later, a float or of its shape, as a new
    one; at constant pressure, or volume where the solver says so.

    Raises ValueError where its species are not the solver's, for a dt of another shape, and as
    `Stepper.integrate`.
    """
    require_species(solver, states.species_names)
    n, shape = int(np.prod(states.shape)), states.shape
    T, p = states.T.reshape(n), states.P.reshape(n)
    Y = states.Y.reshape(n, len(states.species_names))
    steps = require_real("dt", dt)
    if steps.shape not in ((), shape):
        raise ValueError(
            f"dt has shape {steps.shape}: give one time step [s], or an array of the shape {shape} "
            "of the states"
        )
    T_next, Y_next = solver.advance(T, p, Y, steps.reshape(n) if steps.ndim else steps)
    phase: Any = states._phase
    later = ct.SolutionArray(phase, shape)  # without columns that a user has added
    T_next, Y_next = T_next.reshape(shape), Y_next.reshape(*shape, Y.shape[1])
    if at_constant_volume(solver):
        later.TDY = T_next, states.density, Y_next
    else:
        later.TPY = T_next, states.P, Y_next
    return later


class Reactor:
    """An adiabatic reactor at constant pressure, or at constant volume where the solver says so,
    with the interface of a `cantera.ReactorNet` of one reactor.

    phase: a `cantera.Solution` in the initial state, which moves with the reactor; solver: an
    `Advance` of its species; time [s]: since the beginning.
    """

    def __init__(self, phase: ct.Solution, solver: Advance):
        require_species(solver, phase.species_names)
        self.phase, self.solver, self.time = phase, solver, 0.0

    def advance(self, time: float) -> float:
        """Go to a time [s], as counted from the beginning; returns it. Raises ValueError for a time
        that has passed, and as `Stepper.integrate`."""
        gas, dt = self.phase, time - self.time
        if dt == np.inf:
            raise ValueError("time = inf s: an end has to be finite")
        if not dt >= -CLOSE * abs(time):
            raise ValueError(
                f"time = {time:g} s has passed: the reactor is at {self.time:g} s, and advance "
                "takes a time from the beginning, as Cantera's does, not a step"
            )
        if dt > CLOSE * abs(time):
            volume, density, p = at_constant_volume(self.solver), gas.density, gas.P
            T, Y = self.solver.advance(np.array([gas.T]), np.array([p]), gas.Y[None], dt)
            if volume:
                gas.TDY = T[0], density, Y[0]
            else:
                gas.TPY = T[0], p, Y[0]
            self.time = float(time)
        return self.time


def at_constant_volume(solver: Advance) -> bool:
    """Whether a solver keeps the volume of a state, not its pressure."""
    return bool(getattr(solver, "volume", False))


def require_species(solver: Advance, names: list[str]) -> None:
    """ValueError where the species of a phase are not those of the solver, in its order."""
    known = species_of(solver)
    if known != list(names):
        raise ValueError(
            f"the phase has the species {' '.join(names)}, and the solver {' '.join(known)}: give "
            "a cantera.Solution of the solver's mechanism, as solver.mechanism.solution()"
        )


def species_of(solver: Advance) -> list[str]:
    """The names of the species of a solver, a library, a surrogate or CVODE."""
    for owner, name in (("library", "species"), ("mechanism", "species_names")):
        if hasattr(solver, owner):
            return list(getattr(getattr(solver, owner), name))
    raise ValueError(f"{type(solver).__name__} does not say what its species are")

"""Chemistry over a time step: the interface `Advance`, and the base class `Stepper`.

`Advance` stands between chemistry and all that tests or uses it: CVODE, solvers, compiled libraries
and surrogates are each one, the last three as a `Stepper`. It takes states as a user gives them,
and gives those dt later, or a ValueError that names the rows that are no states, or that could not
be advanced.
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Protocol, Self

import numpy as np

from combred.chemistry.states import (
    HIGHEST_T,
    LOWEST_T,
    Real,
    Rows,
    Tolerance,
    first_of,
    steps_of,
    wrong_with,
)

PACKAGE = str(Path(__file__).parents[1])  # the folder of combred
USUAL_P = 100.0, 1e8  # Pa: outside it a unit was probably another


class Advance(Protocol):
    """Chemistry over a time step dt, at constant pressure and enthalpy."""

    def advance(self, T: Rows, p: Rows, Y: Rows, dt: Real) -> tuple[Rows, Rows]:
        """T (n,) [K] and Y (n, n_species) of the states T (n,) [K], p (n,) [Pa], Y (n, n_species),
        dt [s] later: one positive time step for all, or one for each state (n,). Raises ValueError
        for other arrays (`states_of`), another dt (`steps_of`), and where rows are no states or
        cannot be advanced (`require_advanced`)."""
        ...


@dataclass(frozen=True)
class Solution:
    """States after an integration. T (n,) [K], p (n,) [Pa], Y (n, n_species); error (n,): the
    largest error estimate of the steps over the tolerance, infinite for a state that was not
    advanced, which is as it was; steps (n,), int64: how many the solver tried."""

    T: np.ndarray
    p: np.ndarray
    Y: np.ndarray
    error: np.ndarray
    steps: np.ndarray

    def or_nan(self) -> tuple[Rows, Rows]:
        """T and Y, NaN of the states that were not advanced."""
        lost = ~(self.error <= 1.0)
        return np.where(lost, np.nan, self.T), np.where(lost[:, None], np.nan, self.Y)


class Stepper:
    """Whatever advances states by a method `attempt`: its checks, and the interface `Advance`."""

    warns: bool = True  # of an unusual pressure

    def advance(
        self, T: Rows, p: Real, Y: Rows, dt: Real, tolerance: Tolerance = None
    ) -> tuple[Rows, Rows]:
        """T (n,) [K] and Y (n, n_species) of the states T (n,) [K], p [Pa], Y (n, n_species), dt
        [s] later; p and dt: one for all, or (n,). tolerance: None for the default. Raises
        ValueError as `integrate`."""
        found = self.checked(self.attempt(T, p, Y, dt, tolerance), dt)
        self.warn_of(p)
        return found.T, found.Y

    def integrate(
        self, T: Rows, p: Real, Y: Rows, dt: Real, tolerance: Tolerance = None, max_steps: int = 0
    ) -> Solution:
        """As `advance`, with the errors and steps of each state. max_steps: the largest number of
        steps of a state, 0 for the usual limit.

        Raises ValueError for other shapes, for a dt or a tolerance that is not positive and finite,
        and where rows are no states or could not be advanced, with the first of them, what is wrong
        and a hint. Warns where p is far outside what is usual.
        """
        found = self.checked(self.attempt(T, p, Y, dt, tolerance, max_steps), dt)
        self.warn_of(p)
        return found

    def checked(self, found: Solution, dt: Real) -> Solution:
        """What was found of states over dt [s], as `integrate` returns it, without its warning."""
        require_advanced(found, lambda i: self._why(found, i, steps_of(dt, len(found.T))[i]))
        return found

    def warn_of(self, p: Real) -> None:
        """`warn_of_pressure` of p [Pa], one for all or (n,), unless a function that calls this one
        has done so."""
        if self.warns:
            warn_of_pressure(p, self.usual_p())

    def warned_of(self, p: Real) -> Self:
        """This one for the calls of a function with states at p [Pa], which warns once."""
        self.warn_of(p)
        quiet = object.__new__(type(self))  # copy.copy would look for a library again
        quiet.__dict__ |= self.__dict__ | {"warns": False}
        return quiet

    def attempt(
        self, T: Rows, p: Real, Y: Rows, dt: Real, tolerance: Tolerance = None, max_steps: int = 0
    ) -> Solution:
        """As `integrate`, for those who judge: a row that is no state or cannot be advanced is
        returned as it was, with an infinite error."""
        raise NotImplementedError

    def usual_p(self) -> tuple[float, float]:
        """The pressures [Pa] outside which a warning is given."""
        return USUAL_P

    def _why(self, found: Solution, i: int, dt: float) -> str:
        """Why the state of row i, which is valid, was not advanced over dt [s], and the remedy."""
        return (
            f"after {found.steps[i]} steps it had not reached dt = {dt:g} s, or T had left "
            f"{LOWEST_T:g} to {HIGHEST_T:g} K: take a shorter dt, or a larger tolerance"
        )


def warn_of_pressure(p: Real, usual: tuple[float, float] = USUAL_P) -> None:
    """Warn where a pressure [Pa], one for all or (n,), is outside the usual ones, at the line that
    calls combred; Python tells it once for each line."""
    (low, high), values = usual, np.asarray(p)
    if values.size and (values.min() < low or values.max() > high):
        frame: FrameType | None = sys._getframe()
        level = 0
        while frame and frame.f_code.co_filename.startswith(PACKAGE):
            frame, level = frame.f_back, level + 1
        warnings.warn(
            f"p of some states is far from {low:g} to {high:g} Pa: is it in Pa, not in atm?",
            stacklevel=level + 1,
        )


def advance_each(solver: Advance, T: Rows, p: Rows, Y: Rows, dt: Real) -> tuple[Rows, Rows]:
    """As `Advance.advance`; a row that cannot be advanced is NaN where the solver tells which it
    is (`Stepper.attempt`): one that fails does not stop the others."""
    attempt = getattr(solver, "attempt", None)
    return attempt(T, p, Y, dt).or_nan() if attempt else solver.advance(T, p, Y, dt)


def require_advanced(found: Solution, why: Callable[[int], str]) -> None:
    """ValueError where an error of a solution exceeds 1, with the first rows; why: of a row that is
    a valid state, the reason and the remedy."""
    if found.error.max(initial=0.0) <= 1.0:
        return
    bad = np.flatnonzero(~(found.error <= 1.0))
    i = int(bad[0])
    wrong = wrong_with(found.T[i], found.p[i], found.Y[i])
    raise ValueError(
        f"{bad.size} of {len(found.T)} states cannot be advanced ({first_of(bad)} has "
        f"T = {found.T[i]:g} K, p = {found.p[i]:g} Pa, sum Y = {found.Y[i].sum():g}: "
        + (wrong or why(i))
    )

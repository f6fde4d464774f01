"""States as arrays, and what all that advances states has in common: `Stepper`.

Takes T, p, Y and dt as a user gives them; gives float64 arrays, or a ValueError that names the rows
that are no states, or that could not be advanced, with a hint.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# Of a state that is valid, as in source/solver/closure.hpp and thermo.hpp.
LOWEST_T, HIGHEST_T, HIGHEST_P = 100.0, 6000.0, 1e30  # K, K, Pa
LEAST_Y, OFF_SUM = -1e-6, 1e-3  # of a mass fraction; of the sum of all from 1
USUAL_P = 100.0, 1e8  # Pa: outside it a unit was probably another
NETWORK_TOLERANCE = 0.01  # the default of surrogates
FAR = 10.0  # times below or above the pressures of a training
VALID = (
    f"a state has T from {LOWEST_T:g} to {HIGHEST_T:g} K (not °C), p in Pa (not atm), no Y below "
    f"{LEAST_Y:g}, and Y with the sum 1"
)
Real = np.ndarray | float


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

    def or_nan(self) -> tuple[np.ndarray, np.ndarray]:
        """T and Y, NaN of the states that were not advanced."""
        lost = ~(self.error <= 1.0)
        return np.where(lost, np.nan, self.T), np.where(lost[:, None], np.nan, self.Y)


class Stepper:
    """Whatever advances states by a method `attempt`: its checks, and the interface `Advance`
    (`combred.chemistry.reactor`)."""

    def advance(
        self, T: np.ndarray, p: Real, Y: np.ndarray, dt: Real, tolerance: float | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """T (n,) [K] and Y (n, n_species) of the states T (n,) [K], p [Pa], Y (n, n_species), dt
        [s] later; p and dt: one for all, or (n,). tolerance: None for the default. Raises
        ValueError as `integrate`."""
        found = self._checked(self.attempt(T, p, Y, dt, tolerance), p, dt)
        return found.T, found.Y

    def integrate(
        self,
        T: np.ndarray,
        p: Real,
        Y: np.ndarray,
        dt: Real,
        tolerance: float | None = None,
        max_steps: int = 0,
    ) -> Solution:
        """As `advance`, with the errors and steps of each state. max_steps: the largest number of
        steps of a state, 0 for the usual limit.

        Raises ValueError for other shapes, for a dt or a tolerance that is not positive and finite,
        and where rows are no states or could not be advanced, with the first of them, what is wrong
        and a hint. Warns where p is far outside what is usual.
        """
        return self._checked(self.attempt(T, p, Y, dt, tolerance, max_steps), p, dt)

    def _checked(self, found: Solution, p: Real, dt: Real) -> Solution:
        """What was found of states at p [Pa] over dt [s], as `integrate` returns it."""
        require_advanced(found, lambda i: self._why(found, i, steps_of(dt, len(found.T))[i]))
        (low, high), given = self.usual_p(), np.asarray(p)
        if given.size and (given.min() < low or given.max() > high):
            # At the line of the program that calls; Python tells it once for each.
            warnings.warn(
                f"p of some states is far from {low:g} to {high:g} Pa: is it in Pa, not in atm?",
                stacklevel=3,
            )
        return found

    def attempt(
        self,
        T: np.ndarray,
        p: Real,
        Y: np.ndarray,
        dt: Real,
        tolerance: float | None = None,
        max_steps: int = 0,
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
            f"{found.steps[i]} steps were not enough for dt = {dt:g} s: take a shorter dt, or a "
            "larger tolerance"
        )


def is_state(states: np.ndarray) -> np.ndarray:
    """(n,) bool: whether rows [T, p, Y] (n, 2 + n_species) are valid states."""
    T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    with np.errstate(invalid="ignore", over="ignore"):
        valid = (T >= LOWEST_T) & (T <= HIGHEST_T) & (p > 0.0) & (p < HIGHEST_P)
        return valid & (Y >= LEAST_Y).all(1) & (np.abs(Y.sum(1) - 1.0) < OFF_SUM)


def wrong_with(T: float, p: float, Y: np.ndarray) -> str:
    """What is wrong with a state T [K], p [Pa], Y (n_species,), and a hint; "" of a valid one."""
    k = int(np.argmin(np.where(np.isfinite(Y), Y, -np.inf)))
    if not np.isfinite([T, p, *Y]).all():
        return "it has values that are not finite"
    if not LOWEST_T <= T <= HIGHEST_T:
        hint = " (was it in °C?)" if T < LOWEST_T else " (are the rows T, p, Y?)"
        return f"T is not from {LOWEST_T:g} to {HIGHEST_T:g} K{hint}"
    if not 0.0 < p < HIGHEST_P:
        return "p is not positive" if p <= 0.0 else "p is too large"
    if Y[k] < LEAST_Y:
        return f"Y of species {k} is {Y[k]:g}"
    if not abs(Y.sum() - 1.0) < OFF_SUM:
        return "the sum of Y is not 1 (are the rows mass fractions, of all species?)"
    return ""


def require_advanced(found: Solution, why: Callable[[int], str]) -> None:
    """ValueError where an error of a solution exceeds 1, with the first rows; why: of a row that is
    a valid state, the reason and the remedy."""
    if found.error.max(initial=0.0) <= 1.0:
        return
    bad = np.flatnonzero(~(found.error <= 1.0))
    i = int(bad[0])
    wrong = wrong_with(found.T[i], found.p[i], found.Y[i])
    raise ValueError(
        f"{bad.size} of {len(found.T)} states cannot be advanced ({_first(bad)} has "
        f"T = {found.T[i]:g} K, p = {found.p[i]:g} Pa, sum Y = {found.Y[i].sum():g}: "
        + (f"{wrong}; {VALID}" if wrong else why(i))
    )


def require_rates(states: np.ndarray) -> np.ndarray:
    """States [T, p, Y] (n, 2 + n_species) that have rates. Raises ValueError where a row is not
    finite, or its T or p is not that of a state; its Y may be those of no mixture."""
    T, p = states[:, 0], states[:, 1]
    good = (T >= LOWEST_T) & (T <= HIGHEST_T) & (p > 0.0) & (p < HIGHEST_P)
    bad = np.flatnonzero(~(good & np.isfinite(states).all(1)))
    if bad.size:
        i = int(bad[0])
        raise ValueError(
            f"{bad.size} of {len(states)} states have no rates ({_first(bad)} has "
            f"T = {T[i]:g} K, p = {p[i]:g} Pa: {wrong_with(T[i], p[i], states[i, 2:])}; {VALID}"
        )
    return states


def _first(bad: np.ndarray) -> str:
    """The first of the rows (n,), as text that goes on with the first one."""
    return f"rows {', '.join(map(str, bad[:5]))}{', ...' if bad.size > 5 else ''}); the first"


def states_of(T: np.ndarray, p: Real, Y: np.ndarray) -> np.ndarray:
    """The states [T, p, Y] (n, 2 + n_species), float64, of T (n,) [K], p [Pa], one for all or (n,),
    and Y (n, n_species) [-]: arrays or lists of real numbers of any type.

    Raises ValueError for other shapes, and for what is not real numbers.
    """
    T, p, Y = require_real("T", T), require_real("p", p), require_real("Y", Y)
    if T.ndim != 1 or p.shape not in ((), T.shape) or Y.ndim != 2 or len(Y) != len(T):
        raise ValueError(
            "T and p have the shape (n,), one value for each of n states, and Y (n, n_species); "
            f"these have the shapes {T.shape}, {p.shape} and {Y.shape}"
            + (": of one state give [T], p and [Y]" if T.ndim == 0 and Y.ndim == 1 else "")
        )
    states = np.empty((len(T), 2 + Y.shape[1]))
    states[:, 0], states[:, 1], states[:, 2:] = T, p, Y
    return states


def require_columns(shape: tuple[int, ...], columns: int) -> None:
    """ValueError unless the shape is that of states [T, p, Y] of so many columns."""
    if len(shape) != 2 or shape[1] != columns:
        raise ValueError(
            f"states have the shape (n, {columns}): T [K], p [Pa] and mass fractions Y of "
            f"{columns - 2} species; these have shape {tuple(shape)}"
        )


def steps_of(dt: Real, n: int) -> np.ndarray:
    """The time step of each of n states, (n,) float64 [s]; dt: one for all, or an array (n,).

    Raises ValueError for another shape, for what is not real numbers, and for a time step that is
    not positive and finite.
    """
    steps = require_real("dt", dt)
    if steps.shape not in ((), (n,)):
        raise ValueError(
            f"dt has shape {steps.shape}, and there are {n} states: give one time step [s] for all "
            f"of them, or an array ({n},)"
        )
    if steps.size and not 0.0 < steps.min() <= steps.max() < np.inf:
        bad = steps[~((steps > 0.0) & (steps < np.inf))]
        raise ValueError(f"dt = {bad[0]} s: a time step has to be positive and finite")
    found = np.empty(n)
    found[:] = steps
    return found


def require_tolerance(tolerance: float) -> float:
    """ValueError unless a tolerance is positive and finite."""
    if not 0.0 < tolerance < np.inf:
        raise ValueError(f"the tolerance has to be positive and finite, and this is {tolerance}")
    return tolerance


def require_real(name: str, values: Real) -> np.ndarray:
    """Real numbers as float64. Complex numbers, text, times and objects are refused: a conversion
    would drop an imaginary part or a unit without a word."""
    try:
        found = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"{name} is not an array of numbers: {error}") from error
    if not np.can_cast(found.dtype, np.float64, "same_kind"):
        raise ValueError(f"{name} has to be real numbers; this is of type {found.dtype}")
    return found.astype(np.float64, copy=False)

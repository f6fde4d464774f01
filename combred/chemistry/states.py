"""States as arrays.

Takes T, p, Y and dt as a user gives them; gives float64 arrays, or a ValueError that says what is
wrong with them, with a hint.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from combred.config.fields import one_line

# Of a state that is valid, also in C++.
LOWEST_T, HIGHEST_T, HIGHEST_P = 100.0, 6000.0, 1e30  # K, K, Pa
LOWEST_Y, OFF_SUM = -1e-6, 1e-3  # of a mass fraction; of the sum of all from 1
Real = np.ndarray | float
Rows = NDArray[np.float64]  # of states: (n,), or (n, n_species)
Tolerance = float | None  # None: the default


def is_state(states: np.ndarray) -> np.ndarray:
    """(n,) bool: whether rows [T, p, Y] (n, 2 + n_species) are valid states."""
    T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    with np.errstate(invalid="ignore", over="ignore"):
        valid = (T >= LOWEST_T) & (T <= HIGHEST_T) & (p > 0.0) & (p < HIGHEST_P)
        return valid & (Y >= LOWEST_Y).all(1) & (np.abs(Y.sum(1) - 1.0) < OFF_SUM)


def wrong_with(T: float, p: float, Y: np.ndarray) -> str:
    """What is wrong with a state T [K], p [Pa], Y (n_species,), and a hint; "" of a valid one."""
    k = int(np.argmin(np.where(np.isfinite(Y), Y, -np.inf)))
    for name, number in {"T": T, "p": p, f"Y[{k}]": Y[k]}.items():
        if not np.isfinite(number):
            return f"{name} is {number:g}, not finite"
    if not LOWEST_T <= T <= HIGHEST_T:
        hint = " (was it in °C?)" if T < LOWEST_T else " (are the rows T, p, Y?)"
        return f"T is not from {LOWEST_T:g} to {HIGHEST_T:g} K{hint}"
    if not 0.0 < p < HIGHEST_P:
        return "p is not positive" if p <= 0.0 else "p is too large"
    if Y[k] < LOWEST_Y:
        return f"Y[{k}] is {Y[k]:g}, below {LOWEST_Y:g}"
    if not abs(Y.sum() - 1.0) < OFF_SUM:
        return "the sum of Y is not 1 (are the rows mass fractions, of all species?)"
    return ""


def require_rates(states: np.ndarray) -> np.ndarray:
    """States [T, p, Y] (n, 2 + n_species) that have rates. Raises ValueError where a row is not
    finite, or its T or p is not that of a state; its Y may be those of no mixture."""
    T, p = states[:, 0], states[:, 1]
    good = (T >= LOWEST_T) & (T <= HIGHEST_T) & (p > 0.0) & (p < HIGHEST_P)
    bad = np.flatnonzero(~(good & np.isfinite(states).all(1)))
    if bad.size:
        i = int(bad[0])
        raise ValueError(
            f"{bad.size} of {len(states)} states have no rates ({first_of(bad)} has "
            f"T = {T[i]:g} K, p = {p[i]:g} Pa: {wrong_with(T[i], p[i], states[i, 2:])}"
        )
    return states


def require_states(states: np.ndarray, what: str = "states") -> np.ndarray:
    """States [T, p, Y] (n, 2 + n_species) that are valid. Raises ValueError for others."""
    bad = np.flatnonzero(~is_state(states))
    if bad.size:
        T, p, Y = states[bad[0], 0], states[bad[0], 1], states[bad[0], 2:]
        raise ValueError(
            f"{bad.size} of {len(states)} {what} are not valid ({first_of(bad)} has T = {T:g} K, "
            f"p = {p:g} Pa: {wrong_with(T, p, Y)}"
        )
    return states


def first_of(bad: np.ndarray) -> str:
    """The first of the rows (n,), as text that goes on with the first one."""
    named = ", ".join(map(str, bad[:5])) + ", ..." * (bad.size > 5)
    return f"row{'s' * (bad.size > 1)} {named}); the first"


def states_of(T: np.ndarray, p: Real, Y: np.ndarray) -> np.ndarray:
    """The states [T, p, Y] (n, 2 + n_species), float64, of T (n,) [K], p [Pa], one for all or (n,),
    and Y [-], one composition (n_species,) for all or (n, n_species): arrays or lists of real
    numbers of any type. A Y with one axis is a composition, also where n is n_species.

    Raises ValueError for other shapes, and for what is not real numbers.
    """
    T, p, Y = require_real("T", T), require_real("p", p), require_real("Y", Y)
    one = ": of one state give [T], p and Y" if T.ndim == 0 and Y.ndim == 1 else ""
    for name, array, fits, expected in (
        ("T", T, T.ndim == 1, "(n,), one value for each of n states"),
        ("p", p, p.shape in ((), T.shape), f"({T.size},), as T is, or one number"),
        (
            "Y",
            Y,
            Y.ndim and Y.shape[:-1] in ((), T.shape),
            f"({T.size}, n_species), a row for each T, or (n_species,), one for all",
        ),
    ):
        if not fits:
            raise ValueError(f"{name} has the shape {array.shape}: it has to be {expected}{one}")
    states = np.empty((len(T), 2 + Y.shape[-1]))
    states[:, 0], states[:, 1], states[:, 2:] = T, p, Y
    return states


def require_columns(shape: tuple[int, ...], columns: int) -> None:
    """ValueError unless the shape is that of states [T, p, Y] of so many columns."""
    if len(shape) != 2 or shape[1] != columns:
        raise ValueError(
            f"there are {columns - 2} species, and Y has {shape[-1] - 2} columns: states [T, p, Y] "
            f"have the shape (n, {columns}), and these {tuple(shape)}"
        )


def steps_of(dt: Real, n: int) -> np.ndarray:
    """The time step of each of n states, (n,) float64 [s]; dt: one for all, or an array (n,).

    Raises ValueError for another shape, for what is not real numbers, and for a time step that is
    not positive and finite.
    """
    if type(dt) is float and 0.0 < dt < np.inf:  # the usual one, without the time of a step
        return np.full(n, dt)
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
    if type(tolerance) is float and 0.0 < tolerance < np.inf:
        return tolerance
    found = require_real("tolerance", tolerance)
    if found.ndim or not 0.0 < found < np.inf:
        raise ValueError(f"the tolerance has to be positive and finite, and this is {tolerance}")
    return float(found)


def require_real(name: str, values: Any) -> np.ndarray:
    """Real numbers as float64. Complex numbers, text, times, truth values and objects are refused:
    a conversion would drop an imaginary part or a unit without a word; so are masked values, which
    an array without its mask would show."""
    if type(values) is np.ndarray and values.dtype == np.float64 or type(values) is float:
        return np.asarray(values)
    parts = values if isinstance(values, list | tuple) else [values]
    if any(map(np.ma.is_masked, parts)):
        raise ValueError(f"{name} has masked values: give the states without them")
    try:
        found = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"{name} is not an array of numbers: {error}") from error
    except (RuntimeError, TypeError, NotImplementedError) as error:  # a tensor of torch
        raise ValueError(
            f"{name} cannot be read as an array ({one_line(error)}): give "
            f"{name}.detach().cpu().double().numpy()"
        ) from error
    truth = found.dtype == bool
    if isinstance(values, list | tuple):  # in which a truth value would become a number
        truth |= any(isinstance(one, bool | np.bool_) for one in np.asarray(values, object).flat)
    if truth or not np.can_cast(found.dtype, np.float64, "same_kind"):
        kind = "bool" if truth else found.dtype
        raise ValueError(f"{name} has to be real numbers; this is of type {kind}")
    return found.astype(np.float64, copy=False)

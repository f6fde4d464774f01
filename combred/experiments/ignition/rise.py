"""By how much does T rise in an ignition?

Takes states; gives the temperature at half of their rise, by which an ignition is judged. The rise
is that to equilibrium, or to the largest T on the path of a gas that becomes hotter than its
equilibrium. A gas whose T rises by less than `LEAST` does not react.
"""

import warnings
from collections.abc import Iterable

import numpy as np

from combred.chemistry.equilibrium import equilibrium
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.states import Rows, Tolerance
from combred.chemistry.stepper import Stepper

# K. A smaller rise is that of a gas that does not react: the solver's floor of an error is 1 K.
LEAST = 1.0
# K. No equilibrium is computed of gas whose T rises by more: it has ignited, not smouldered.
PLAIN = 600.0
# K. Of gas whose T rises by less, the largest T on the path is looked for: it may be far above.
SMALL = 50.0
# Time of the first state in which the largest T on a path is looked for, as a share of the whole.
FIRST = 1e-9
# Ratio of the times of two such states.
GROWTH = 2.0


def half_way(T: Rows, hottest: Rows) -> Rows:
    """T (n,) [K] at half of the rise to the `hottest` (n,) [K]; infinite where that is less than
    `LEAST`, NaN where `hottest` is."""
    return np.where(hottest - T < LEAST, np.inf, 0.5 * (T + hottest))


def half_to_equilibrium(mechanism: Mechanism, T: Rows, p: Rows, Y: Rows) -> Rows:
    """`half_way` to equilibrium at constant pressure, of states T (n,) [K], p (n,) [Pa], Y (n,
    n_species)."""
    return half_way(T, equilibrium(mechanism.solution(transport=False), T, p, Y)[0])


def equilibrium_T(solver: Stepper, T: Rows, p: Rows, Y: Rows) -> Rows:
    """T (n,) [K] at equilibrium in the reactor of a solver; NaN where Cantera finds none, without a
    mechanism, and at constant density and enthalpy, which no equilibrium of Cantera has."""
    mechanism, volume = getattr(solver, "mechanism", None), getattr(solver, "volume", False)
    if mechanism is None or volume and getattr(solver, "enthalpy", False):
        return np.full(len(T), np.nan)
    gas = mechanism.solution(transport=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return equilibrium(gas, T, p, Y, "UV" if volume else "HP")[0]


def hottest_T(
    solver: Stepper, begin: tuple[Rows, Rows, Rows], longest: float, tolerance: Tolerance = None
) -> Rows:
    """The T (n,) [K] to which states begin = T, p, Y rise: that after `longest` [s] or at
    equilibrium, whichever is higher, or the largest on their path (`or_largest_T`). NaN where
    nothing is known."""
    T, p, Y = begin
    hottest = solver.attempt(T, p, Y, np.full(len(T), longest), tolerance).or_nan()[0]
    doubtful = np.flatnonzero(~(hottest > T + PLAIN))
    if len(doubtful):
        burnt = equilibrium_T(solver, T[doubtful], p[doubtful], Y[doubtful])
        hottest[doubtful] = np.fmax(hottest[doubtful], burnt)
    return or_largest_T(solver, begin, hottest, longest, tolerance)


def or_largest_T(
    solver: Stepper,
    begin: tuple[Rows, Rows, Rows],
    burnt: Rows,
    longest: float,
    tolerance: Tolerance = None,
) -> Rows:
    """The T (n,) [K] of burnt gas; where it is not `SMALL` above the initial one, or NaN, the
    largest T in states on the path until `longest` [s], at times that grow by `GROWTH`, if that is
    higher. NaN of a state that the solver cannot advance at all."""
    cold = np.flatnonzero(~(burnt - begin[0] >= SMALL))
    (T, p, Y), t, largest = (x[cold] for x in begin), 0.0, np.full(len(cold), np.nan)
    live = np.arange(len(cold))
    for end in times_until(longest):
        if not len(live):
            break
        solution = solver.attempt(T, p, Y, np.full(len(T), end - t), tolerance)
        fine, t = solution.error <= 1.0, end
        T, p, Y, live = solution.T[fine], solution.p[fine], solution.Y[fine], live[fine]
        largest[live] = np.fmax(largest[live], T)
    hottest = burnt.copy()
    hottest[cold] = np.fmax(burnt[cold], largest)
    return hottest


def times_until(longest: float) -> Iterable[float]:
    """Times [s] that grow by `GROWTH` until `longest`."""
    count = int(np.ceil(-np.log(FIRST) / np.log(GROWTH)))
    return longest * GROWTH ** np.arange(-count, 1.0)

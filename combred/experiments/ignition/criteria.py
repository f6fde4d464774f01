"""Ignition delays of many mixtures at once, by the usual criteria.

Takes a compiled solver and mixtures; gives their delays. A delay that is the time to a temperature
is one call of the solver; one at a maximum is looked for in short steps around the ignition.
"""

import functools
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from combred.chemistry.equilibrium import equilibrium
from combred.chemistry.states import (
    Real,
    Rows,
    Tolerance,
    require_columns,
    require_real,
    require_states,
    states_of,
)
from combred.chemistry.stepper import Stepper
from combred.experiments.ignition.maxima import MARGIN, Way, maximum
from combred.experiments.ignition.rollout import IGNITED
from combred.native.solver.library import Integrator, require_adiabatic

LONGEST = 10.0  # s
SHORTEST = 1e-5  # s, the first time within which a delay is looked for
LONGER = 10.0  # the next, as often as needed: steps are shorter where the whole time is
BLOCK = 1024  # mixtures whose states are kept on their way
SAMPLES = 60  # steps of a delay in which stages are looked for
STAGE, LULL = 20.0, 0.3  # K, of a first stage; dT/dt after it, a share of that in it
REALS = float, int, np.floating, np.integer
SPECIES = re.compile(r"peak (\S+)")


def ignition_delay(  # noqa: PLR0913
    solver: Integrator,
    T: Rows,
    p: Real,
    Y: Rows,
    criterion: str | float = "max dT/dt",
    longest: float = LONGEST,
    tolerance: Tolerance = None,
    threads: int = 1,
) -> Rows:
    """The ignition delays (n,) [s] of mixtures T (n,) [K], p [Pa], one for all or (n,), and Y (n,
    n_species), in adiabatic reactors of the solver, which is `combred.solver(...)`: at constant
    pressure, or at constant volume with `volume=True`.

    criterion: "max dT/dt" is the time at which T rises fastest; a number, that at which T has risen
    by so many kelvin; "half rise", by half the way to equilibrium; "peak OH", or of another
    species, that of its largest mass fraction, until it falls by 30 % after the ignition; "first
    stage", of the largest dT/dt before a lull, where there are two stages. Infinite where the
    mixture does not ignite within `longest` [s], or has no such stage or peak; for maxima and
    stages, T has to rise by 400 K. NaN where the solver fails. tolerance: of the solver, as in
    `advance`; threads: how many share the mixtures.

    Raises ValueError for another criterion, for states that are not valid, and for an isothermal
    solver.
    """
    require_adiabatic(solver, "an ignition delay is that of a rise of T")
    states, kind = states_of(T, p, Y), _kind(solver, criterion)
    require_columns(states.shape, 2 + len(solver.library.species))
    require_states(states, "mixtures")
    if not isinstance(threads, int | np.integer) or threads < 1:
        raise ValueError(f"threads={threads!r}: give a whole number of at least 1")
    if np.ndim(longest) or not 0.0 < require_real("longest", longest) < np.inf:
        raise ValueError(f"longest={longest!r}: give a positive time [s]")
    find = functools.partial(_delays, solver, kind, longest, tolerance)
    if threads == 1:
        return find(states)
    with ThreadPoolExecutor(threads) as pool:
        parts = pool.map(find, np.array_split(states, min(4 * threads, max(len(states), 1))))
        return np.concatenate(list(parts))


def _kind(solver: Integrator, criterion: str | float) -> str | float | int:
    """A criterion, or for the peak of a species its index. Raises ValueError for another."""
    if isinstance(criterion, str):
        if criterion in ("max dT/dt", "half rise", "first stage"):
            return criterion
        if named := SPECIES.fullmatch(criterion):
            names = solver.library.species
            alike = [name for name in names if name.lower() == named[1].lower()]
            if named[1] in names or len(alike) == 1:
                return names.index(named[1] if named[1] in names else alike[0])
            which = f"several: {', '.join(alike)}" if alike else f"no species {named[1]}"
            raise ValueError(f"criterion={criterion!r}: the mechanism has {which}")
    elif isinstance(criterion, REALS) and not isinstance(criterion, bool) and criterion > 0.0:
        return float(criterion)
    raise ValueError(
        f"criterion={criterion!r}: give 'max dT/dt', 'half rise', 'first stage', 'peak OH' (any "
        "species), or the rise of T [K], which is positive"
    )


def _delays(
    solver: Integrator,
    kind: str | float | int,
    longest: float,
    tolerance: Tolerance,
    states: np.ndarray,
) -> Rows:
    """The delays of states [T, p, Y] (n, 2 + n_species)."""
    begin = T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    if kind == "half rise":
        half = 0.5 * (T + _burnt(solver, *begin))
        half[half <= T] = np.inf  # hotter than its equilibrium: it does not ignite
        return times_to(solver, begin, half, longest, tolerance)
    if isinstance(kind, float):
        return times_to(solver, begin, T + kind, longest, tolerance)
    delay = _search(solver, begin, T + IGNITED, longest, tolerance)
    ignites = np.flatnonzero(np.isfinite(delay))
    if not len(ignites):
        return delay
    found = delay.copy()
    if kind == "first stage":
        begin = T[ignites], p[ignites], Y[ignites]
        mark = first_stage(solver, begin, begin[0] + IGNITED, delay[ignites], tolerance)
        found[ignites] = times_to(solver, begin, mark, longest, tolerance)
    else:
        species = kind if isinstance(kind, int) else None
        for some in np.array_split(ignites, -(-len(ignites) // BLOCK)):
            way = Way(solver, tolerance, species, T[some] + IGNITED)
            found[some] = maximum(way, states[some], delay[some])
    return found


def _burnt(solver: Integrator, T: Rows, p: Rows, Y: Rows) -> Rows:
    """T (n,) [K] at equilibrium."""
    if not hasattr(solver, "mechanism"):
        raise ValueError("criterion='half rise' takes a combred.solver, which has a mechanism")
    if solver.volume and solver.enthalpy:
        raise ValueError(
            "criterion='half rise' has no equilibrium at constant density and enthalpy: give a "
            "rise of T [K]"
        )
    gas = solver.mechanism.solution(transport=False)
    return equilibrium(gas, T, p, Y, "UV" if solver.volume else "HP")[0]


# -- times to a temperature ------------------------------------------------------------------------


def times_to(
    solver: Integrator,
    begin: tuple[Rows, Rows, Rows],
    until: Rows,
    longest: float = LONGEST,
    tolerance: Tolerance = None,
) -> Rows:
    """The times (n,) [s] at which states begin = T, p, Y pass the temperatures `until` (n,) [K];
    infinite where they do not within `longest` [s]. As `Integrator.time_to`, but each is computed
    in a call whose time is about its own, which decides how accurate it is."""
    times = _search(solver, begin, until, longest, tolerance)
    found = np.flatnonzero(np.isfinite(times) & (times > 0.0))
    if len(found):
        (T, p, Y), limits = (x[found] for x in begin), MARGIN * times[found]
        times[found] = solver.time_to(T, p, Y, until[found], limits, tolerance)
    return times


def _search(
    solver: Integrator,
    begin: tuple[Rows, Rows, Rows],
    until: Rows,
    longest: float,
    tolerance: Tolerance,
) -> Rows:
    """`times_to`, each of the first call in which it is found."""
    times, limit = np.full(len(until), np.inf), min(SHORTEST, longest)
    late = np.flatnonzero(np.isfinite(until))
    while len(late):
        T, p, Y = (x[late] for x in begin)
        times[late] = solver.time_to(T, p, Y, until[late], limit, tolerance)
        late = late[np.isinf(times[late])]
        if limit >= longest:
            break
        limit = min(LONGER * limit, longest)
    return times


# -- two stages ------------------------------------------------------------------------------------


def first_stage(
    solver: Stepper,
    begin: tuple[np.ndarray, np.ndarray, np.ndarray],
    half: np.ndarray,
    delay: np.ndarray,
    tolerance: Tolerance = None,
) -> np.ndarray:
    """The T (n,) [K] of a first stage: where dT/dt is largest before a lull, in which it is below
    `LULL` of that; NaN where T rises by less than `STAGE` before it, or there is no lull."""
    T, p, Y = begin
    dt, found, marched = delay / SAMPLES, np.full(len(T), np.nan), [T]
    for _ in range(SAMPLES):
        after = solver.attempt(T, p, Y, dt, tolerance)
        T, p, Y = after.T, after.p, after.Y
        marched.append(T)
    rows = np.array(marched)
    T = marched[0]
    for i in range(len(T)):
        path = rows[: int((rows[:, i] < half[i]).sum()) + 1, i]
        rise = np.diff(path)
        lull = (rise < LULL * np.maximum.accumulate(rise)) & (path[:-1] > T[i] + STAGE)
        if lull[:-1].any():
            k = int(np.argmax(rise[: int(np.argmax(lull))]))
            mark = 0.5 * (path[k] + path[k + 1])
            found[i] = mark if mark > T[i] else np.nan  # pyrolysis cools the gas at first
    return found

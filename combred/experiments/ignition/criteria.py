"""Ignition delays of many mixtures at once, by the usual criteria.

Takes a compiled solver and mixtures; gives their delays. A delay that is the time to a temperature
is one call of the solver; one at a maximum is looked for in short steps around the ignition.
"""

import functools
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from combred.chemistry.species_names import species_index
from combred.chemistry.states import (
    Real,
    Rows,
    Tolerance,
    require_columns,
    require_real,
    require_states,
    states_of,
)
from combred.experiments.ignition.maxima import first_stage, maximum
from combred.experiments.ignition.path import Ignition
from combred.experiments.ignition.rise import equilibrium_T, half_way, hottest_T
from combred.native.solver.library import Integrator, require_adiabatic
from combred.native.solver.sharing import PARTS, blocks_of

# s, within which a delay is looked for.
LONGEST = 10.0
# s, the first time within which one is looked for.
SHORTEST = 1e-5
# Ratio of the next such time to the last: the solver's steps are shorter where the whole time is.
LONGER = 10.0
# Time over which a delay is computed at last, in delays.
MARGIN = 1.75
# Tolerance of paths by default. At the solver's own, .01, peaks of dilute gas are up to .2 % off;
# at this one .01 %, in the same time, for the steps of a path are short.
TOLERANCE = 1e-4
# K: times to a rise of T by less are computed at this tolerance too, by default. The solver's floor
# of an error is 1 K.
SMALL_RISE = 10.0
# Mixtures whose paths are kept at once.
BLOCK = 512
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
    stages, T has to pass half of its rise, which is 1 K at least. NaN where the solver fails.
    tolerance: of the solver, as in `advance`; threads: how many share the mixtures.

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
    find = functools.partial(_delays, solver.warned_of(p), kind, longest, tolerance)
    if threads == 1:
        return find(states)
    with ThreadPoolExecutor(threads) as pool:
        parts = pool.map(lambda rows: find(states[rows]), blocks_of(len(states), PARTS * threads))
        return np.concatenate(list(parts))


def _kind(solver: Integrator, criterion: str | float) -> str | float | int:
    """A criterion, or for the peak of a species its index. Raises ValueError for another."""
    if isinstance(criterion, str):
        if criterion in ("max dT/dt", "half rise", "first stage"):
            return criterion
        if named := SPECIES.fullmatch(criterion):
            k = species_index(solver.library.species, named[1])
            if k is None:
                raise ValueError(
                    f"criterion={criterion!r}: the mechanism has no species {named[1]}"
                )
            return k
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
        _require_equilibrium(solver)
    if kind == "half rise" or isinstance(kind, float):
        rises = kind == "half rise"
        until = half_way(T, equilibrium_T(solver, *begin)) if rises else T + kind
        delays = np.empty(len(T))
        small = until - T < SMALL_RISE
        for rows, own in ((~small, None), (small, TOLERANCE)):
            if rows.any():
                initial = T[rows], p[rows], Y[rows]
                chosen = own if tolerance is None else tolerance
                delays[rows] = times_to(solver, initial, until[rows], longest, chosen)
        return delays
    tolerance = TOLERANCE if tolerance is None else tolerance
    hottest = hottest_T(solver, begin, longest, tolerance)
    delays = search(solver, begin, half_way(T, hottest), longest, tolerance)
    delays[np.isnan(hottest)] = np.nan
    ignites = np.flatnonzero(np.isfinite(delays))
    for rows in np.array_split(ignites, -(-len(ignites) // BLOCK)) if len(ignites) else ():
        ignition = Ignition(
            solver, tolerance, states[rows], delays[rows], (hottest - T)[rows], longest,
            kind if isinstance(kind, int) else None,
        )  # fmt: skip
        delays[rows] = first_stage(ignition)[0] if kind == "first stage" else maximum(ignition)
    return delays


def _require_equilibrium(solver: Integrator) -> None:
    """ValueError for a solver whose reactor has no equilibrium that Cantera computes."""
    if not hasattr(solver, "mechanism"):
        raise ValueError("criterion='half rise' takes a combred.solver, which has a mechanism")
    if solver.volume and solver.enthalpy:
        raise ValueError(
            "criterion='half rise' has no equilibrium at constant density and enthalpy: give a "
            "rise of T [K]"
        )


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
    times = search(solver, begin, until, longest, tolerance)
    found = np.flatnonzero(np.isfinite(times) & (times > 0.0))
    if len(found):
        (T, p, Y), limits = (x[found] for x in begin), MARGIN * times[found]
        times[found] = solver.time_to(T, p, Y, until[found], limits, tolerance)
    return times


def search(
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

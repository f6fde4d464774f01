"""Derivatives of ignition delays and of time steps: central differences of the solver in doubles.

Takes a solver and states; gives derivatives by T, p, Y and by the rate constants of all reactions.
The perturbed states are advanced in batches; rate constants are perturbed by the factors of
`solver.with_multipliers`. At tolerance `EXACT` an error of the differences comes more from the
perturbations than from the solver: 1e-6 to 1e-5 of the largest derivative of a quantity.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from combred.chemistry.states import Real, Rows, states_of
from combred.experiments.ignition.criteria import LONGEST, ignition_delay, times_to
from combred.experiments.ignition.rise import half_way, hottest_T
from combred.native.solver.library import Integrator, require_adiabatic
from combred.reactors.wall import mechanism_of

EXACT, SHARP = 1e-9, 1e-5  # tolerances: of states, and of delays
BY_T, BY_LN_P, BY_LN_A = 0.01, 1e-4, 0.02  # perturbations: K; of ln p; of ln A
BY_Y, OF_Y = (1e-8, 1e-6), 0.1  # of a mass fraction: a share of it, within bounds
MARGIN = 2.0  # the time in which a perturbed mixture has to ignite, in delays


def ignition_sensitivity(  # noqa: PLR0913
    solver: Integrator,
    T: Rows,
    p: Real,
    Y: Rows,
    criterion: str | float = "half rise",
    tolerance: float = SHARP,
    threads: int = 1,
) -> Rows:
    """d ln(ignition delay) / d ln A of all reactions, (n, n_reactions), of mixtures T (n,) [K], p
    [Pa], Y (n, n_species): forward and reverse rate constants change together, as with Cantera's
    `set_multiplier`. Negative: the reaction promotes ignition.

    solver, criterion: as of `combred.ignition_delay`; times to a temperature, "half rise" or a rise
    of T [K], are the quickest. "half rise" is half of the rise to equilibrium, or to the largest T
    of a gas that becomes hotter. All are NaN of a mixture that does not ignite. threads: how many
    share the reactions. Raises ValueError as `ignition_delay`, and for a solver without reactions
    to perturb.
    """
    require_adiabatic(solver, "an ignition delay is that of a rise of T")
    states, factors = states_of(T, p, Y), factors_of(solver)
    solver = solver.warned_of(p)
    T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    if criterion == "half rise":
        until = half_way(T, hottest_T(solver, (T, p, Y), LONGEST, tolerance))
        base = times_to(solver, (T, p, Y), until, tolerance=tolerance)
    else:
        base = ignition_delay(solver, T, p, Y, criterion, tolerance=tolerance, threads=threads)
        until = np.full(len(T), np.nan) if isinstance(criterion, str) else T + criterion
    ignites = np.isfinite(base) & (base > 0.0)
    found = np.full((len(T), len(factors)), np.nan)
    T, p, Y, until = T[ignites], p[ignites], Y[ignites], until[ignites]
    longest = MARGIN * base[ignites]

    def ln_delay(changed: np.ndarray) -> Rows:
        own = solver.with_multipliers(changed)  # type: ignore[attr-defined]
        if np.isnan(until).any():
            return np.log(ignition_delay(own, T, p, Y, criterion, tolerance=tolerance))
        return np.log(own.time_to(T, p, Y, until, longest, tolerance))

    if ignites.any():
        found[ignites] = _by_rates(ln_delay, factors, threads).T
    return found


def factors_of(solver: Integrator) -> np.ndarray:
    """The factors (n_reactions,) on the rate constants of a solver. Raises ValueError where it
    cannot have any."""
    n = mechanism_of(solver).solution(transport=False).n_reactions
    if not hasattr(solver, "with_multipliers"):
        raise ValueError("the solver has multipliers already: give combred.solver(...), without")
    return np.ones(n)


def _by_rates(f: Callable[[np.ndarray], np.ndarray], factors: np.ndarray, threads: int = 1):
    """df/d ln A (n_reactions, ...) of a function of factors (n_reactions,)."""

    def one(i: int) -> np.ndarray:
        ends = []
        for sign in (1.0, -1.0):
            changed = factors.copy()
            changed[i] *= np.exp(sign * BY_LN_A)
            ends.append(f(changed))
        return (ends[0] - ends[1]) / (2.0 * BY_LN_A)

    with ThreadPoolExecutor(threads) as pool:
        return np.array(list(pool.map(one, range(len(factors)))))


# -- of a time step --------------------------------------------------------------------------------


def rate_derivatives(
    solver: Integrator, T: Rows, p: Real, Y: Rows, dt: Real, factors: Rows | None = None
) -> Rows:
    """d(T, Y after dt) / d ln A, (n, 1 + n_species, n_reactions), of states T (n,) [K], p [Pa], Y
    (n, n_species), as of `solver.advance`; factors (n_reactions,): about which, by default 1.
    Raises ValueError as `ignition_sensitivity` and `solver.advance`."""

    def after(changed: np.ndarray) -> np.ndarray:
        own = solver.with_multipliers(changed)  # type: ignore[attr-defined]
        return np.column_stack(own.advance(T, p, Y, dt, EXACT))

    usual = factors_of(solver)
    return np.moveaxis(_by_rates(after, usual if factors is None else factors), 0, -1)


def state_derivatives(solver: Integrator, T: Rows, p: Real, Y: Rows, dt: Real) -> Rows:
    """d(T, Y after dt) / d(T, p, Y), (n, 1 + n_species, 2 + n_species), of states T (n,) [K], p
    [Pa], Y (n, n_species), as of `solver.advance`: each Y by itself, which the solver then divides
    by their sum. A species of which there is less than its perturbation is only added. Raises
    ValueError as `solver.advance`."""
    states, solver = states_of(T, p, Y), solver.warned_of(p)
    n, columns = states.shape
    size = np.empty_like(states)
    size[:, 0], size[:, 1] = BY_T, BY_LN_P * states[:, 1]
    size[:, 2:] = np.clip(OF_Y * states[:, 2:], *BY_Y)
    first = states < size  # of these no less: one side, of second order as well
    steps, of = np.broadcast_to(dt, n), solver.sources
    each = of and of.of(np.repeat(np.arange(n), columns))
    ends = []
    for near, far in ((1.0, 1.0), (-1.0, 2.0)):
        moved = np.repeat(states[:, None], columns, 1)  # (n, perturbed, columns)
        every = np.arange(columns)
        moved[:, every, every] += size * np.where(first, far, near)
        rows = moved.reshape(-1, columns)
        after = solver.with_sources(each).advance(
            rows[:, 0], rows[:, 1], rows[:, 2:], np.repeat(steps, columns), EXACT
        )
        ends.append(np.column_stack(after).reshape(n, columns, columns - 1))
    base = np.column_stack(solver.advance(states[:, 0], states[:, 1], states[:, 2:], dt, EXACT))
    central = ends[0] - ends[1]
    forward = 4.0 * ends[0] - ends[1] - 3.0 * base[:, None]
    found = np.where(first[..., None], forward, central) / (2.0 * size[..., None])
    return np.moveaxis(found, 1, 2)

"""0D ignitions: adiabatic reactors at constant pressure, marched in steps dt.

Takes cases and an `Advance`; gives a `Rollout` of each case. `integrate` is CVODE's: one
uninterrupted integration, read out at the multiples of dt. `CVODE` as an `Advance`, started cold in
every step, differs from it by its tolerances: some 1e-6 of a delay.
"""

from collections.abc import Callable
from dataclasses import dataclass

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import FIRST, REFERENCE, IntegrationError, Reactor, Tolerances
from combred.chemistry.stepper import Advance, advance_each
from combred.experiments.ignition.rise import LEAST, half_to_equilibrium

HOTTEST, WIDE = 2000.0, 200.0  # K, of initial temperatures, and of their range at least
STILL = 1e-12  # of mass fractions: less has not reacted
TRIED = np.arange(500.0, 2200.0, 25.0)  # K, of the lowest temperature that ignites
AT, WITHIN = 20.0 * ct.one_atm, 0.05  # Pa, s: an ignition that is fast enough to matter


@dataclass(frozen=True)
class Case:
    """The parameters of an ignition: initial temperature T0 [K], p [Pa], equivalence ratio phi."""

    T0: float
    p: float
    phi: float

    def __str__(self) -> str:
        return f"{self.T0:.0f} K, phi {self.phi:g}, {self.p / ct.one_atm:g} atm"


@dataclass
class Rollout:
    """The states of one case: t (n,) [s], T (n,) [K], Y (n, n_species), the initial state first."""

    case: Case
    t: np.ndarray
    T: np.ndarray
    Y: np.ndarray


def advance_until(
    solver: Advance,
    dt: float,
    begin: tuple[np.ndarray, np.ndarray, np.ndarray],
    live: np.ndarray,
    visit: Callable[..., np.ndarray],
) -> None:
    """Advance those of the states begin = T (n,) [K], p (n,) [Pa], Y (n, n_species) whose indices
    are `live`, in one batch and in steps of dt [s], until none is left.

    visit(step, live, before, now): step, from 1; live (m,): indices of the states in the batch;
    before, now: their T (m,) and Y (m, n_species) before and after the step, NaN where the solver
    fails; returns which of them are kept, bool (m,).
    """
    T, p, Y = begin[0][live], begin[1], begin[2][live]
    step = 0
    while len(live):
        step += 1
        now = advance_each(solver, T, p[live], Y, dt)
        keep = visit(step, live, (T, Y), now)
        live, T, Y = live[keep], now[0][keep], now[1][keep]


def march(
    solver: Advance,
    dt: float,
    todo: list[Case],
    Y0: np.ndarray,
    steps: list[int],
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Rollout]:
    """March the cases `todo` with `solver`, in steps of dt [s].

    Y0 (n_cases, n_species): initial mass fractions; steps (n_cases,): how many steps each case
    takes; on_progress(steps done, most steps). All cases advance in one batch, from which a case is
    dropped after its last step.
    """
    T = [np.full(n + 1, np.nan) for n in steps]
    Y = [np.full((n + 1, Y0.shape[1]), np.nan) for n in steps]
    for i, case in enumerate(todo):
        T[i][0], Y[i][0] = case.T0, Y0[i]
    of_case, longest = np.array(steps), max(steps)

    def visit(step: int, live: np.ndarray, _: tuple, now: tuple) -> np.ndarray:
        for row, index in enumerate(live):
            T[index][step], Y[index][step] = now[0][row], now[1][row]
        if step % 100 == 0 or step == longest:
            on_progress(step, longest)
        return step < of_case[live]

    begin = np.array([case.T0 for case in todo]), np.array([case.p for case in todo]), Y0
    advance_until(solver, dt, begin, np.flatnonzero(of_case), visit)
    times = [np.arange(n + 1) * dt for n in steps]
    return [Rollout(*parts) for parts in zip(todo, times, T, Y, strict=True)]


def mixtures(mechanism: Mechanism, todo: list[Case], fuel: str, oxidizer: str) -> np.ndarray:
    """Initial mass fractions (n_cases, n_species) of the cases `todo`; fuel and oxidizer are
    compositions in moles."""
    return mechanism.mixture(fuel, oxidizer, [case.phi for case in todo])


def history(
    reactor: Reactor, case: Case, Y0: np.ndarray, longest: float, burnt_time: float
) -> tuple[np.ndarray, np.ndarray]:
    """t (n,) [s] and T (n,) [K] of a case at CVODE's own steps, up to `burnt_time` [s] after half
    of its rise to equilibrium, or up to `longest` [s] where it does not ignite.

    Y0 (n_species,): initial mass fractions. Raises IntegrationError.
    """
    reactor.start(case.T0, case.p, Y0)
    steps, ignited_at = [(0.0, case.T0), (FIRST, reactor.advance(FIRST)[0])], None
    state = np.array([case.T0]), np.array([case.p]), Y0[None]
    half = half_to_equilibrium(reactor.mechanism, *state)[0]
    while steps[-1][0] < longest:
        steps.append(reactor.step())
        if ignited_at is None and steps[-1][1] > half:
            ignited_at = steps[-1][0]
        if ignited_at is not None and steps[-1][0] > ignited_at + burnt_time:
            break
    t, T = np.array(steps).T
    return t, T


def integrate(
    mechanism: Mechanism,
    case: Case,
    Y0: np.ndarray,
    dt: float,
    steps: int,
    tolerances: Tolerances = REFERENCE,
) -> Rollout:
    """CVODE's rollout of a case: one integration, read out at `steps` multiples of dt [s].

    Y0 (n_species,): initial mass fractions. States after a failure are NaN. On three methane
    ignitions this was 12 to 25 times cheaper than marching with `CVODE`, which starts cold in every
    step, and 13 to 90 times nearer to an integration at rtol 1e-12; the delays agree within 2e-6.
    """
    T, Y = np.full(steps + 1, np.nan), np.full((steps + 1, len(Y0)), np.nan)
    T[0], Y[0] = case.T0, Y0
    reactor = Reactor(mechanism, *tolerances)
    try:
        reactor.start(case.T0, case.p, Y0)
        for i in range(1, steps + 1):
            T[i], Y[i] = reactor.advance(i * dt)
    except IntegrationError:
        pass  # the rest stays NaN, which every comparison counts as a failure
    return Rollout(case, np.arange(steps + 1) * dt, T, Y)


def coldest_ignition(
    mechanism: Mechanism,
    solver: Advance,
    fuel: str,
    oxidizer: str,
    p: float = AT,
    within: float = WITHIN,
) -> float:
    """The lowest of the temperatures `TRIED` [K] at which the stoichiometric mixture of fuel and
    oxidizer (compositions in moles) ignites within a time [s] at p [Pa], that is passes half of its
    rise to equilibrium. Raises ValueError where it ignites at none."""
    Y = np.tile(mechanism.mixture(fuel, oxidizer, 1.0), (len(TRIED), 1))
    pressures = np.full(len(TRIED), p)
    T, later = solver.advance(TRIED, pressures, Y, within)
    half = half_to_equilibrium(mechanism, TRIED, pressures, Y)
    ignited = np.flatnonzero(T > half)
    if not len(ignited):
        remedy = "name another fuel or oxidizer"
        if not np.isfinite(half).any():
            remedy += f": at equilibrium T is less than {LEAST:g} K higher"
        elif np.abs(later - Y).max() < STILL:
            remedy += ", or a mechanism whose reactions form radicals of these species (initiation)"
        raise ValueError(
            f"{mechanism.name}: {fuel} in {oxidizer} does not ignite within {within:g} s below "
            f"{TRIED[-1]:g} K at {p / ct.one_atm:g} atm, by half of its rise of T: {remedy}"
        )
    return float(TRIED[ignited[0]])


def hottest_ignition(coldest: float) -> float:
    """The upper end of a range of initial temperatures [K] from `coldest` on."""
    return max(HOTTEST, coldest + WIDE)

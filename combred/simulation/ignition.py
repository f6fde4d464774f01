"""0D ignitions: adiabatic reactors at constant pressure, marched in steps dt to equilibrium.

Takes settings and an `Advance`; gives a `Rollout` of each case. The references are CVODE's: one
uninterrupted integration of each case, read out at the multiples of dt. `CVODE` as an `Advance`,
started cold in every step, differs from them by its tolerances: some 1e-6 of a delay.
`combred.simulation.ignition_errors` compares.
"""

from collections.abc import Callable
from dataclasses import dataclass

import cantera as ct
import numpy as np

from combred.chemistry.fuel import mixtures as fuel_mixtures
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import FIRST, Advance, IntegrationError, Reactor
from combred.config import ChemistrySettings, ValidationSettings
from combred.workers import in_processes

MOST_STEPS = 1_000_000  # of a rollout, whose states are stored: 180 bytes each, 21 species
LONGEST = 0.1  # s, longest ignition delay that is waited for
IGNITED = 400.0  # K: a mixture has ignited where T is this much above its initial value


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


def cases(settings: ValidationSettings) -> list[Case]:
    """All combinations of the temperatures, pressures and equivalence ratios of `settings`."""
    return [Case(T0, p, phi) for T0 in settings.T0 for p in settings.p for phi in settings.phi]


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
    p = np.array([case.p for case in todo])
    live = np.arange(len(todo))
    now_T, now_Y = np.array([case.T0 for case in todo]), Y0.copy()
    longest = max(steps)
    for step in range(1, longest + 1):
        keep = np.array([step <= steps[i] for i in live])
        if not keep.all():
            live, now_T, now_Y = live[keep], now_T[keep], now_Y[keep]
        now_T, now_Y = solver.advance(now_T, p[live], now_Y, dt)
        for row, index in enumerate(live):
            T[index][step], Y[index][step] = now_T[row], now_Y[row]
        if step % 100 == 0 or step == longest:
            on_progress(step, longest)
    times = [np.arange(n + 1) * dt for n in steps]
    return [Rollout(*parts) for parts in zip(todo, times, T, Y, strict=True)]


def mixtures(mechanism: Mechanism, todo: list[Case], fuel: str, oxidizer: str) -> np.ndarray:
    """Initial mass fractions (n_cases, n_species) of the cases `todo`; fuel and oxidizer are
    compositions in moles."""
    return fuel_mixtures(mechanism, fuel, oxidizer, [case.phi for case in todo])


def steps_to_equilibrium(
    mechanism: Mechanism,
    case: Case,
    Y0: np.ndarray,
    dt: float,
    settings: ValidationSettings,
    chemistry: ChemistrySettings,
) -> int:
    """The number of steps dt [s] of a rollout: 1.3 ignition delays and then settings.burnt_time.

    Y0 (n_species,): initial mass fractions. Raises ValueError where CVODE fails, where the case
    does not ignite within `LONGEST`, or where it takes more than `MOST_STEPS` steps.
    """
    reactor = Reactor(mechanism, chemistry.rtol, chemistry.atol)
    reactor.start(case.T0, case.p, Y0)
    t, T = 0.0, case.T0
    while t < LONGEST:
        try:
            t, T = reactor.step()
        except IntegrationError as error:
            raise ValueError(
                f"CVODE cannot integrate the case {case} ({error}): choose another validation.T0, "
                "validation.p or validation.phi, or another chemistry.rtol or chemistry.atol"
            ) from error
        if T > case.T0 + IGNITED:
            steps = int(np.ceil((1.3 * t + settings.burnt_time) / dt))
            if steps > MOST_STEPS:
                raise ValueError(
                    f"the case {case} takes {steps:.2g} steps of validation.dt={dt:g} s, and at "
                    f"most {MOST_STEPS:,} are stored: give a larger validation.dt, a smaller "
                    "validation.burnt_time or hotter validation.T0"
                )
            return steps
    raise ValueError(
        f"the case {case} does not ignite within {LONGEST} s: choose hotter validation.T0"
    )


def history(
    reactor: Reactor, case: Case, Y0: np.ndarray, longest: float, burnt_time: float
) -> tuple[np.ndarray, np.ndarray]:
    """t (n,) [s] and T (n,) [K] of a case at CVODE's own steps, up to `burnt_time` [s] after
    ignition, or up to `longest` [s] where it does not ignite.

    Y0 (n_species,): initial mass fractions. Raises IntegrationError.
    """
    reactor.start(case.T0, case.p, Y0)
    steps, ignited_at = [(0.0, case.T0), (FIRST, reactor.advance(FIRST)[0])], None
    while steps[-1][0] < longest:
        steps.append(reactor.step())
        if ignited_at is None and steps[-1][1] > case.T0 + IGNITED:
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
    chemistry: ChemistrySettings,
) -> Rollout:
    """CVODE's rollout of a case: one integration, read out at `steps` multiples of dt [s].

    Y0 (n_species,): initial mass fractions. States after a failure are NaN. On three methane
    ignitions this was 12 to 25 times cheaper than marching with `CVODE`, which starts cold in every
    step, and 13 to 90 times nearer to an integration at rtol 1e-12; the delays agree within 2e-6.
    """
    T, Y = np.full(steps + 1, np.nan), np.full((steps + 1, len(Y0)), np.nan)
    T[0], Y[0] = case.T0, Y0
    reactor = Reactor(mechanism, chemistry.rtol, chemistry.atol)
    try:
        reactor.start(case.T0, case.p, Y0)
        for i in range(1, steps + 1):
            T[i], Y[i] = reactor.advance(i * dt)
    except IntegrationError:
        pass  # the rest stays NaN, which every comparison counts as a failure
    return Rollout(case, np.arange(steps + 1) * dt, T, Y)


def _reference(file, phase, case, Y0, dt, settings, chemistry) -> Rollout:
    mechanism = load_mechanism(file, phase)
    steps = steps_to_equilibrium(mechanism, case, Y0, dt, settings, chemistry)
    return integrate(mechanism, case, Y0, dt, steps, chemistry)


def reference(
    mechanism: Mechanism,
    settings: ValidationSettings,
    chemistry: ChemistrySettings,
    dt: float,
    fuel: str,
    oxidizer: str,
    workers: int,
    on_progress: Callable[[int, int], None] = lambda *_: None,
    todo: list[Case] | None = None,
) -> list[Rollout]:
    """CVODE's rollouts of the cases `todo` (default: those of `settings`), in `workers` processes.

    dt [s]: interval of the states; fuel, oxidizer: compositions in moles; on_progress(cases done,
    cases). Raises ValueError where a case does not ignite.
    """
    todo = cases(settings) if todo is None else todo
    Y0 = mixtures(mechanism, todo, fuel, oxidizer)
    of = mechanism.file, mechanism.phase
    tasks = [(*of, case, Y0[i], dt, settings, chemistry) for i, case in enumerate(todo)]
    return in_processes(workers, _reference, tasks, on_progress)


def follow(
    solver: Advance,
    dt: float,
    references: list[Rollout],
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Rollout]:
    """The cases of CVODE's `references`, marched with `solver` in steps of dt [s], from the same
    initial states over the same numbers of steps."""
    return march(
        solver,
        dt,
        [r.case for r in references],
        np.array([r.Y[0] for r in references]),
        [len(r.t) - 1 for r in references],
        on_progress,
    )

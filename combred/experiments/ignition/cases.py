"""The ignitions of a validation: their cases, CVODE's references, and how a solver follows them.

Takes the settings of a validation; gives a `Rollout` of each case, for
`combred.experiments.ignition.errors`.
"""

from collections.abc import Callable

import numpy as np

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import REFERENCE, IntegrationError, Reactor, Tolerances
from combred.chemistry.stepper import Advance
from combred.config import ValidationSettings
from combred.experiments.ignition.rollout import IGNITED, Case, Rollout, integrate, march, mixtures
from combred.processes.workers import Processes

MOST_STEPS = 1_000_000  # of a rollout, whose states are stored: 180 bytes each, 21 species
LONGEST = 0.1  # s, longest ignition delay that is waited for


def cases(settings: ValidationSettings) -> list[Case]:
    """All combinations of the temperatures, pressures and equivalence ratios of `settings`."""
    return [Case(T0, p, phi) for T0 in settings.T0 for p in settings.p for phi in settings.phi]


def steps_to_equilibrium(
    mechanism: Mechanism,
    case: Case,
    Y0: np.ndarray,
    settings: ValidationSettings,
    tolerances: Tolerances = REFERENCE,
) -> int:
    """The number of steps settings.dt of a rollout: 1.3 ignition delays, then settings.burnt_time.

    Y0 (n_species,): initial mass fractions. Raises ValueError where CVODE fails, where the case
    does not ignite within `LONGEST`, or where it takes more than `MOST_STEPS` steps.
    """
    reactor = Reactor(mechanism, *tolerances)
    reactor.start(case.T0, case.p, Y0)
    t, T = 0.0, case.T0
    while t < LONGEST:
        try:
            t, T = reactor.step()
        except IntegrationError as error:
            raise ValueError(
                f"CVODE cannot integrate the case {case} ({error}): choose another T0, p or phi"
            ) from error
        if T > case.T0 + IGNITED:
            steps = int(np.ceil((1.3 * t + settings.burnt_time) / settings.dt))
            if steps > MOST_STEPS:
                raise ValueError(
                    f"the case {case} takes {steps:.2g} steps of dt = {settings.dt:g} s, and at "
                    f"most {MOST_STEPS:,} are stored: give a larger dt, a shorter time "
                    "of burnt gas or a hotter T0"
                )
            return steps
    raise ValueError(f"the case {case} does not ignite within {LONGEST} s: choose a hotter T0")


def _reference(mechanism, case, Y0, settings, tolerances) -> Rollout:
    steps = steps_to_equilibrium(mechanism, case, Y0, settings, tolerances)
    return integrate(mechanism, case, Y0, settings.dt, steps, tolerances)


def reference(
    mechanism: Mechanism,
    settings: ValidationSettings,
    mixture: Mixture,
    processes: Processes,
    todo: list[Case] | None = None,
    tolerances: Tolerances = REFERENCE,
) -> list[Rollout]:
    """CVODE's rollouts of the cases `todo` (default: those of `settings`), with states in intervals
    of settings.dt. Raises ValueError where a case does not ignite."""
    todo = cases(settings) if todo is None else todo
    Y0 = mixtures(mechanism, todo, mixture.fuel, mixture.oxidizer)
    tasks = [(mechanism, case, Y0[i], settings, tolerances) for i, case in enumerate(todo)]
    return processes.results(_reference, tasks)


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

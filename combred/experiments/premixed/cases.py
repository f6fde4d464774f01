"""The flames of a validation: the references, by the generated solver in doubles, and those of a
surrogate, which start from them.

Takes settings or cases, and an `Advance`; gives a `Flame` of each case. The references are marched
in the same way as the others (`combred.experiments.premixed.flame`), and further.
`combred.experiments.premixed.errors` compares.
"""

from collections.abc import Callable
from dataclasses import replace

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.stepper import Advance
from combred.config import ValidationSettings
from combred.experiments.premixed.flame import MARCH, Flame, FlameMarch, burn, start
from combred.experiments.premixed.grid import FlameCase, Profile
from combred.native.solver.library import PRECISE, Solver
from combred.processes.workers import Processes


def cases(settings: ValidationSettings) -> list[FlameCase]:
    """All combinations of the unburnt temperatures, pressures and equivalence ratios of the flames
    of `settings`."""
    return [
        FlameCase(T, p, phi)
        for T in settings.flame_T
        for p in settings.p
        for phi in settings.flame_phi
    ]


def _burn_reference(mechanism, case, unburnt, dt, how) -> Flame:
    begin = start(mechanism, case, unburnt, how.cells)
    return settle(mechanism, Solver(mechanism, PRECISE), dt, begin, how)


def settle(
    mechanism: Mechanism, solver: Advance, dt: float, begin: Profile, how: FlameMarch = MARCH
) -> Flame:
    """A reference flame: `burn`, and then marched on, to a tenth of how.tolerance.

    The second march removes the transient of the initial profile, which is absent from a flame that
    starts from the converged reference. It would count as an error of the surrogate: 0.07 % of the
    speed at 300 K, 0.27 % at 800 K (docs/findings.md). Raises ValueError where the flame does not
    become steady.
    """
    steady = require_steady(burn(mechanism, solver, dt, begin, how))
    stricter = replace(how, tolerance=how.tolerance / 10, longest=2 * how.longest)
    return replace(burn(mechanism, solver, dt, steady.profile, stricter), outcome=steady.outcome)


def reference(
    mechanism: Mechanism,
    settings: ValidationSettings,
    mixture: Mixture,
    processes: Processes,
    todo: list[FlameCase] | None = None,
    how: FlameMarch | None = None,
) -> list[Flame]:
    """The solver's flames, at the tolerance `PRECISE`, of the cases `todo` (default: those of
    `settings`). settings.dt is the step of the splitting.

    Raises ValueError where Cantera finds no flame to start from, or where the flame does
    not become steady.
    """
    todo, how = cases(settings) if todo is None else todo, how or MARCH
    gases = [mechanism.mixture(mixture.fuel, mixture.oxidizer, case.phi) for case in todo]
    Solver(mechanism)  # compiled here, before the processes ask for it
    tasks = [
        (mechanism, case, unburnt, settings.dt, how)
        for case, unburnt in zip(todo, gases, strict=True)
    ]
    return processes.results(_burn_reference, tasks)


def require_steady(flame: Flame) -> Flame:
    """`flame` itself. Raises ValueError where it is not steady and cannot be a reference."""
    if not flame.steady:
        raise ValueError(
            f"the flame of the case {flame.case} is not steady after {len(flame.t)} steps "
            f"(outcome: {flame.outcome}), and so no reference: choose another phi or T"
        )
    return flame


def follow(
    mechanism: Mechanism,
    solver: Advance,
    dt: float,
    references: list[Flame],
    how: FlameMarch | None = None,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Flame]:
    """The cases of the `references`, marched with `solver` in steps of dt [s], from their
    last profiles until steady. on_progress(flames done, flames)."""
    flames = []
    for i, reference in enumerate(references):
        flames.append(burn(mechanism, solver, dt, reference.profile, how or MARCH))
        on_progress(i + 1, len(references))
    return flames

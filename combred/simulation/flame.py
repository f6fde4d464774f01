"""1D validation: freely propagating premixed flames with any `Advance` as chemistry.

Takes an `Advance` with its step dt; gives flames, marched until their speed is steady, and their
errors against the flames of CVODE, which goes through the same march.

A flame is a grid of cells that follows the front (`combred.simulation.moving_grid`). Diffusion and chemistry are
split after Strang (SIAM J. Numer. Anal. 5 (1968) 506): half a step dt of diffusion, `advance` in
every cell, half a step of diffusion.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline

from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import CVODE, Advance, IntegrationError
from combred.config import ChemistrySettings, ValidationSettings
from combred.simulation.free_flame import COARSE, FINE, solve_free_flame
from combred.simulation.moving_grid import FlameCase, MovingGrid, Profile, profile_of
from combred.threads import one_thread
from combred.workers import in_processes

INTERVAL = 0.25  # flame times over which a speed is averaged
INTERVALS = 3  # that have to agree
OUT = 0.02  # of the first speed: a flame slower than this is out

STEADY, UNSTEADY = "steady", "not steady"
NOT_FINITE, WENT_OUT, LOST = "not finite", "went out", "front left the grid"


@dataclass(frozen=True)
class Flame:
    """A flame marched: its last profile at x (n,) [m], what each step was, and how it ended.

    t (steps,) [s]; speeds (steps,) [m/s], by consumption of fuel; fronts (steps,) [kg/m^2], mass
    that the front has passed. `speed` [m/s] is their mean over the last intervals,
    `displacement_speed` [m/s] the slope of `fronts` there; both, like `thickness` [m], NaN where
    the flame failed. `outcome`: one of the constants above.
    """

    profile: Profile
    x: np.ndarray
    t: np.ndarray
    speeds: np.ndarray
    fronts: np.ndarray
    speed: float
    displacement_speed: float
    thickness: float
    outcome: str

    @property
    def case(self) -> FlameCase:
        return self.profile.case

    @property
    def T(self) -> np.ndarray:
        return self.profile.T

    @property
    def Y(self) -> np.ndarray:
        return self.profile.Y

    @property
    def front_x(self) -> float:
        """Where [m] T first is `front_T`, on the cubic spline through the cells."""
        at = CubicSpline(self.x, self.T).solve(self.profile.front_T, extrapolate=False)
        return float(at[0]) if len(at) else np.nan

    @property
    def steady(self) -> bool:
        return self.outcome == STEADY

    @property
    def burns(self) -> bool:
        """It has a speed, steady or not."""
        return self.outcome in (STEADY, UNSTEADY)


def cases(settings: ValidationSettings) -> list[FlameCase]:
    """Every combination of the flames' temperatures and equivalence ratios and of the pressures."""
    return [
        FlameCase(T, p, phi)
        for T in settings.flame_T
        for p in settings.p
        for phi in settings.flame_phi
    ]


# -- where a flame starts --------------------------------------------------------------------------


def start(mechanism: Mechanism, case: FlameCase, unburnt: np.ndarray, cells: int) -> Profile:
    """Cantera's FreeFlame of the mixture `unburnt` (n_species,) on `cells` cells of equal mass.

    Raises ValueError where Cantera finds no flame.
    """
    try:
        flame = solve_free_flame(mechanism, case.T, case.p, unburnt, refinements=(COARSE, FINE))
    except IntegrationError as error:
        raise ValueError(
            f"Cantera finds no flame for the case {case} ({error}): choose other "
            "validation.flame_phi or validation.flame_T"
        ) from error
    return profile_of(mechanism, flame, case, unburnt, cells)


def fuel_index(mechanism: Mechanism, profile: Profile) -> int:
    """The species with carbon or hydrogen that the flame consumes most of."""
    burning = [name in ("C", "H") for name in mechanism.element_names]
    fuels = mechanism.elements[burning].any(axis=0) & ~mechanism.inert
    return int(np.argmax(np.where(fuels, profile.unburnt - profile.Y[-1], -np.inf)))


# -- marching --------------------------------------------------------------------------------------


def burn(
    mechanism: Mechanism,
    solver: Advance,
    dt: float,
    begin: Profile,
    settings: ValidationSettings,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> Flame:
    """March the flame `begin` with `advance`, whose step is dt [s], until its speed is steady.

    Steady: the mean speeds over the last `INTERVALS` intervals of `INTERVAL` flame times
    (thickness / speed of `begin`) differ by no more than settings.flame_tolerance, and so do speed
    by consumption and by displacement. A flame that is not so after settings.flame_longest flame
    times, goes out, or stops being numbers says so in its `outcome`; nothing is raised.
    """
    with one_thread():  # a few hundred cells are too few to share
        return _march(mechanism, solver, dt, begin, settings, on_progress)


def _march(mechanism, solver, dt, begin, settings, on_progress) -> Flame:
    grid, fuel = MovingGrid(mechanism, begin), fuel_index(mechanism, begin)
    every = max(round(INTERVAL * grid.thickness() / begin.speed / dt), 4)
    limit = max(round(settings.flame_longest / INTERVAL), INTERVALS) * every
    to_speed = begin.cell_mass / (dt * grid.unburnt_rho)
    speeds, fronts, outcome = [], [], UNSTEADY
    while len(speeds) < limit and outcome == UNSTEADY:
        try:
            # The half step that ends a step and the one that begins the next are done as one.
            grid.diffuse(dt if speeds else 0.5 * dt)
            change = grid.react(solver)
        except FloatingPointError:
            outcome = NOT_FINITE
            break
        drop = max(begin.unburnt[fuel] - grid.Y[-1, fuel], 1e-3 * begin.unburnt[fuel])
        speeds.append(-to_speed * change[:, fuel].sum() / drop)
        fronts.append(grid.move())
        if len(speeds) % every == 0:
            displacement = np.array(fronts) / (dt * grid.unburnt_rho)
            outcome = _judge(grid, speeds, displacement, every, settings.flame_tolerance)
            on_progress(len(speeds), limit)
    if outcome in (STEADY, UNSTEADY):
        grid.diffuse(0.5 * dt)
    return _finish(grid, speeds, fronts, dt, every, outcome)


def _judge(
    grid: MovingGrid, speeds: list[float], displacement: np.ndarray, every: int, tolerance: float
) -> str:
    """How a march stands at the end of an interval of `every` steps; displacement (steps,) [m/s] is
    the way of the front over one step's time."""
    last = float(np.mean(speeds[-every:]))
    if not np.isfinite(grid.front()):
        return LOST if grid.T[0] > grid.profile.front_T else WENT_OUT
    if last < OUT * grid.profile.speed:
        return WENT_OUT
    span = INTERVALS * every
    if len(speeds) < span:
        return UNSTEADY
    means = np.reshape(speeds[-span:], (INTERVALS, every)).mean(axis=1)
    moved = _slope(displacement[-span:])
    agree = np.ptp(means) <= tolerance * means.mean()
    return STEADY if agree and abs(moved - means.mean()) <= tolerance * moved else UNSTEADY


def _slope(values: np.ndarray) -> float:
    """The change of `values` from one to the next, by linear regression."""
    steps = np.arange(len(values)) - 0.5 * (len(values) - 1)
    return float(steps @ values / (steps @ steps))


def _finish(
    grid: MovingGrid, speeds: list[float], fronts: list[float], dt: float, every: int, outcome: str
) -> Flame:
    """The flame as it was left."""
    begin, span = grid.profile, INTERVALS * every
    speed = displacement = thickness = np.nan
    if outcome in (STEADY, UNSTEADY):
        speed = float(np.mean(speeds[-span:]))
        displacement = _slope(np.array(fronts[-span:])) / (dt * grid.unburnt_rho)
        thickness = grid.thickness()
    return Flame(
        replace(begin, T=grid.T, Y=grid.Y, speed=speed),
        grid.diffusion.position(grid.T, grid.Y),
        dt * np.arange(1, len(speeds) + 1),
        np.array(speeds),
        np.array(fronts),
        speed,
        displacement,
        thickness,
        outcome,
    )


# -- CVODE's flames, and those that follow them ----------------------------------------------------


def _burn_cvode(file, case, unburnt, dt, settings, chemistry) -> Flame:
    mechanism = load_mechanism(file)
    begin = start(mechanism, case, unburnt, settings.flame_cells)
    return settle(
        mechanism, CVODE(mechanism, dt, chemistry.rtol, chemistry.atol), dt, begin, settings
    )


def settle(
    mechanism: Mechanism, solver: Advance, dt: float, begin: Profile, settings: ValidationSettings
) -> Flame:
    """`burn`, and then marched on until a tenth of settings.flame_tolerance: a flame that others
    are compared with. What is left of its beginning, which a network that begins at its end does
    not have, would be an error of the network's (at 300 K 0.07 %, at 800 K 0.27 % of the speed;
    docs/findings.md). Raises ValueError where the flame does not become steady.
    """
    steady = require_steady(burn(mechanism, solver, dt, begin, settings))
    calmer = replace(
        settings,
        flame_tolerance=settings.flame_tolerance / 10,
        flame_longest=2 * settings.flame_longest,
    )
    return replace(burn(mechanism, solver, dt, steady.profile, calmer), outcome=steady.outcome)


def reference(
    mechanism: Mechanism,
    settings: ValidationSettings,
    chemistry: ChemistrySettings,
    dt: float,
    fuel: str,
    oxidizer: str,
    workers: int,
    on_progress: Callable[[int, int], None] = lambda *_: None,
    todo: list[FlameCase] | None = None,
) -> list[Flame]:
    """CVODE's flames of the cases of `settings`, or of those `todo`, one process per flame at a
    time.

    Raises ValueError where Cantera finds no flame to start from, or CVODE's does not become steady.
    """
    todo = cases(settings) if todo is None else todo
    mixtures = [mechanism.mixture(fuel, oxidizer, case.phi) for case in todo]
    tasks = [
        (mechanism.file, case, unburnt, dt, settings, chemistry)
        for case, unburnt in zip(todo, mixtures, strict=True)
    ]
    return in_processes(workers, _burn_cvode, tasks, on_progress)


def require_steady(flame: Flame) -> Flame:
    """The same flame; ValueError where it is not steady: nothing can be judged by it."""
    if not flame.steady:
        raise ValueError(
            f"CVODE's flame of the case {flame.case} is {flame.outcome} after "
            f"{len(flame.t)} steps: choose other validation.flame_phi or flame_T, a longer "
            "validation.flame_longest, or more validation.flame_cells"
        )
    return flame


def follow(
    mechanism: Mechanism,
    solver: Advance,
    dt: float,
    references: list[Flame],
    settings: ValidationSettings,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Flame]:
    """The same flames, from the references' last profiles, marched with `advance` until steady."""
    flames = []
    for i, reference in enumerate(references):
        flames.append(burn(mechanism, solver, dt, reference.profile, settings))
        on_progress(i + 1, len(references))
    return flames

"""1D premixed flames, freely propagating, with any `Advance` as chemistry.

Takes settings, an `Advance` and a step dt; gives a `Flame` of each case, marched until its
speed is steady. The references are marched in the same way with CVODE.
`combred.simulation.flame_errors` compares.

A flame is a set of cells that follow its front (`combred.simulation.moving_grid`). Diffusion and
chemistry are split after Strang (SIAM J. Numer. Anal. 5 (1968) 506): half a step dt of diffusion,
a step of chemistry in every cell, half a step of diffusion.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline

from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import CVODE, Advance, IntegrationError
from combred.config import ChemistrySettings, ValidationSettings
from combred.config.fields import require
from combred.simulation.free_flame import COARSE, FINE, solve_free_flame
from combred.simulation.moving_grid import FlameCase, MovingGrid, Profile, profile_of
from combred.threads import one_thread
from combred.workers import in_processes

INTERVAL = 0.25  # flame times (thickness / speed) over which a speed is averaged
INTERVALS = 3  # number of intervals whose mean speeds must agree
OUT = 0.02  # a flame slower than this share of its initial speed is extinct

STEADY, UNSTEADY = "steady", "not steady"
NOT_FINITE, WENT_OUT, LOST = "not finite", "went out", "front left the grid"


@dataclass(frozen=True)
class FlameMarch:
    """How a flame is marched.

    cells: number of cells, over eight flame thicknesses; tolerance: the flame is steady when its
    speed changes by less, a share; longest: end of the march, in flame times (thickness / speed).
    Raises ValueError for values with which no flame can be resolved or become steady.
    """

    cells: int = 200
    tolerance: float = 1e-3
    longest: float = 6.0

    def __post_init__(self):
        require(
            self.cells >= 40, f"cells={self.cells}: a flame needs at least 40, five a thickness"
        )
        require(
            0 < self.tolerance < 0.1 and self.longest >= 1,
            f"tolerance={self.tolerance} must lie in (0, 0.1), and longest={self.longest} be at "
            "least 1 flame time",
        )


MARCH = FlameMarch()


@dataclass(frozen=True)
class Flame:
    """A marched flame: its last profile, its history, and its outcome.

    x (n,) [m]: centres of the cells of `profile`; t (steps,) [s]; speeds (steps,) [m/s]: from the
    consumption of fuel; fronts (steps,) [kg/m^2]: mass that the front has passed. speed [m/s]: mean
    of `speeds` over the last intervals; displacement_speed [m/s]: from the slope of `fronts` there;
    thickness [m]: `MovingGrid.thickness`; all three are NaN where the flame failed. outcome: one of
    the constants of this module.
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
        """The parameters of the flame."""
        return self.profile.case

    @property
    def T(self) -> np.ndarray:
        """T (n,) [K] of the last profile."""
        return self.profile.T

    @property
    def Y(self) -> np.ndarray:
        """Y (n, n_species) of the last profile."""
        return self.profile.Y

    @property
    def front_x(self) -> float:
        """Position [m] of the front: where the cubic spline through T first reaches `front_T`; NaN
        where it does not."""
        at = CubicSpline(self.x, self.T).solve(self.profile.front_T, extrapolate=False)
        return float(at[0]) if len(at) else np.nan

    @property
    def steady(self) -> bool:
        """Whether its speed has become steady."""
        return self.outcome == STEADY

    @property
    def burns(self) -> bool:
        """Whether it has a speed, steady or not."""
        return self.outcome in (STEADY, UNSTEADY)


def cases(settings: ValidationSettings) -> list[FlameCase]:
    """All combinations of the unburnt temperatures, pressures and equivalence ratios of the flames
    of `settings`."""
    return [
        FlameCase(T, p, phi)
        for T in settings.flame_T
        for p in settings.p
        for phi in settings.flame_phi
    ]


# -- the initial profile ---------------------------------------------------------------------------


def start(mechanism: Mechanism, case: FlameCase, unburnt: np.ndarray, cells: int) -> Profile:
    """Cantera's flame of a case on `cells` cells of equal mass; unburnt (n_species,): mass
    fractions of the fresh mixture. Raises ValueError where Cantera finds no flame."""
    try:
        flame = solve_free_flame(mechanism, case.T, case.p, unburnt, refinements=(COARSE, FINE))
    except IntegrationError as error:
        raise ValueError(
            f"Cantera finds no flame for the case {case} ({error}): choose other "
            "validation.flame_phi or validation.flame_T"
        ) from error
    return profile_of(mechanism, flame, case, unburnt, cells)


def fuel_index(mechanism: Mechanism, profile: Profile) -> int:
    """Index of the fuel: of the species with carbon or hydrogen, the one whose mass fraction drops
    most through the flame."""
    burning = [name in ("C", "H") for name in mechanism.element_names]
    fuels = mechanism.elements[burning].any(axis=0) & ~mechanism.inert
    return int(np.argmax(np.where(fuels, profile.unburnt - profile.Y[-1], -np.inf)))


# -- marching --------------------------------------------------------------------------------------


def burn(
    mechanism: Mechanism,
    solver: Advance,
    dt: float,
    begin: Profile,
    how: FlameMarch = MARCH,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> Flame:
    """March the flame `begin` with `solver`, in steps of dt [s], until its speed is steady.

    The speed is steady when (1) its means over the last `INTERVALS` intervals, each of `INTERVAL`
    flame times (thickness / speed of `begin`), differ by at most how.tolerance
    (relative), and (2) so do the speeds from consumption and from displacement. A flame that is not
    steady after how.longest flame times, becomes extinct, leaves the grid or has values
    that are not finite has this as its `outcome`; no exception is raised. on_progress(steps done,
    most steps).
    """
    with one_thread():  # a few hundred cells are too few for several threads
        return _march(mechanism, solver, dt, begin, how, on_progress)


def _march(mechanism, solver, dt, begin, how, on_progress) -> Flame:
    grid, fuel = MovingGrid(mechanism, begin), fuel_index(mechanism, begin)
    every = max(round(INTERVAL * grid.thickness() / begin.speed / dt), 4)
    limit = max(round(how.longest / INTERVAL), INTERVALS) * every
    to_speed = begin.cell_mass / (dt * grid.unburnt_rho)
    speeds, fronts, outcome = [], [], UNSTEADY
    while len(speeds) < limit and outcome == UNSTEADY:
        try:
            # The half step of diffusion that ends a step is merged with the first of the next.
            grid.diffuse(dt if speeds else 0.5 * dt)
            change = grid.react(solver, dt)
        except FloatingPointError:
            outcome = NOT_FINITE
            break
        drop = max(begin.unburnt[fuel] - grid.Y[-1, fuel], 1e-3 * begin.unburnt[fuel])
        speeds.append(-to_speed * change[:, fuel].sum() / drop)
        fronts.append(grid.move())
        if len(speeds) % every == 0:
            displacement = np.array(fronts) / (dt * grid.unburnt_rho)
            outcome = _judge(grid, speeds, displacement, every, how.tolerance)
            on_progress(len(speeds), limit)
    if outcome in (STEADY, UNSTEADY):
        grid.diffuse(0.5 * dt)
    return _finish(grid, speeds, fronts, dt, every, outcome)


def _judge(
    grid: MovingGrid, speeds: list[float], displacement: np.ndarray, every: int, tolerance: float
) -> str:
    """The outcome so far, at the end of an interval of `every` steps: UNSTEADY until the flame is
    steady or has failed. displacement (steps,): position of the front over dt [m/s]."""
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
    """The mean change from one of `values` (n,) to the next, by linear regression."""
    steps = np.arange(len(values)) - 0.5 * (len(values) - 1)
    return float(steps @ values / (steps @ steps))


def _finish(
    grid: MovingGrid, speeds: list[float], fronts: list[float], dt: float, every: int, outcome: str
) -> Flame:
    """The `Flame` of a march that has ended."""
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


# -- CVODE's flames, and the flames that start from them -------------------------------------------


def _burn_cvode(file, case, unburnt, dt, chemistry, how) -> Flame:
    mechanism = load_mechanism(file)
    begin = start(mechanism, case, unburnt, how.cells)
    cvode = CVODE(mechanism, chemistry.rtol, chemistry.atol)
    return settle(mechanism, cvode, dt, begin, how)


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
    chemistry: ChemistrySettings,
    dt: float,
    fuel: str,
    oxidizer: str,
    workers: int,
    on_progress: Callable[[int, int], None] = lambda *_: None,
    todo: list[FlameCase] | None = None,
    how: FlameMarch = MARCH,
) -> list[Flame]:
    """CVODE's flames of the cases `todo` (default: those of `settings`), in `workers` processes.

    dt [s]: step of the splitting; fuel, oxidizer: compositions in moles; on_progress(flames done,
    flames). Raises ValueError where Cantera finds no flame to start from, or where CVODE's flame
    does not become steady.
    """
    todo = cases(settings) if todo is None else todo
    mixtures = [mechanism.mixture(fuel, oxidizer, case.phi) for case in todo]
    tasks = [
        (mechanism.file, case, unburnt, dt, chemistry, how)
        for case, unburnt in zip(todo, mixtures, strict=True)
    ]
    return in_processes(workers, _burn_cvode, tasks, on_progress)


def require_steady(flame: Flame) -> Flame:
    """`flame` itself. Raises ValueError where it is not steady and cannot be a reference."""
    if not flame.steady:
        raise ValueError(
            f"CVODE's flame of the case {flame.case} is not steady after {len(flame.t)} steps "
            f"(outcome: {flame.outcome}), and so no reference: choose other validation.flame_phi "
            "or validation.flame_T"
        )
    return flame


def follow(
    mechanism: Mechanism,
    solver: Advance,
    dt: float,
    references: list[Flame],
    how: FlameMarch = MARCH,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Flame]:
    """The cases of CVODE's `references`, marched with `solver` in steps of dt [s], from their
    last profiles until steady. on_progress(flames done, flames)."""
    flames = []
    for i, reference in enumerate(references):
        flames.append(burn(mechanism, solver, dt, reference.profile, how))
        on_progress(i + 1, len(references))
    return flames

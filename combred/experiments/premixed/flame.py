"""1D premixed flames, freely propagating, with any `Advance` as chemistry.

Takes a case, an `Advance` and a step dt; gives a `Flame`, marched until its speed is steady.
`combred.experiments.premixed.experiment` marches those of a validation.

A flame is a set of cells that follow its front (`combred.experiments.premixed.grid`). Diffusion and
chemistry are split after Strang (`combred.experiments.cells`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError
from combred.chemistry.stepper import Advance
from combred.config.fields import require
from combred.experiments.cells import LOST, STEADY, UNSTEADY, WENT_OUT, MarchedFlame
from combred.experiments.premixed.cantera_flame import COARSE, FINE, solve_free_flame
from combred.experiments.premixed.grid import FlameCase, MovingGrid, Profile, profile_of
from combred.processes.threads import one_thread

INTERVAL = 0.25  # flame times (thickness / speed) over which a speed is averaged
INTERVALS = 3  # number of intervals whose mean speeds must agree
OUT = 0.02  # a flame slower than this share of its initial speed is extinct


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
class Flame(MarchedFlame):
    """A marched premixed flame, which burns if it has a speed, steady or not.

    speeds (steps,) [m/s]: from the consumption of fuel; fronts (steps,) [kg/m^2]: mass that the
    front has passed. speed [m/s]: mean of `speeds` over the last intervals; displacement_speed
    [m/s]: from the slope of `fronts` there; thickness [m]: `MovingGrid.thickness`; all three are
    NaN where the flame failed.
    """

    profile: Profile
    speeds: np.ndarray
    fronts: np.ndarray
    speed: float
    displacement_speed: float
    thickness: float

    @property
    def front_x(self) -> float:
        """Position [m] of the front: where the cubic spline through T first reaches `front_T`; NaN
        where it does not."""
        at = CubicSpline(self.x, self.T).solve(self.profile.front_T, extrapolate=False)
        return float(at[0]) if len(at) else np.nan


# -- the initial profile ---------------------------------------------------------------------------


def start(mechanism: Mechanism, case: FlameCase, unburnt: np.ndarray, cells: int) -> Profile:
    """Cantera's flame of a case on `cells` cells of equal mass; unburnt (n_species,): mass
    fractions of the fresh mixture. Raises ValueError where Cantera finds no flame."""
    try:
        flame = solve_free_flame(mechanism, case.T, case.p, unburnt, refinements=(COARSE, FINE))
    except IntegrationError as error:
        raise ValueError(
            f"Cantera finds no flame for the case {case} ({error}): choose another "
            "equivalence ratio or unburnt temperature"
        ) from error
    return profile_of(mechanism, flame, case, unburnt, cells)


def fuel_index(mechanism: Mechanism, profile: Profile) -> int:
    """Index of the fuel: of the species with carbon or hydrogen, the one whose mass fraction drops
    most through the flame."""
    burning = [name in ("C", "H") for name in mechanism.element_names]
    fuels = mechanism.elements[burning].any(axis=0) & ~mechanism.inert
    return int(np.argmax(np.where(fuels, profile.unburnt - profile.Y[-1], -np.inf)))


# -- marching --------------------------------------------------------------------------------------


@one_thread()  # a few hundred cells are too few for several threads
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
    (relative), and (2) so do the speeds from consumption and from displacement. The march then ends
    where the front lies between cells as at first (`MovingGrid.align`), so that flames can be
    compared. A flame that is not steady after how.longest flame times, becomes extinct, leaves the
    grid or has values that are not finite has this as its `outcome`; no exception is raised.
    on_progress(steps done, most steps).
    """
    grid, fuel = MovingGrid(mechanism, begin), fuel_index(mechanism, begin)
    every = max(round(INTERVAL * grid.thickness() / begin.speed / dt), 4)
    limit = max(round(how.longest / INTERVAL), INTERVALS) * every
    to_speed = begin.cell_mass / (dt * grid.unburnt_rho)
    speeds, fronts, found = [], [], UNSTEADY
    before = grid.T, grid.Y, grid.h

    def judged(step: int, change: np.ndarray) -> str:
        nonlocal found, before
        drop = max(begin.unburnt[fuel] - grid.Y[-1, fuel], 1e-3 * begin.unburnt[fuel])
        speeds.append(-to_speed * change[:, fuel].sum() / drop)
        ends = found == STEADY and grid.align(*before)
        fronts.append(grid.move())
        if step % every == 0 and found != STEADY:
            displacement = np.array(fronts) / (dt * grid.unburnt_rho)
            found = judge(grid, speeds, displacement, every, how.tolerance)
            on_progress(step, limit)
        before = grid.T.copy(), grid.Y.copy(), grid.h.copy()
        return UNSTEADY if found == STEADY and not ends else found

    outcome = grid.march(solver, dt, limit, judged)
    outcome = found if outcome == UNSTEADY else outcome
    speed = displacement = thickness = np.nan
    if outcome in (STEADY, UNSTEADY):
        last = slice(-INTERVALS * every, None)
        speed = float(np.mean(speeds[last]))
        displacement = slope(np.array(fronts[last])) / (dt * grid.unburnt_rho)
        thickness = grid.thickness()
    profile = replace(begin, T=grid.T, Y=grid.Y, speed=speed)
    x, t = grid.diffusion.position(grid.T, grid.Y), dt * np.arange(1, len(speeds) + 1)
    history = np.array(speeds), np.array(fronts)
    return Flame(profile, x, t, outcome, *history, speed, displacement, thickness)


# -- the outcome -----------------------------------------------------------------------------------


def judge(
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
    moved = slope(displacement[-span:])
    agree = np.ptp(means) <= tolerance * means.mean()
    return STEADY if agree and abs(moved - means.mean()) <= tolerance * moved else UNSTEADY


def slope(values: np.ndarray) -> float:
    """The mean change from one of `values` (n,) to the next, by linear regression."""
    steps = np.arange(len(values)) - 0.5 * (len(values) - 1)
    return float(steps @ values / (steps @ steps))

"""Counterflow diffusion flames with any `Advance` as chemistry.

Takes a `CounterflowProfile` (`combred.experiments.counterflow.grid`), which starts from Cantera's
flame, and an `Advance`; gives a `CounterflowFlame`, marched in time until it is steady or extinct.

Transport and chemistry are split after Strang (`combred.experiments.cells`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.stepper import Advance
from combred.config.fields import require
from combred.experiments.cells import STEADY, UNSTEADY, WENT_OUT, MarchedFlame
from combred.experiments.counterflow.cantera_flame import (
    COARSE,
    FINE,
    CounterflowCase,
    solve_counterflow,
)
from combred.experiments.counterflow.grid import CounterflowGrid, CounterflowProfile, profile_of
from combred.processes.threads import one_thread

INTERVAL = 0.25  # inverse strain rates of the inlets between two judgements
OUT = 0.75  # a flame is extinct below this share of its initial excess of peak T over its streams


@dataclass(frozen=True)
class CounterflowMarch:
    """How a counterflow flame is marched.

    cells: number of cells; tolerance [K]: a flame is steady when its peak temperature changes by
    less, and its profile by less than three times as much, over `INTERVAL`; longest: end of the
    march, in inverse strain rates of the inlets. Raises ValueError for values with which no flame
    can be resolved or become steady.
    """

    cells: int = 80
    tolerance: float = 0.3
    longest: float = 25.0

    def __post_init__(self):
        require(self.cells >= 20, f"cells={self.cells}: a flame needs at least 20")
        require(
            self.tolerance > 0 and self.longest >= INTERVAL,
            f"tolerance={self.tolerance} must be positive, and longest={self.longest} at least "
            f"{INTERVAL}",
        )


MARCH = CounterflowMarch()


@dataclass(frozen=True)
class CounterflowFlame(MarchedFlame):
    """A marched counterflow flame; x is 0 at the stagnation plane. peak_T (steps,) [K]: the highest
    temperature after the chemistry of each step."""

    profile: CounterflowProfile
    peak_T: np.ndarray


def start(
    mechanism: Mechanism, case: CounterflowCase, strain: float, cells: int = MARCH.cells
) -> CounterflowProfile:
    """Cantera's flame of a case at the strain rate `strain` [1/s] of the inlets, on `cells` cells.
    Raises IntegrationError where it finds none, or the flame is extinct."""
    flame = solve_counterflow(mechanism, case, strain, (COARSE, FINE))
    return profile_of(mechanism, flame, case, cells)


@one_thread()  # a hundred cells are too few for several threads
def burn(
    mechanism: Mechanism,
    solver: Advance,
    dt: float,
    begin: CounterflowProfile,
    how: CounterflowMarch = MARCH,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> CounterflowFlame:
    """March the flame `begin` with `solver` in steps of dt [s] until it is steady or extinct.

    A flame that is neither after how.longest, or has values that are not finite, has this as its
    `outcome`; no exception is raised. on_progress(steps done, most steps).
    """
    grid = CounterflowGrid(mechanism, begin)
    every = max(round(INTERVAL / begin.strain / dt), 2)
    limit = max(round(how.longest / INTERVAL), 1) * every
    hottest = float(begin.stream_T.max())
    extinct_T = hottest + OUT * (float(begin.T.max()) - hottest)
    peaks, last = [], begin.T

    def judged(step: int, _: np.ndarray) -> str:
        nonlocal last
        peaks.append(float(grid.T.max()))
        if peaks[-1] < extinct_T:
            return WENT_OUT
        if step % every:
            return UNSTEADY
        peak, profile = abs(grid.T.max() - last.max()), np.abs(grid.T - last).max()
        last = grid.T.copy()
        on_progress(step, limit)
        return STEADY if peak < how.tolerance and profile < 3 * how.tolerance else UNSTEADY

    outcome = grid.march(solver, dt, limit, judged)
    profile = replace(begin, T=grid.T, Y=grid.Y)
    t = dt * np.arange(1, len(peaks) + 1)
    return CounterflowFlame(profile, grid.x, t, outcome, np.array(peaks))

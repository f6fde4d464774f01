"""States of a freely propagating premixed flame: between its grid points, and after a step of
diffusion.

Takes Cantera's flame (`combred.experiments.premixed.cantera_flame`); gives states without labels,
for `sampling.premixed.states`.
"""

import cantera as ct
import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.stepper import Advance
from combred.experiments.labelled import States
from combred.experiments.premixed.grid import MovingGrid, Profile

SPLIT_STEPS = 6  # steps dt of diffusion and chemistry in turn, before the states are taken


def between_grid_points(flame: ct.FreeFlame, n: int, rng: np.random.Generator, p: float) -> States:
    """n states interpolated linearly between grid points: half uniform in the grid index (the
    grid is dense in the flame front), half uniform in T."""
    T, Y = flame.T.copy(), np.clip(flame.Y.T, 0.0, None)
    half = n // 2
    rise_T, rise_at = np.unique(np.maximum.accumulate(T), return_index=True)
    where = np.concatenate(
        [
            rng.uniform(0, len(T) - 1, half),
            np.interp(rng.uniform(T.min(), T.max(), n - half), rise_T, rise_at),
        ]
    )
    i = np.clip(where.astype(int), 0, len(T) - 2)
    f = where - i
    T = (1 - f) * T[i] + f * T[i + 1]
    Y = (1 - f)[:, None] * Y[i] + f[:, None] * Y[i + 1]
    return T, np.full(n, p), Y


def after_diffusion(mechanism: Mechanism, profile: Profile, solver: Advance, dt: float) -> States:
    """The cells of a flame after the last of `SPLIT_STEPS` steps of diffusion and chemistry in
    turn, before its chemistry; the fast species have adjusted to the splitting by then."""
    grid = MovingGrid(mechanism, profile)
    for step in range(SPLIT_STEPS):
        grid.transport(dt)
        if step < SPLIT_STEPS - 1:
            grid.react(solver, dt)
    return grid.T, np.full(len(grid.T), profile.case.p), grid.Y

"""States of a premixed flame: between its grid points, and after diffusion."""

from types import SimpleNamespace

import cantera as ct
import numpy as np

from combred.experiments.diffusion import Diffusion
from combred.experiments.premixed.grid import FlameCase, MovingGrid, profile_of
from combred.surrogates.sampling.premixed.profiles import (
    SPLIT_STEPS,
    after_diffusion,
    between_grid_points,
)


def test_flame_states_lie_on_the_profile_and_cover_it(linear_flame):
    T, p, Y = between_grid_points(linear_flame, 100, np.random.default_rng(0), ct.one_atm)
    low, high = linear_flame.T[0], linear_flame.T[-1]
    along = (T - low) / (high - low)
    first, last = linear_flame.Y[:, 0], linear_flame.Y[:, -1]
    # The profile is linear in T: interpolation is exact but for rounding.
    assert np.allclose(Y, first + along[:, None] * (last - first), atol=1e-14)
    tenths = np.histogram(along, bins=10, range=(0, 1))[0]
    assert (tenths > 0).all()  # half of the states are uniform in T
    assert tenths[[0, -1]].sum() > 30  # and half over the grid, of which 60 points are at the ends


def test_states_are_taken_after_diffusion_and_before_chemistry(drm19, linear_flame):
    case, dt, calls = FlameCase(300.0, ct.one_atm, 1.0), 2e-6, []
    begin = profile_of(drm19, linear_flame, case, linear_flame.Y[:, 0], 60)

    def inert(T, p, Y, dt):
        calls.append(dt)
        return T, Y

    T, p, Y = after_diffusion(drm19, begin, SimpleNamespace(advance=inert), dt)
    assert calls == [dt] * (SPLIT_STEPS - 1) and (p == ct.one_atm).all()
    diffusion = Diffusion(drm19, ct.one_atm, begin.cell_mass)
    state = begin.T, begin.Y, MovingGrid(drm19, begin).h
    for _ in range(SPLIT_STEPS):
        state = diffusion.step(*state, dt)
    # Without reactions the chemistry changes T by the tolerance of its inversion from h alone.
    assert np.abs(T - state[0]).max() < 1e-6 and np.abs(Y - state[1]).max() < 1e-12
    assert np.abs(T - begin.T).max() > 1e-2  # K: twelve microseconds of diffusion

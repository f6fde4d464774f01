"""The sensitivities of a counterflow flame's peaks to reactions, against Cantera's own."""

import numpy as np
import pytest
from hydrogen import AIR, FUEL
from scipy.sparse.linalg import splu

from combred.experiments.counterflow.cantera_flame import (
    COARSE,
    FINE,
    CounterflowCase,
    solve_counterflow,
)
from combred.experiments.counterflow.grid import CounterflowGrid, profile_of
from combred.surrogates.sensitivity.counterflow import peak_sensitivities
from combred.surrogates.sensitivity.flame_jacobian import (
    H_SCALE,
    reaction_jacobian,
    transport_jacobian,
)
from combred.surrogates.sensitivity.source_term import SourceTerm

CASE, STRAIN = CounterflowCase(fuel=f"{FUEL}, N2:1", oxidizer=AIR), 1000.0  # 1/s


@pytest.fixture(scope="module")
def cantera_flame(h2o2):
    return solve_counterflow(h2o2, CASE, STRAIN, (COARSE, FINE))


def test_a_disturbed_flame_has_the_peaks_that_the_sensitivities_say(h2o2, cantera_flame):
    """The equations of the cells are solved again, with an error added to dY/dt of each cell."""
    profile = profile_of(h2o2, cantera_flame, CASE, 40)
    grid, source = CounterflowGrid(h2o2, profile), SourceTerm(h2o2, CASE.p)
    OH = h2o2.index("OH")
    s = peak_sensitivities(h2o2, profile, [OH])
    _, A = reaction_jacobian(h2o2, CASE.p, grid.Y, grid.h)
    solve = splu(A + transport_jacobian(grid.diffusion, grid.T, grid.Y, grid.h)).solve
    rng = np.random.default_rng(0)
    error = rng.normal(size=grid.Y.shape) * grid.Y
    error -= grid.Y * error.sum(axis=1, keepdims=True)
    error *= 2e-3 / abs((s[1] * error).sum())  # 0.2 % of OH

    def rates(Y, h):
        T = grid.diffusion.temperature(h, Y, grid.T)
        fluxes = grid.diffusion.fluxes(T, Y, rate=False)
        dY, dh = grid.diffusion.derivatives(fluxes, Y, h)
        f = np.array([source.at(*cell) for cell in zip(h, Y, strict=True)])
        return np.column_stack([dY + f, dh / H_SCALE])

    steady, peaks = rates(grid.Y, grid.h), []
    for sign in (1, -1):
        u, wanted = np.column_stack([grid.Y, grid.h / H_SCALE]), steady.copy()
        wanted[:, :-1] -= sign * error
        for _ in range(6):
            missing = wanted - rates(u[:, :-1], u[:, -1] * H_SCALE)
            u += solve(missing.ravel()).reshape(u.shape)
        assert np.abs(missing).max() < 1e-4 * np.abs(error).max()  # of the first iteration: 1
        T = grid.diffusion.temperature(u[:, -1] * H_SCALE, u[:, :-1], grid.T)
        at_T, at_OH = grid.T.argmax(), grid.Y[:, OH].argmax()
        peaks.append(
            [T[at_T] / (grid.T.max() - profile.stream_T.max()), u[at_OH, OH] / grid.Y[at_OH, OH]]
        )
    changes = 0.5 * (np.array(peaks[0]) - peaks[1])
    assert changes == pytest.approx((s * error).sum(axis=(1, 2)), rel=0.01)

"""Flame kernels: their diffusion, and their sensitivities against marches that are disturbed."""

import numpy as np
import pytest
from hydrogen import AIR, FUEL

from combred.chemistry.reactor import CVODE
from combred.chemistry.thermo import Thermo
from combred.surrogates.sensitivity.flame_kernel import FlameKernel, new_kernel, reacted

CELLS, STEPS, DT = 8, 80, 5e-7
P = 101325.0


@pytest.fixture(scope="module")
def kernel(h2o2):
    fresh = h2o2.mixture(FUEL, AIR, 0.8)
    return new_kernel(h2o2, (400.0, P, fresh), burnt=3, cells=CELLS, diffusion_rate=5e4)


def test_diffusion_keeps_the_sum_and_damps_a_wave_as_known():
    # The matrix K has the eigenvectors cos(pi m (i + 1/2) / n), values 4 sin^2(pi m / (2 n)).
    n, m, dt = 12, 3, 2e-6
    wave = np.cos(np.pi * m * (np.arange(n) + 0.5) / n)
    now = FlameKernel(P, 1e5, 1e5 + wave, np.column_stack([1.0 - wave, wave]))
    later = now.diffused(dt)
    factor = 1.0 / (1.0 + dt * 1e5 * 4.0 * np.sin(np.pi * m / (2 * n)) ** 2)
    assert later.Y[:, 1] == pytest.approx(factor * wave, abs=1e-12)
    assert later.h - 1e5 == pytest.approx(factor * wave, abs=1e-9)
    assert later.Y.sum(axis=0) == pytest.approx(now.Y.sum(axis=0), abs=1e-12)


def test_a_cell_that_cannot_be_integrated_is_told(h2o2, kernel, monkeypatch):
    cvode = CVODE(h2o2)
    monkeypatch.setattr(cvode, "advance", lambda T, p, Y, dt: (T, Y * np.nan))
    with pytest.raises(FloatingPointError, match="not finite"):
        reacted(cvode, Thermo(h2o2), kernel, 1e-6)

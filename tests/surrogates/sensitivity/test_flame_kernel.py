"""Flame kernels: their diffusion, and their sensitivities against marches that are disturbed."""

import numpy as np
import pytest
from hydrogen import AIR, FUEL

from combred.chemistry.reactor import CVODE
from combred.chemistry.thermo import Thermo
from combred.surrogates.sensitivity.flame_kernel import (
    FlameKernel,
    march,
    mass_sensitivities,
    new_kernel,
    reacted,
)

CELLS, STEPS, DT = 8, 80, 5e-7
P = 101325.0


@pytest.fixture(scope="module")
def kernel(h2o2):
    fresh = h2o2.mixture(FUEL, AIR, 0.8)
    return new_kernel(h2o2, (400.0, P, fresh), burnt=3, cells=CELLS, diffusion_rate=5e4)


@pytest.fixture(scope="module")
def states(h2o2, kernel):
    return march(CVODE(h2o2), Thermo(h2o2), kernel, DT, STEPS)


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


def test_a_march_keeps_elements_and_enthalpy(h2o2, kernel, states):
    assert len(states) == STEPS + 1
    gas = h2o2.solution()
    per_mass = np.array(
        [[gas.n_atoms(k, e) / gas.molecular_weights[k] for k in range(gas.n_species)]
         for e in range(gas.n_elements)]
    )  # fmt: skip
    elements = per_mass @ kernel.Y.sum(axis=0)
    assert per_mass @ states[-1].Y.sum(axis=0) == pytest.approx(elements, rel=1e-9)
    assert states[-1].h.sum() == pytest.approx(kernel.h.sum(), rel=1e-12)


@pytest.mark.parametrize(("step", "cell"), [(10, 1), (40, 3), (76, 4)])
def test_an_error_on_the_way_moves_the_masses_as_the_sensitivities_say(h2o2, states, step, cell):
    species = [h2o2.index(name) for name in ("H", "OH", "H2O")]
    phi = mass_sensitivities(h2o2, states, DT, species)
    error = 1e-2 * states[step].Y[cell] * np.random.default_rng(step).uniform(-1, 1, h2o2.n_species)
    error[h2o2.index("N2")] -= error.sum()  # as much mass as before

    def masses(sign):
        Y = states[step].Y.copy()
        Y[cell] += sign * error
        begin = FlameKernel(P, states[0].diffusion_rate, states[step].h, Y)
        last = march(CVODE(h2o2), Thermo(h2o2), begin, DT, STEPS - step)[-1]
        return last.Y[:, species].sum(axis=0)

    exact = (np.log(masses(1.0)) - np.log(masses(-1.0))) / 2
    # J at the end of a step stands for all of the step.
    assert phi[:, step, cell] @ error == pytest.approx(exact, abs=0.1 * np.abs(exact).max())
    assert np.abs(exact).max() > 1e-4


def test_a_cell_that_cannot_be_integrated_is_told(h2o2, kernel, monkeypatch):
    cvode = CVODE(h2o2)
    monkeypatch.setattr(cvode, "advance", lambda T, p, Y, dt: (T, Y * np.nan))
    with pytest.raises(FloatingPointError, match="not finite"):
        reacted(cvode, Thermo(h2o2), kernel, 1e-6)

"""Small premixed flames: their states conserve elements, hold radicals in heated fresh gas, and are
those of flames each by itself."""

import cantera as ct
import numpy as np
import pytest

from combred.experiments.diffusion import Diffusion
from combred.experiments.flow import flames as module
from combred.experiments.flow.flames import CELLS, Cells, flames

RADICAL = "H"
N = 4  # flames


@pytest.fixture
def made(streams_of, mechanism):
    """States of some flames at 300 K, and their fresh gas."""
    streams = streams_of(mechanism, phi=[1.0, 1.0], p=[ct.one_atm, ct.one_atm])
    streams.temperature = lambda limits, n: np.full(n, 300.0)
    return flames(streams, N * module.ROWS, Cells(mechanism))[0]


def test_radicals_diffuse_into_gas_that_is_too_cold_to_make_them(made, mechanism):
    cold = made[made[:, 0] < 900.0]
    assert len(cold) > 5
    gas, equilibrium = mechanism.solution(), []
    for T, p, *Y in cold:
        gas.TPY = T, p, Y
        gas.equilibrate("TP")
        equilibrium.append(gas[RADICAL].Y[0])
    assert np.median(cold[:, 2 + mechanism.index(RADICAL)]) > 1e3 * np.median(equilibrium)


def test_each_flame_diffuses_as_by_itself_at_its_pressure(streams_of, mechanism):
    """And holds the elements of its cells in sum: the ends are closed."""
    streams, cells = streams_of(mechanism), Cells(mechanism)
    fresh_T, p, Y = np.linspace(300.0, 900.0, N), np.geomspace(3e4, 6e6, N), streams.premixed(N)
    cells.start(streams, (fresh_T, Y), streams.equilibrium(fresh_T, p, Y))
    ratio, time = np.geomspace(0.1, 1.0, N), 1e-5
    T, Y = (part.reshape(N, CELLS, -1) for part in cells.diffused(ratio))
    old_T, old_Y = cells.T.reshape(N, CELLS), cells.Y.reshape(N, CELLS, -1)
    for i in range(N):
        alone = Diffusion(mechanism, p[i], 1.0)
        alone.cell_mass = np.sqrt(cells.inertia[i] * p[i] / ct.one_atm * time)
        h = alone.enthalpy(old_T[i], old_Y[i])
        expected_T, expected_Y, _ = alone.step(old_T[i], old_Y[i], h, ratio[i] * time)
        moved = np.abs(expected_T - old_T[i]).max()
        assert moved > 1.0  # K; the number of RKL2 stages differs
        assert T[i, :, 0] == pytest.approx(expected_T, abs=0.02 * moved)
        assert Y[i] == pytest.approx(expected_Y, abs=0.02 * np.abs(expected_Y - old_Y[i]).max())
        elements = mechanism.elements @ (Y[i] - old_Y[i]).mean(0)
        assert np.abs(elements).max() < 1e-9  # undershoots, clipped

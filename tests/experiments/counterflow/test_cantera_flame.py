"""Cantera's counterflow flames: strain rates and extinction, with hydrogen."""

import numpy as np
import pytest

from benchmarks.extinction import strained_flames
from combred.experiments.counterflow.cantera_flame import (
    CounterflowCase,
    burns,
    solve_counterflow,
    strain_further,
    strain_rate,
)

CASE = CounterflowCase("H2:1, N2:4", "O2:1, N2:3.76")  # which a strain of some 1e3 1/s extinguishes


def test_a_flame_has_the_strain_rate_that_it_was_solved_for(h2o2):
    flame = solve_counterflow(h2o2, CASE, 60.0)
    assert burns(flame) and strain_rate(flame) == pytest.approx(60.0, rel=1e-3)
    rho, u = flame.density, flame.velocity
    assert rho[0] * u[0] ** 2 == pytest.approx(rho[-1] * u[-1] ** 2, rel=1e-2)
    assert flame.T[0] == pytest.approx(300.0) and flame.T[-1] == pytest.approx(300.0)
    peak, width = flame.T.max(), np.ptp(flame.grid)
    assert strain_further(flame, 2.0)
    assert strain_rate(flame) == pytest.approx(120.0, rel=1e-3)
    assert np.ptp(flame.grid) == pytest.approx(width / 2**0.5) and flame.T.max() < peak


def test_strain_rises_to_extinction(h2o2):
    found = [
        (strain_rate(flame), flame.T.max(), burns(flame))
        for flame in strained_flames(h2o2, CASE, 200.0, factor=2.0, halvings=0)
    ]
    a, T, burning = map(np.array, zip(*found, strict=True))
    assert burning.all() and np.all(np.diff(a) > 0) and np.all(np.diff(T) < 0)
    assert a[1] / a[0] == pytest.approx(2.0, rel=1e-3) and len(a) >= 2

"""Rows of the sampled file, and a made-up flame."""

from types import SimpleNamespace

import cantera as ct
import numpy as np
import pytest


@pytest.fixture(scope="session")
def rows(table):
    """All rows of the sampled file."""
    return table.read(0, table.rows)


@pytest.fixture(scope="session")
def burning(rows):
    """(T, p, Y) of the exact states in which ignition has begun."""
    hot = (rows.sampler == 0) & (rows.Y[:, 4] > 1e-5)  # OH
    return rows.T[hot], rows.p[hot], rows.Y[hot]


@pytest.fixture
def linear_flame(drm19):
    """A made-up flame: Y is linear in T from the mixture to its equilibrium, flat at both ends."""
    gas = drm19.solution()
    Y0 = drm19.mixture("CH4:1", "O2:1, N2:3.76", 1.0)
    gas.TPY = 300.0, ct.one_atm, Y0
    gas.equilibrate("HP")
    f = np.concatenate([np.zeros(30), np.linspace(0, 1, 41), np.ones(30)])
    T = 300.0 + f * (gas.T - 300.0)
    Y = Y0 + f[:, None] * (gas.Y - Y0)
    return SimpleNamespace(
        T=T, Y=Y.T, density=350.0 / T, grid=np.linspace(0.0, 5e-3, len(T)), velocity=[0.4]
    )

"""Ignitions, flames and streams of hydrogen, computed once for all tests of this folder."""

import pytest
from hydrogen import (
    AIR,
    CHEMISTRY,
    FLAME,
    FLAME_DT,
    FLAME_MARCH,
    FLAMES,
    FUEL,
    IGNITION_DT,
    IGNITIONS,
    INERT,
)

from combred.simulation import flame, flame_cases, ignition
from combred.simulation.stirred_particles import piloted_streams


@pytest.fixture(scope="session")
def ignitions(h2o2):
    """CVODE's rollouts of four ignitions, from two processes."""
    calls = []
    rollouts = ignition.reference(
        h2o2, IGNITIONS, CHEMISTRY, IGNITION_DT, FUEL, AIR, 2, lambda *done: calls.append(done)
    )
    assert calls == [(i + 1, 4) for i in range(4)]
    return rollouts


@pytest.fixture(scope="session")
def flames(h2o2, in_process):
    """The solver's flames of two mixtures, in this process: the ignitions are from two others."""
    calls = []
    with in_process():
        found = flame_cases.reference(
            h2o2,
            FLAMES,
            FLAME_DT,
            FUEL,
            AIR,
            1,
            lambda *done: calls.append(done),
            how=FLAME_MARCH,
        )
    assert calls == [(1, 2), (2, 2)]
    return found


@pytest.fixture(scope="session")
def begin(h2o2):
    """Cantera's flame of `FLAME` on 60 cells, as a start."""
    return flame.start(h2o2, FLAME, h2o2.mixture(FUEL, AIR, FLAME.phi), 60)


@pytest.fixture(scope="session")
def extinct(h2o2, begin):
    """A flame without reactions."""
    return flame.burn(h2o2, INERT, FLAME_DT, begin, FLAME_MARCH)


@pytest.fixture(scope="session")
def streams(h2o2):
    """Hydrogen, air and their burnt gas, as streams of a stirred reactor."""
    return piloted_streams(h2o2, "H2:1", "O2:1, N2:3.76", shares=(0.03, 0.87, 0.1))

"""The times at which states pass a temperature, against CVODE's and against marched states."""

import cantera as ct
import numpy as np
import pytest

from combred.chemistry.reactor import Reactor
from combred.experiments.ignition.delay import time_to


@pytest.fixture
def mixtures(h2o2):
    T, p = np.array([1000.0, 1200.0, 1500.0, 300.0]), ct.one_atm * np.array([1.0, 10.0, 0.5, 1.0])
    return T, p, h2o2.mixture("H2:1", "O2:1, N2:3.76", [0.5, 1.0, 1.5, 1.0])


@pytest.mark.parametrize("tolerance, off", [(1e-2, 1e-2), (1e-3, 5e-4), (1e-5, 3e-5)])
def test_delays_are_cvode_s(solver_of, h2o2, mixtures, tolerance, off):
    """In floats and in doubles (seen: a third of it); what does not ignite has an infinite time."""
    T, p, Y = mixtures
    until, reactor = T + 400.0, Reactor(h2o2, 1e-10, 1e-18)
    found = solver_of(h2o2).time_to(T, p, Y, until, 0.1, tolerance)
    rows = zip(T[:3], p[:3], Y[:3], until[:3], strict=True)
    exact = [time_to(reactor, *row, 1.0) for row in rows]
    assert np.allclose(found[:3], exact, rtol=off, atol=0.0) and np.isinf(found[3])


def test_a_state_that_is_there_or_ends_before(solver_of, h2o2, mixtures):
    """T at the beginning above the wanted one: no time. A time step that ends before: no T. Invalid
    states, and one wanted T and one step for all."""
    T, p, Y = (x[:3] for x in mixtures)
    solver = solver_of(h2o2)
    assert np.all(solver.time_to(T, p, Y, T - 1.0, 1e-3) == 0.0)
    delay = solver.time_to(T, p, Y, 1700.0, 0.1)
    assert np.isfinite(delay).all()
    assert np.isinf(solver.time_to(T, p, Y, 1700.0, 0.99 * delay)).all()
    assert np.array_equal(solver.time_to(T, p, Y, 1700.0, 1.01 * delay) > 0.0, [True] * 3)
    with pytest.raises(ValueError):
        solver.time_to(T, p, Y, np.full(2, 1700.0), 0.1)
    assert np.isnan(solver.time_to(T, p, Y, 1700.0, 0.1, 1e-30)).all()  # the solver fails
    many = solver.time_to(*(np.repeat(x, 300, axis=0) for x in (T, p, Y)), 1700.0, 0.1)
    assert np.allclose(many.reshape(3, 300), delay[:, None], rtol=1e-6)

"""CVODE's reference against reactor networks that the tests make with Cantera alone."""

import re

import cantera as ct
import numpy as np
import pytest

from combred.chemistry.reactor import CVODE, IntegrationError, Reactor

RTOL, ATOL = 1e-8, 1e-16
TOO_HOT = 1e5  # K: CVODE gives up there
DT = 1e-6


def exact(mechanism, T, p, Y, t):
    """T and Y after t, by a fresh network integrated ten thousand times as accurately."""
    gas = mechanism.solution()
    gas.TPY = T, p, Y
    reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-12, 1e-22
    net.advance(t)
    return reactor.T, gas.Y


def test_cvode_agrees_with_an_independent_network(mechanism, path):
    T, Y = CVODE(mechanism, RTOL, ATOL).advance(path.T, path.p, path.Y, path.dt)
    for i in range(0, len(T), 6):
        T_exact, Y_exact = exact(mechanism, path.T[i], path.p[i], path.Y[i], path.dt)
        # rtol 1e-8 per internal step, over at most some hundred of them: 1e-6 of the value.
        assert T[i] == pytest.approx(T_exact, rel=1e-6)
        assert np.allclose(Y[i], Y_exact, rtol=1e-5, atol=1e-10)


@pytest.mark.parametrize("value", [0.0, -1e-6, np.nan, np.inf])
def test_a_time_step_that_is_not_positive_and_finite_is_refused(h2o2, value):
    message = f"dt = {value} s: a time step has to be positive and finite"
    for dt in (value, np.array([1e-6, value])):
        with pytest.raises(ValueError, match=re.escape(message)):
            CVODE(h2o2).advance(np.full(2, 1200.0), np.full(2, 1e5), np.full((2, 10), 0.1), dt)


def test_cvode_refuses_states_of_another_mechanism(h2o2):
    with pytest.raises(ValueError, match=r"shape \(n, 12\).*these \(2, 13\)"):
        CVODE(h2o2).advance([1200.0] * 2, [1e5] * 2, np.full((2, 11), 0.1), 1e-6)


def test_states_that_are_none_are_refused_or_told_and_leave_others_unchanged(mechanism, path):
    T, p, Y = path.T[:5].copy(), path.p[:5], path.Y[:5]
    T[[1, 3]] = 27.0, np.nan
    with pytest.raises(ValueError, match=r"2 of 5 .*\(rows 1, 3\).* T = 27 K.*was it in °C\?"):
        CVODE(mechanism).advance(T, p, Y, DT)
    found = CVODE(mechanism).attempt(T, p, Y, DT)
    assert np.isinf(found.error).tolist() == [False, True, False, True, False]
    assert np.array_equal(found.T[[1, 3]], T[[1, 3]], equal_nan=True)
    assert np.array_equal(found.Y[[1, 3]], Y[[1, 3]])
    good = [0, 2, 4]
    T_fresh, Y_fresh = CVODE(mechanism).advance(T[good], p[good], Y[good], DT)
    assert np.allclose(found.T[good], T_fresh, rtol=1e-9)  # far within rtol of the integrator
    assert np.allclose(found.Y[good], Y_fresh, rtol=1e-6, atol=1e-14)


def test_a_state_that_cvode_cannot_advance_is_an_error(mechanism, path):
    cvode = CVODE(mechanism)
    cvode.reactor.net.max_steps = 3
    with pytest.raises(ValueError, match=r"1 of 1 states .*\(row 0\).*CVODE fails"):
        cvode.advance(path.T[30:31], path.p[30:31], path.Y[30:31], 1e-3)


def test_reactor_raises_and_can_be_started_again(mechanism, path):
    reactor = Reactor(mechanism, RTOL, ATOL)
    reactor.start(TOO_HOT, path.p[0], path.Y[0])
    with pytest.raises(IntegrationError, match="\\w"):
        reactor.advance(DT)
    reactor.start(path.T[0], path.p[0], path.Y[0])
    assert reactor.advance(DT)[0] == pytest.approx(path.T_next[0], rel=1e-6)

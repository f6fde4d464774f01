"""CVODE's reference against reactor networks that the tests make with Cantera alone."""

import re

import cantera as ct
import numpy as np
import pytest

from combred.chemistry.reactor import CVODE, IntegrationError, Reactor, states_of, steps_of

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


def test_enthalpy_elements_and_inert_species_are_conserved(mechanism, path):
    T, Y = CVODE(mechanism, RTOL, ATOL).advance(path.T, path.p, path.Y, path.dt)
    gas = mechanism.solution()
    for i in range(len(T)):
        gas.TPY = path.T[i], path.p[i], path.Y[i]
        h, cp = gas.enthalpy_mass, gas.cp_mass
        gas.TPY = T[i], path.p[i], Y[i]
        assert abs(gas.enthalpy_mass - h) < 1e-3 * cp  # 1e-3 K: the integrator's tolerance in T
    # Linear invariants: CVODE keeps them to the rounding of its Newton solves.
    assert np.allclose((Y - path.Y) @ mechanism.elements.T, 0.0, atol=1e-12)
    assert np.array_equal(Y[:, mechanism.inert], path.Y[:, mechanism.inert])


def test_many_steps_equal_one_long_integration(mechanism, path):
    T, p, Y = path.T[:1], path.p[:1], path.Y[:1]
    cvode = CVODE(mechanism, RTOL, ATOL)
    for _ in range(20):
        T, Y = cvode.advance(T, p, Y, 2e-6)
    T_exact, Y_exact = exact(mechanism, path.T[0], path.p[0], path.Y[0], 40e-6)
    # In the induction zone errors of 1e-8 grow with the radicals, by about e^5 in 40 us.
    assert T[0] == pytest.approx(T_exact, rel=1e-5)
    assert np.allclose(Y[0], Y_exact, rtol=1e-4, atol=1e-12)


def test_every_state_has_its_own_time_step(mechanism, path):
    some, dt = slice(0, 60, 12), np.geomspace(1e-8, 1e-5, 5)
    T, p, Y = path.T[some], path.p[some], path.Y[some]
    T_next, Y_next = CVODE(mechanism, RTOL, ATOL).advance(T, p, Y, dt)
    for i in range(5):
        one = slice(i, i + 1)
        T_one, Y_one = CVODE(mechanism, RTOL, ATOL).advance(T[one], p[one], Y[one], float(dt[i]))
        assert np.array_equal(T_next[one], T_one) and np.array_equal(Y_next[one], Y_one)


def test_time_steps_are_one_for_all_or_one_for_each():
    assert np.array_equal(steps_of(1e-6, 3), [1e-6] * 3) and steps_of(1e-6, 0).shape == (0,)
    assert steps_of(np.float32(0.5), 2).dtype == steps_of([1, 2], 2).dtype == np.float64
    given = np.array([1e-6, 2e-6])
    assert np.array_equal(steps_of(given, 2), given) and steps_of(given, 2) is not given


@pytest.mark.parametrize("value", [0.0, -1e-6, np.nan, np.inf])
def test_a_time_step_that_is_not_positive_and_finite_is_refused(h2o2, value):
    message = f"dt = {value} s: a time step has to be positive and finite"
    for dt in (value, np.array([1e-6, value])):
        with pytest.raises(ValueError, match=re.escape(message)):
            CVODE(h2o2).advance(np.full(2, 1200.0), np.full(2, 1e5), np.full((2, 10), 0.1), dt)


@pytest.mark.parametrize("dt", [np.full(2, 1e-6), np.full((3, 1), 1e-6), np.full(1, 1e-6)])
def test_time_steps_of_another_shape_are_refused(dt):
    with pytest.raises(ValueError, match=r"dt has shape .*there are 3 states.*an array \(3,\)"):
        steps_of(dt, 3)


@pytest.mark.parametrize(
    "dt", [1e-6 + 0j, "1e-6", np.timedelta64(1, "us"), [1e-6, None, 1e-6], {}, [[1e-6], 1e-6, 1e-6]]
)
def test_time_steps_that_are_not_real_numbers_are_refused(dt):
    with pytest.raises(ValueError, match="dt (has to be real|is not an array of) numbers"):
        steps_of(dt, 3)


def test_states_of_any_real_type_and_layout_are_the_same():
    T, p, Y = np.array([300.0, 1500.0]), np.full(2, 131072.0), np.full((2, 4), 0.25)
    known = np.column_stack([T, p, Y])
    for kind in ("f4", ">f8", "g", "i4"):
        assert np.array_equal(states_of(T.astype(kind), p.astype(kind), Y), known)
    frozen = np.asfortranarray(Y)
    frozen.flags.writeable = False
    for given in (Y.tolist(), frozen, np.repeat(Y, 2, 0)[::2], Y.astype("f4")):
        found = states_of(T.tolist(), p, given)
        assert np.array_equal(found, known) and found.flags.c_contiguous
        assert found.dtype == np.float64 and not np.shares_memory(found, given)
    assert states_of([], [], np.empty((0, 4))).shape == (0, 6)


@pytest.mark.parametrize(
    "change",
    [
        {"T": 1500.0}, {"T": np.full((2, 1), 1500.0)}, {"p": 1e5}, {"p": np.full(1, 1e5)},
        {"Y": np.full(4, 0.25)}, {"Y": np.full((1, 4), 0.25)}, {"Y": np.full((1, 2, 4), 0.25)},
    ],
)  # fmt: skip
def test_states_of_another_shape_are_refused(change):
    known = {"T": np.full(2, 1500.0), "p": np.full(2, 1e5), "Y": np.full((2, 4), 0.25)}
    with pytest.raises(ValueError, match=r"T and p have the shape \(n,\).*and Y \(n, n_species\)"):
        states_of(**known | change)


@pytest.mark.parametrize("values", ["x", [1500.0, None], [1.0, 1j], np.full(2, "1500"), [[1.0], 2]])
def test_states_that_are_not_real_numbers_are_refused(values):
    with pytest.raises(ValueError, match="T (has to be real|is not an array of) numbers"):
        states_of(values, np.full(2, 1e5), np.full((2, 4), 0.25))


def test_cvode_refuses_states_of_another_mechanism(h2o2):
    with pytest.raises(ValueError, match=r"shape \(n, 12\).*shape \(2, 13\)"):
        CVODE(h2o2).advance([1200.0] * 2, [1e5] * 2, np.full((2, 11), 0.1), 1e-6)


def test_a_state_does_not_depend_on_those_computed_before(mechanism, path):
    dt = path.dt
    alone = [CVODE(mechanism).advance(path.T[i : i + 1], path.p[:1], path.Y[i : i + 1], dt)
             for i in range(0, 60, 10)]  # fmt: skip
    T, Y = CVODE(mechanism).advance(path.T[::10], path.p[::10], path.Y[::10], dt)
    assert np.array_equal(T, np.concatenate([one[0] for one in alone]))
    assert np.array_equal(Y, np.concatenate([one[1] for one in alone]))


def test_states_that_fail_are_nan_and_counted_and_leave_others_unchanged(mechanism, path):
    T, p, Y = path.T[:5].copy(), path.p[:5], path.Y[:5]
    T[[1, 3]] = TOO_HOT
    cvode = CVODE(mechanism)
    T_next, Y_next = cvode.advance(T, p, Y, DT)
    assert cvode.failed == 2
    assert np.isnan(T_next).tolist() == [False, True, False, True, False]
    assert np.isnan(Y_next[[1, 3]]).all()
    good = [0, 2, 4]
    T_fresh, Y_fresh = CVODE(mechanism).advance(T[good], p[good], Y[good], DT)
    assert np.allclose(T_next[good], T_fresh, rtol=1e-9)  # far within rtol of the integrator
    assert np.allclose(Y_next[good], Y_fresh, rtol=1e-6, atol=1e-14)


@pytest.mark.parametrize("variable", ["T", "p", "Y"])
def test_a_nan_state_counts_as_failed(h2o2, variable):
    # A march goes on with the states that its solver returned, also with NaN.
    Y = np.tile(h2o2.mixture("H2:1", "O2:1, N2:3.76", 1.0), (3, 1))
    state = {"T": np.full(3, 1200.0), "p": np.full(3, ct.one_atm), "Y": Y}
    state[variable][1] = np.nan
    cvode = CVODE(h2o2)
    T_next, _ = cvode.advance(**state, dt=DT)
    assert cvode.failed == 1
    assert np.isnan(T_next).tolist() == [False, True, False]


def test_reactor_raises_and_can_be_started_again(mechanism, path):
    reactor = Reactor(mechanism, RTOL, ATOL)
    reactor.start(TOO_HOT, path.p[0], path.Y[0])
    with pytest.raises(IntegrationError, match="\\w"):
        reactor.advance(DT)
    reactor.start(path.T[0], path.p[0], path.Y[0])
    assert reactor.advance(DT)[0] == pytest.approx(path.T_next[0], rel=1e-6)


def test_internal_steps_reach_the_same_state(mechanism, path):
    i = 30  # past ignition
    reactor = Reactor(mechanism, RTOL, ATOL)
    reactor.start(path.T[i], path.p[i], path.Y[i])
    t, times = 0.0, []
    while t < DT:
        t, T = reactor.step()
        times.append(t)
    assert np.all(np.diff(times) > 0)
    T_exact, _ = exact(mechanism, path.T[i], path.p[i], path.Y[i], t)
    assert pytest.approx(T_exact, rel=1e-6) == T  # rtol over some hundred steps

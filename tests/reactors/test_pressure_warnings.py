"""A pressure in atm: each function that takes states warns, once a call, in the same words."""

import warnings

import cantera as ct
import numpy as np
import pytest

import combred

T, WRONG, RIGHT = np.array([1100.0]), 20.0, 20.0 * ct.one_atm
X = np.array([0.0, 1e-3])


def array(mechanism, p):
    states = ct.SolutionArray(mechanism.solution(), 1)
    states.TPY = T, p, mechanism.mixture("H2:1", "O2:1, N2:3.76", 1.0)
    return states


def phase(mechanism, p):
    gas = mechanism.solution()
    gas.TPY = T[0], p, mechanism.mixture("H2:1", "O2:1, N2:3.76", 1.0)
    return gas


CALLS = {
    "advance": lambda s, p, Y: s.advance(T, p, Y, 1e-6),
    "advance on threads": lambda s, p, Y: s.advance(T, p, Y, 1e-6, threads=2),
    "integrate": lambda s, p, Y: s.integrate(T, p, Y, 1e-6),
    "with sources": lambda s, p, Y: s.with_sources(combred.Sources(heating=1.0)).advance(
        T, p, Y, 1e-6
    ),
    "time_to": lambda s, p, Y: s.time_to(T, p, Y, T + 400.0, 1e-3),
    "rates": lambda s, p, Y: s.rates(T, p, Y),
    "jacobian": lambda s, p, Y: s.jacobian(T[0], p, Y[0]),
    "ignition_delay": lambda s, p, Y: combred.ignition_delay(s, T, p, Y, longest=1e-3),
    "a rise on threads": lambda s, p, Y: combred.ignition_delay(
        s, T, p, Y, 400.0, longest=1e-3, threads=2
    ),
    "psr": lambda s, p, Y: combred.psr(s, 300.0, p, Y[0], [1e-2, 1e-1]),
    "plug_flow": lambda s, p, Y: combred.plug_flow(s, T, p, Y, X, 1.0),
    "reactor": lambda s, p, Y: combred.reactor(s, T, p, Y, X, heat_transfer=1.0),
    "profile": lambda s, p, Y: combred.reactor(s, T, p, Y, X, pressure=[p, 2.0 * p]),
    "cantera.advance": lambda s, p, _: combred.cantera.advance(s, array(s.mechanism, p), 1e-6),
    "cantera.ignition_delay": lambda s, p, _: combred.cantera.ignition_delay(
        s, array(s.mechanism, p), longest=1e-3
    ),
    "cantera.psr": lambda s, p, _: combred.cantera.psr(s, array(s.mechanism, p), 1e-2),
    "cantera.Reactor": lambda s, p, _: combred.cantera.Reactor(phase(s.mechanism, p), s).advance(
        1e-6
    ),
    "CVODE": lambda s, p, Y: combred.CVODE(s.mechanism).advance(T, p, Y, 1e-6),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_pressure_in_atm_is_told_once_a_call(solver_of, h2o2, name):
    Y = h2o2.mixture("H2:1", "O2:1, N2:3.76", 1.0)[None]
    for p, count in ((WRONG, 1), (RIGHT, 0)):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            CALLS[name](solver_of(h2o2), p, Y)
        assert [str(x.message) for x in heard] == count * [
            "p of some states is far from 100 to 1e+08 Pa: is it in Pa, not in atm?"
        ]
        assert all(x.filename == __file__ for x in heard)


def test_the_sensitivities_tell_it_once(solver_of, h2o2):
    Y = h2o2.mixture("H2:1", "O2:1, N2:3.76", 1.0)[None]
    with pytest.warns(UserWarning, match="not in atm") as heard:
        found = combred.ignition_sensitivity(solver_of(h2o2), T, WRONG, Y)
    assert len(heard) == 1 and np.isnan(found).all()

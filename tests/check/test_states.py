"""States of flows in a check: what CVODE cannot do stops nothing."""

import itertools

import numpy as np

from combred.check import states
from combred.chemistry.reactor import IntegrationError, Reactor


def test_states_that_cvode_cannot_advance_have_no_time(h2o2, solver, conditions, monkeypatch):
    advance, calls = Reactor.advance, itertools.count()

    def every_other(reactor, t):
        if next(calls) % 2:
            raise IntegrationError("too many steps")
        return advance(reactor, t)

    monkeypatch.setattr(Reactor, "advance", every_other)
    monkeypatch.setattr(states, "TIMED_STATES", 16)
    found = states.times(h2o2, solver, conditions)
    assert next(calls) == len(states.TIMED) * 16
    assert all(0.0 < row["cvode_seconds"] < np.inf for row in found)

"""What the experiments have in common: the references of the solver against CVODE."""

import numpy as np
from hydrogen import premixed_flames

from combred.experiments import experiment
from combred.native.solver import Solver


def test_references_of_the_solver_are_near_cvode(h2o2, flames):
    off = premixed_flames(h2o2).differences_from_cvode(flames)
    assert off.shape == (96,) and 0.0 < off.max() < 1e-5  # both flames


def test_a_state_that_the_solver_cannot_advance_is_infinitely_off(h2o2, flames, monkeypatch):
    class Cold(Solver):
        def attempt(self, T, p, Y, dt, tolerance=None, max_steps=0):
            found = super().attempt(T, p, Y, dt, tolerance, max_steps)
            found.error[T > 1500.0] = np.inf
            return found

    monkeypatch.setattr(experiment, "Solver", Cold)
    off = premixed_flames(h2o2).differences_from_cvode(flames[:1])
    assert np.array_equal(np.isinf(off), flames[0].T > 1500.0)

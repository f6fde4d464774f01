"""Timing: every solver advances the states that it should; torch gets its threads back."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from combred.experiments.accuracy import ALONE, BEHIND, named
from combred.experiments.ignition.rollout import Case, Rollout
from combred.processes.threads import one_thread
from combred.surrogates import timing
from combred.surrogates.library.behind import SolverBehind
from combred.surrogates.library.choice import StateFunction
from combred.surrogates.timing import (
    WARM_UP,
    compare_times,
    share_in_ignitions,
    time_per_state,
)


def test_every_solver_advances_its_number_of_states():
    seen = {"a": [], "b": []}

    def advance(name):
        return SimpleNamespace(advance=lambda T, p, Y, dt: seen[name].append((len(T), dt)))

    states = np.ones((10, 5))
    solvers = {"a": (advance("a"), 3), "b": (advance("b"), 99)}
    times = time_per_state(solvers, states, 1e-6, repeats=2)
    assert seen == {"a": [(3, 1e-6)] * (WARM_UP + 2), "b": [(10, 1e-6)] * (WARM_UP + 2)}
    assert all(t["fastest"] <= t["median"] <= t["slowest"] for t in times.values())


def test_the_number_of_threads_is_restored_even_after_an_error():
    before = torch.get_num_threads()
    with pytest.raises(RuntimeError), one_thread():
        assert torch.get_num_threads() == 1
        raise RuntimeError
    assert torch.get_num_threads() == before


def test_the_comparison_names_every_solver(mechanism, surrogate, path, monkeypatch):
    # compiling takes seconds
    monkeypatch.setattr(timing, "fastest", lambda one, alone: StateFunction(one))
    monkeypatch.setattr(timing, "with_solver", SolverBehind)
    states = path.state.numpy()[:8]
    result = compare_times(mechanism, {0: surrogate}, states, path.dt)
    names = ["CVODE rtol 1e-08 atol 1e-16", "CVODE rtol 1e-06 atol 1e-10"]
    names += ["solver, tolerance 0.01", named(0, ALONE), named(0, BEHIND)]
    assert list(result["times"]) == names and result["machine"]
    solved = SolverBehind(surrogate).attempt(path.T[:8], path.p[:8], path.Y[:8], path.dt).steps > 0
    assert result["solved"] == {"stage 0": solved.mean()}


def test_the_share_left_to_the_solver_is_that_of_the_states_up_to_twice_the_delay(h2o2):
    """Of a chemistry that leaves the states above 2000 K."""
    t, T = np.arange(11) * 1e-6, np.array([1000.0] * 5 + [2500.0] * 6)
    run = Rollout(Case(1000.0, 1e5, 1.0), t, T, np.full((11, h2o2.n_species), 0.1))
    hot = SimpleNamespace(attempt=lambda T, p, Y, dt: SimpleNamespace(steps=T > 2000.0))
    errors = {"cases": [{"reference_delay": 3e-6}]}
    assert share_in_ignitions(hot, [run], errors) == 2 / 7  # of the states 0 to 6 two are hot

"""Timing: every solver advances the states that it should; torch gets its threads back."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from combred.processes.threads import one_thread
from combred.surrogates import timing
from combred.surrogates.library.choice import StateFunction
from combred.surrogates.timing import WARM_UP, compare_times, time_per_state


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
    monkeypatch.setattr(timing, "fastest", StateFunction)  # compiling takes seconds
    states = path.state.numpy()[:8]
    result = compare_times(mechanism, {0: surrogate}, states, path.dt)
    names = ["CVODE rtol 1e-08 atol 1e-16", "CVODE rtol 1e-06 atol 1e-10"]
    names += ["solver, tolerance 0.01", "stage 0"]
    assert list(result["times"]) == names and result["solved"] == {}
    assert result["machine"]

"""Timing: every solver advances the states that it should; torch gets its threads back."""

from types import SimpleNamespace

import numpy as np
import torch

from combred.config import ChemistrySettings
from combred.native import scripted
from combred.threads import one_thread
from combred.validation import timing
from combred.validation.timing import (
    WARM_UP,
    compare_times,
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
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
            raise RuntimeError
    except RuntimeError:
        pass
    assert torch.get_num_threads() == before


def test_the_scripted_surrogate_equals_the_surrogate(surrogate, path):
    T, Y = scripted(surrogate).advance(path.T, path.p, path.Y, path.dt)
    T_eager, Y_eager = surrogate.advance(path.T, path.p, path.Y, path.dt)
    # Freezing may reorder operations; the network is float32.
    assert np.allclose(T, T_eager, rtol=1e-6) and np.allclose(Y, Y_eager, rtol=1e-4, atol=1e-10)


def test_the_comparison_names_every_solver(mechanism, surrogate, path, monkeypatch):
    monkeypatch.setattr(timing, "fastest", lambda surrogate: surrogate)  # seconds; tested above
    states = path.state.numpy()[:8]
    result = compare_times(
        mechanism, {0: surrogate}, ChemistrySettings(), states, path.dt, repeats=1
    )
    assert list(result["times"]) == [
        "CVODE rtol 1e-08 atol 1e-16",
        "CVODE rtol 1e-06 atol 1e-10",
        "stage 0",
    ]
    assert result["cores"] == 1 and result["machine"]

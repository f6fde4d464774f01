"""The states for which models are timed."""

import h5py
import numpy as np
import pytest

import combred
from benchmarks import kept
from benchmarks.times import ANY_ERROR, BUSY, busy_states, states_of
from combred.experiments.ignition.rollout import Case, Rollout
from combred.native import NativeSurrogate, compile
from combred.validation.timing import share_solved


def rollout(n: int, p: float) -> Rollout:
    T, Y = np.linspace(1000.0, 2000.0, n), np.full((n, 3), -1e-20)
    Y[:, 0] = 1.0
    return Rollout(Case(1000.0, p, 1.0), np.arange(n) * 1e-6, T, Y)


def test_states_are_spread_over_all_rollouts():
    states = states_of([rollout(300, 1e5), rollout(100, 2e5)], 40)
    assert states.shape == (40, 5)
    assert (states[:, 1] == 1e5).sum() == 30 and (states[:, 1] == 2e5).sum() == 10
    assert states[0, 0] == 1000.0 and states[-1, 0] == 2000.0
    assert states[:, 2:].min() == 0.0  # an integrator may leave small negative values


def test_busy_states_are_taken_again_and_again(tmp_path):
    T, Y = np.array([1000.0, 1500.0, 2000.0]), np.arange(6.0).reshape(3, 2)
    with h5py.File(tmp_path / "flows.h5", "w") as file:
        file.attrs[kept.KEY] = kept.code_of("flow_states")
        kind = file.create_group(f"flows/{BUSY}")
        kind["T"], kind["p"], kind["Y"] = T, np.full(3, 1e5), Y
    states = busy_states(tmp_path / "flows.h5", 7)
    assert states[:, 0].tolist() == [*T, *T, 1000.0] and (states[:, 1] == 1e5).all()
    assert np.array_equal(states[3:6, 2:], Y)
    with h5py.File(tmp_path / "flows.h5", "a") as file:
        file.attrs[kept.KEY] = "other code"
    with pytest.raises(ValueError, match="draw them again"):
        busy_states(tmp_path / "flows.h5", 7)


def test_the_network_alone_leaves_no_state_to_the_solver():
    surrogate = compile(combred.load("drm19-11k"))
    Y = combred.load_mechanism("drm19.yaml").mixture("CH4:1", "O2:1, N2:3.76", 1.0)
    states = np.column_stack([states_of([rollout(300, 1e5)], 4)[:, :2], np.tile(Y, (4, 1))])
    longest = surrogate.dt_range[1]
    assert share_solved(surrogate, states, 2.0 * longest) == 1.0
    alone = NativeSurrogate(surrogate.library.path, ANY_ERROR)
    assert share_solved(alone, states, longest) == 0.0

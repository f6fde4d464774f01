"""The test states of flows: their streams, labels and file."""

import cantera as ct
import numpy as np
import pytest

from benchmarks import flow_states
from benchmarks.flow_states import ATM, FlowStates, label, read, write
from combred.chemistry.mechanism import load_mechanism
from combred.chemistry.reactor import Reactor

CHEAP = [kind for kind in flow_states.COUNTS if not kind.startswith("counterflow")]


@pytest.fixture(scope="module")
def drm19():
    ct.suppress_thermo_warnings()
    return load_mechanism(flow_states.MECHANISM)


@pytest.mark.parametrize("kind", CHEAP)
def test_states_are_distinct_and_depend_on_the_seed_and_the_kind_alone(drm19, kind):
    maker = FlowStates(drm19)
    states = maker.draw(kind, 12)
    assert states.shape == (12, 2 + drm19.n_species)
    assert len(np.unique(states[:, 0])) == 12
    assert np.all(states[:, 2:] >= 0) and np.allclose(states[:, 2:].sum(1), 1.0)
    assert np.array_equal(maker.draw(kind, 12), states)
    assert not np.array_equal(FlowStates(drm19, seed=1).draw(kind, 12), states)


def test_ignitions_lie_in_their_range_of_pressure(drm19):
    for kind, low, high in (("ignitions at 4 to 40 atm", 4, 40), (CHEAP[-1], 0.5, 2)):
        p = FlowStates(drm19).draw(kind, 24)[:, 1] / ATM
        assert p.min() >= low and p.max() <= high and len(np.unique(p)) == 3


def test_states_of_a_counterflow_flame_lie_on_the_flame(h2o2, monkeypatch):
    class Flame:
        T = np.array([300.0, 1500.0, 2200.0, 900.0, 300.0])
        Y = np.eye(h2o2.n_species)[:, :5]

    monkeypatch.setattr(flow_states, "strained_flames", lambda *_, **__: iter([Flame()]))
    states = FlowStates(h2o2).draw("counterflow", 200)
    assert states[:, 0].min() >= 300.0 and states[:, 0].max() <= 2200.0
    assert states[:, 0].max() > 2100.0
    for T, _, *Y in states:  # T is the same mean of two neighbours as Y
        assert T == pytest.approx(np.dot(Flame.T, Y[:5]))
        assert np.count_nonzero(Y) <= 2
    assert {tuple(np.nonzero(row[2:])[0]) for row in states} >= {(0, 1), (1, 2), (2, 3), (3, 4)}


def test_labels_are_those_of_separate_integrations(drm19):
    states = FlowStates(drm19).draw("burnt and fresh, aged", 3)
    T, Y = label(drm19, states)
    assert T.shape == (4, 3) and Y.shape == (4, 3, drm19.n_species)
    reactor = Reactor(drm19, 1e-10, 1e-18)
    for j, dt in enumerate(flow_states.DT):
        for i, state in enumerate(states):
            reactor.start(state[0], state[1], state[2:])
            expected = reactor.advance(dt)
            assert T[j, i] == pytest.approx(expected[0], abs=1e-5)
            assert Y[j, i] == pytest.approx(expected[1], rel=1e-5, abs=1e-12)


def test_the_file_is_read_back_and_failed_labels_are_left_out(drm19, tmp_path, monkeypatch):
    def fails_first(mechanism, states):
        T, Y = label(mechanism, states)
        T[3, 0] = np.nan
        return T, Y

    monkeypatch.setattr(flow_states, "label", fails_first)
    kind = "hot products and CH4"
    summary = write(tmp_path / "states.h5", drm19, {kind: 4})
    assert summary[kind]["states"] == 3 and summary[kind]["failed"] == 1
    stored = read(tmp_path / "states.h5")[kind]
    expected = FlowStates(drm19).draw(kind, 4)[1:]
    assert np.array_equal(np.column_stack([stored["T"], stored["p"], stored["Y"]]), expected)
    assert stored["T_next"].shape == (4, 3) and stored["Y_next"].shape == (4, 3, drm19.n_species)
    assert stored["dt"].tolist() == list(flow_states.DT)


def test_states_around_a_models_range_have_a_group_of_their_own(drm19, tmp_path, monkeypatch):
    other = np.array([[1500.0, ATM, *drm19.mixture("CH4:1", "O2:1, N2:3.76", 1.0)]])
    monkeypatch.setattr(flow_states.trust_states, "draw", lambda *_: {"hotter": other})
    write(tmp_path / "states.h5", drm19, {"burnt and fresh": 1}, around=1)
    assert list(read(tmp_path / "states.h5")) == ["burnt and fresh"]
    around = read(tmp_path / "states.h5", "around")
    assert list(around) == ["hotter"] and around["hotter"]["T"] == [1500.0]

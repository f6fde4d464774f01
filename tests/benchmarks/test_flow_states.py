"""The test states of flows: their streams, labels and file."""

import cantera as ct
import numpy as np
import pytest

from benchmarks import flow_states
from benchmarks.flow_states import FlowStates, label, read, write
from combred.chemistry.reactor import Reactor

KINDS = [kind for kind in flow_states.COUNTS if not kind.startswith("counterflow")]


def test_states_are_distinct_and_depend_on_the_seed_and_the_kind_alone(drm19):
    ct.suppress_thermo_warnings()
    maker = FlowStates(drm19)
    drawn = {kind: maker.draw(kind, 12) for kind in KINDS}
    for kind, states in drawn.items():
        assert states.shape == (12, 2 + drm19.n_species) and len(np.unique(states[:, 0])) == 12
        assert np.all(states[:, 2:] >= 0) and np.allclose(states[:, 2:].sum(1), 1.0)
        if kind.startswith("ignitions at"):
            low, high = map(float, kind.split()[2:5:2])
            p = states[:, 1] / flow_states.ATM
            assert p.min() >= low and p.max() <= high and len(np.unique(p)) > 1
    assert np.array_equal(maker.draw(KINDS[0], 12), drawn[KINDS[0]])
    assert not np.array_equal(FlowStates(drm19, seed=1).draw(KINDS[0], 12), drawn[KINDS[0]])


def test_states_of_a_counterflow_flame_lie_on_the_flame(h2o2, monkeypatch):
    class Flame:
        T = np.array([300.0, 1500.0, 2200.0, 900.0, 300.0])
        Y = np.eye(h2o2.n_species)[:, :5]

    monkeypatch.setattr(flow_states, "strained_flames", lambda *_, **__: iter([Flame()]))
    states = FlowStates(h2o2).draw("counterflow", 200)
    for T, _, *Y in states:  # T is the same mean of two neighbours as Y
        assert T == pytest.approx(np.dot(Flame.T, Y[:5])) and np.count_nonzero(Y) <= 2
    assert {tuple(np.nonzero(row[2:])[0]) for row in states} >= {(0, 1), (1, 2), (2, 3), (3, 4)}


def test_the_file_has_labels_of_separate_integrations_without_those_that_failed(
    drm19, tmp_path, monkeypatch
):
    def fails_first(mechanism, states):
        T, Y = label(mechanism, states)
        T[3, 0] = np.nan
        return T, Y

    kind, other = "hot products and CH4", FlowStates(drm19).draw("burnt and fresh", 1)
    monkeypatch.setattr(flow_states, "label", fails_first)
    monkeypatch.setattr(flow_states.trust_states, "draw", lambda *_: {"hotter": other})
    summary = write(tmp_path / "states.h5", drm19, {kind: 4}, around=1)
    assert summary[kind]["states"] == 3 and summary[kind]["failed"] == 1
    stored, states = read(tmp_path / "states.h5")[kind], FlowStates(drm19).draw(kind, 4)[1:]
    assert np.array_equal(np.column_stack([stored["T"], stored["p"], stored["Y"]]), states)
    assert stored["dt"].tolist() == list(flow_states.DT)
    assert list(read(tmp_path / "states.h5", "around")) == ["hotter"]
    reactor = Reactor(drm19, 1e-10, 1e-18)
    for j, dt in enumerate(flow_states.DT):
        reactor.start(states[0, 0], states[0, 1], states[0, 2:])
        T, Y = reactor.advance(dt)
        assert stored["T_next"][j, 0] == pytest.approx(T, abs=1e-5)
        assert stored["Y_next"][j, 0] == pytest.approx(Y, rel=1e-5, abs=1e-12)

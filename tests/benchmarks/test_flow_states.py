"""The test states of flows: their streams, labels and file."""

import numpy as np
import pytest

from benchmarks import flow_states
from benchmarks.flow_states import FlowStates, label, read, write
from combred.chemistry.reactor import Reactor


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

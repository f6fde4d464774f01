"""Mixing layers: states between two streams, and their labels."""

import numpy as np
import pytest

from combred.chemistry.reactor import Reactor
from combred.config import SamplingSettings
from combred.dataset.flow_streams import T_RANGE, FlowStreams
from combred.dataset.mixing_layers import LAYER_STEPS, PARTICLES, layer_states

SETTINGS = SamplingSettings(sampler="flow", fuel="H2:1", dt=[1e-8, 1e-5])


def streams_of(mechanism, seed: int) -> FlowStreams:
    return FlowStreams(SETTINGS, Reactor(mechanism, 1e-8, 1e-16), np.random.default_rng(seed))


@pytest.fixture(scope="module")
def layers(h2o2):
    """The rows of four layers: state, label and dt. A layer that leaves the range of T is short."""
    made = [list(layer_states(streams_of(h2o2, seed), SETTINGS)) for seed in range(8)]
    return [rows for rows in made if len(rows) > 10][:4]


def test_some_states_of_every_step_but_the_first_are_rows(layers):
    assert len(layers) == 4
    for rows in layers:
        assert len(rows) <= PARTICLES * (LAYER_STEPS - 1)
        dt = np.array([dt for _, _, dt in rows])
        assert SETTINGS.dt[0] <= dt.min() and dt.max() <= SETTINGS.dt[1]


def test_states_of_a_layer_have_one_pressure_and_lie_in_the_range_of_T(layers):
    pressures = set()
    for rows in layers:
        state = np.array([state for state, _, _ in rows])
        assert np.ptp(state[:, 1]) < 1e-9 * state[0, 1]
        assert T_RANGE[0] < state[:, 0].min() and state[:, 0].max() < T_RANGE[1]
        pressures.add(round(state[0, 1]))
    assert len(pressures) == len(layers)


def test_a_layer_between_equal_streams_has_their_elements(h2o2, monkeypatch):
    streams = streams_of(h2o2, 0)
    gas = h2o2.solution()
    gas.TPY = 900.0, 1e5, h2o2.mixture("H2:1", SETTINGS.oxidizer, 1.0)
    monkeypatch.setattr(streams, "draw", lambda p: (gas.h, gas.Y))
    rows = list(layer_states(streams, SETTINGS))
    assert len(rows) > 10
    for state, later, _ in rows:
        for values in (state, later):
            assert h2o2.elements @ values[2:] == pytest.approx(h2o2.elements @ gas.Y, abs=1e-10)
    assert max(abs(later[0] - state[0]) for state, later, _ in rows) > 1.0  # K: they react


def test_states_of_a_layer_lie_between_its_streams(h2o2, monkeypatch):
    streams, gas = streams_of(h2o2, 1), h2o2.solution()
    ends = []
    for composition in ("O2:1, N2:3.76", "H2:1"):
        gas.TPX = 600.0, 1e5, composition
        ends.append((gas.h, gas.Y))
    drawn = iter(ends)
    monkeypatch.setattr(streams, "draw", lambda p: next(drawn))
    rows = list(layer_states(streams, SETTINGS))
    atoms = np.array([h2o2.elements @ state[2:] for state, _, _ in rows])
    air, fuel = (h2o2.elements @ Y for _, Y in ends)
    share = (atoms - air) @ (fuel - air) / ((fuel - air) @ (fuel - air))
    assert share.min() > -1e-9 and share.max() < 1 + 1e-9 and np.ptp(share) > 0.1
    assert atoms == pytest.approx(air + share[:, None] * (fuel - air), abs=1e-10)

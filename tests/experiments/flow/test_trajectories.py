"""Ignitions, mixtures and layers: where their states lie, and what they conserve."""

import cantera as ct
import numpy as np
import pytest

from combred.experiments.flow import ignitions, layers, mixtures


def fuel_share(mechanism, states: np.ndarray, settings) -> np.ndarray:
    """The mass fraction of atoms that come from the fuel, 0 in air and 1 in fuel."""
    gas, found = mechanism.solution(), []
    for state in states:
        gas.set_unnormalized_mass_fractions(state[2:])
        found.append(gas.mixture_fraction(settings.fuel, settings.oxidizer))
    return np.array(found)


def test_ignitions_begin_with_fresh_gas_some_of_it_hotter_or_mixed(streams_of, h2o2):
    begin = ignitions.fresh_gases(streams_of(h2o2), 400)
    fresh = begin[:, 2 + h2o2.index("H2O")] == 0.0
    assert fresh.mean() > 0.6  # 30 % are mixtures, some with burnt gas
    hottest = streams_of(h2o2).settings.T0[1]
    hot = begin[:, 0] > hottest
    assert 0.03 < hot.mean() < 0.17 and begin[:, 0].max() < hottest + ignitions.HOTTER


def test_a_path_is_that_of_cantera_to_its_end(streams_of, mechanism, path):
    begin = np.concatenate([[path.T[0], path.p[0]], path.Y[0]])[None]
    which, states, t, step, length = ignitions.march(streams_of(mechanism), begin)
    assert (which == 0).all() and np.allclose(t[1:], np.cumsum(step)[:-1])
    assert length.max() < ignitions.LARGEST
    assert ignitions.PATH - ignitions.LARGEST < length.sum() < ignitions.PATH + ignitions.LARGEST
    gas = mechanism.solution()
    gas.TPY = begin[0, 0], begin[0, 1], begin[0, 2:]
    reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-10, 1e-20
    off = []
    for time, state in zip(t[1:], states[1:], strict=True):
        net.advance(time)
        off.append(abs(reactor.T - state[0]))
    # The steps of the path are less precise than labels: the ignition is early or late by a little.
    assert np.median(off) < 5.0 and max(off) < 150.0  # K
    assert np.ptp(states[:, 0]) > 500.0


def test_states_of_ignitions_are_dense_where_the_gas_reacts(streams_of, mechanism):
    streams = streams_of(mechanism)
    states, dt = ignitions.ignitions(streams, 600)
    assert 450 < len(states) == len(dt) < 800
    assert np.ptp(states[:, 0]) > 1000.0
    rise = np.abs(streams.react(states, dt)[:, 0] - states[:, 0])
    assert rise.max() > 100.0  # K in a dt
    share = fuel_share(mechanism, states, streams.settings)
    gas = mechanism.solution()
    gas.set_equivalence_ratio(4.0, streams.settings.fuel, streams.settings.oxidizer)
    richest = gas.mixture_fraction(streams.settings.fuel, streams.settings.oxidizer)
    assert np.mean((share < richest) & (share > 0.0)) > 0.6  # 70 % of them are premixed


def test_a_mixture_has_the_enthalpy_and_the_species_of_its_streams(streams_of, h2o2):
    streams, n = streams_of(h2o2), h2o2.n_species

    h = streams.thermo.enthalpy(np.linspace(500.0, 1500.0, n), np.eye(n))  # of a pure species each
    streams.draw = lambda p: (np.resize(h, len(p)), np.resize(np.eye(n), (len(p), n)))
    states = mixtures.mixed(streams, np.full(200, 2e5))
    T, Y = states[:, 0], states[:, 2:]
    count = (Y > 0.0).sum(1)
    assert set(count) == {2, 3} and 60 < (count == 2).sum() < 140
    assert Y.sum(1) == pytest.approx(np.ones(200), abs=1e-12)
    assert streams.thermo.enthalpy(T, Y) == pytest.approx(Y @ h, abs=1e-3)


def two_streams(mechanism, streams, compositions, n):
    """Streams at 900 K that `draw` gives in turn, for n layers."""
    ends = []
    for composition in compositions:
        gas = mechanism.solution()
        gas.TPX = 900.0, 1e5, composition
        ends.append((gas.h, gas.Y))
    h, Y = zip(*ends * n, strict=True)
    streams.draw = lambda p: (np.array(h), np.array(Y))
    return ends


def test_states_of_a_layer_lie_between_its_streams(streams_of, h2o2):
    streams = streams_of(h2o2, p=[1e5, 1e5])
    (_, air), (_, fuel) = two_streams(h2o2, streams, ("O2:1, N2:3.76", "H2:1"), 3)
    states, _ = layers.layers(streams, 3 * layers.ROWS)
    assert len(states) > 100
    atoms, air, fuel = states[:, 2:] @ h2o2.elements.T, h2o2.elements @ air, h2o2.elements @ fuel
    share = (atoms - air) @ (fuel - air) / ((fuel - air) @ (fuel - air))
    assert share.min() > -1e-6 and share.max() < 1 + 1e-6 and np.ptp(share) > 0.1
    assert atoms == pytest.approx(air + share[:, None] * (fuel - air), abs=1e-6)  # floats

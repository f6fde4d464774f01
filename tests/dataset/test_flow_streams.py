"""Streams of a flow: their kinds, their temperatures, and their mixtures."""

import numpy as np
import pytest

from combred.chemistry.reactor import Reactor
from combred.config import SamplingSettings
from combred.dataset.flow_streams import (
    AIR_T,
    COLD,
    COLDEST,
    FRESH_T,
    INERT_GAS,
    OTHER,
    STREAMS,
    FlowStreams,
)

P = 2e5  # Pa
SETTINGS = SamplingSettings(sampler="flow", fuel="H2:1", phi=[0.5, 2.0])


@pytest.fixture
def streams(h2o2):
    return FlowStreams(SETTINGS, Reactor(h2o2, 1e-8, 1e-16), np.random.default_rng(0))


def drawn(streams, mechanism, count: int) -> tuple[np.ndarray, np.ndarray]:
    """T (count,) and Y (count, n_species) of random streams."""
    gas, T, Y = mechanism.solution(), [], []
    for _ in range(count):
        h, mass_fractions = streams.draw(P)
        gas.HPY = h, P, mass_fractions
        T.append(gas.T)
        Y.append(mass_fractions)
    return np.array(T), np.array(Y)


def test_kinds_of_streams_have_their_probabilities(streams, h2o2):
    n = 400
    T, Y = drawn(streams, h2o2, n)
    H2, O2, H2O = (Y[:, h2o2.index(name)] for name in ("H2", "O2", "H2O"))
    air, fuel, burnt = (H2 == 0.0) & (H2O == 0.0), O2 == 0.0, H2O > 0.05
    fresh = (H2 > 0.0) & (O2 > 0.0) & ~burnt
    # An aged stream is a fresh one while there is no aged state.
    expected = STREAMS | {"fresh": STREAMS["fresh"] + STREAMS["aged"]}
    for kind, rows in (("air", air), ("fuel", fuel), ("burnt", burnt), ("fresh", fresh)):
        deviation = (expected[kind] * (1 - expected[kind]) / n) ** 0.5
        assert abs(rows.mean() - expected[kind]) < 4 * deviation, kind
    for rows, (low, high) in ((air, AIR_T), (fuel | fresh, FRESH_T)):
        assert low - 1e-6 < T[rows].min() and T[rows].max() < high + 1e-6
        cold = np.mean(T[rows] < low + COLDEST)
        assert abs(cold - COLD - (1 - COLD) * COLDEST / (high - low)) < 4 * 0.5 / rows.sum() ** 0.5
    assert T[burnt].min() > 1000.0


def test_some_oxidizers_have_other_inert_gas(streams, h2o2):
    X = np.array([streams.oxidizer() for _ in range(1000)])
    assert X.sum(1) == pytest.approx(1.0, abs=1e-12)
    O2, N2, AR = (X[:, h2o2.index(name)] for name in ("O2", "N2", "AR"))
    other = AR > 0.0
    assert N2[~other] / O2[~other] == pytest.approx(3.76, rel=1e-12)
    assert abs(other.mean() - OTHER) < 4 * (OTHER * (1 - OTHER) / 1000) ** 0.5
    factor = (N2 + AR)[other] / O2[other] / 3.76
    assert INERT_GAS[0] < factor.min() < 0.5 and 1.5 < factor.max() < INERT_GAS[1]
    share = AR[other] / (N2 + AR)[other]
    assert share.min() < 0.2 and share.max() > 0.8


def test_an_oxidizer_without_inert_gas_stays_as_it_is(h2o2):
    settings = SamplingSettings(sampler="flow", fuel="H2:1", oxidizer="O2:1")
    streams = FlowStreams(settings, Reactor(h2o2, 1e-8, 1e-16), np.random.default_rng(0))
    for _ in range(50):
        assert streams.oxidizer()[h2o2.index("O2")] == 1.0


def test_aged_states_become_streams(streams, h2o2):
    mark = np.zeros(h2o2.n_species)
    mark[h2o2.index("AR")] = 1.0  # in no other stream
    streams.aged = [np.concatenate([[1234.5, 3e5], mark])]
    T, Y = drawn(streams, h2o2, 200)
    marked = Y[:, h2o2.index("AR")] == 1.0
    assert abs(marked.mean() - STREAMS["aged"]) < 4 * (0.3 * 0.7 / 200) ** 0.5
    assert T[marked] == pytest.approx(1234.5, abs=1e-6)  # at another pressure


def test_a_mixture_has_the_enthalpy_and_the_species_of_its_streams(streams, h2o2):
    gas = h2o2.solution()
    for _ in range(20):
        pair, weights = [streams.draw(P) for _ in range(2)], np.array([0.3, 0.7])
        T, p, *Y = streams.mixed(pair, weights, P)
        assert p == pytest.approx(P, rel=1e-12)
        assert Y == pytest.approx(0.3 * pair[0][1] + 0.7 * pair[1][1], abs=1e-15)
        gas.TPY = T, p, Y
        expected = 0.3 * pair[0][0] + 0.7 * pair[1][0]
        assert gas.h == pytest.approx(expected, abs=1e-4 * gas.cp)  # K; Cantera solves for T


def test_premixed_gas_has_an_equivalence_ratio_of_the_settings(streams, h2o2):
    gas, ratios = h2o2.solution(), []
    for _ in range(200):
        gas.TPY = 300.0, P, streams.premixed(300.0, P)
        ratios.append(gas.equivalence_ratio())
    low, high = SETTINGS.phi
    assert low * (1 - 1e-9) < min(ratios) and max(ratios) < high * (1 + 1e-9)
    halves = np.mean(np.array(ratios) < (low * high) ** 0.5)  # uniform in the logarithm
    assert abs(halves - 0.5) < 4 * 0.5 / 200**0.5

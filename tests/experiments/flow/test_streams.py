"""Streams of a flow: their kinds, their temperatures, their equilibrium, and time steps apart."""

import numpy as np
import pytest

from combred.experiments.flow.streams import INERT_GAS, OTHER, STREAMS, apart

P = 2e5  # Pa
N = 400  # streams


@pytest.fixture
def streams(streams_of, h2o2):
    return streams_of(h2o2, phi=[0.5, 2.0])


def test_some_oxidizers_have_other_inert_gas(streams, h2o2):
    moles = streams.oxidizer(1000) / h2o2.molecular_weights
    O2, N2, AR = (moles[:, h2o2.index(name)] for name in ("O2", "N2", "AR"))
    other = AR > 0.0
    assert N2[~other] / O2[~other] == pytest.approx(3.76, rel=1e-12)
    assert abs(other.mean() - OTHER) < 4 * (OTHER * (1 - OTHER) / 1000) ** 0.5
    factor = (N2 + AR)[other] / O2[other] / 3.76
    assert INERT_GAS[0] < factor.min() < 0.5 and 1.5 < factor.max() < INERT_GAS[1]
    share = AR[other] / (N2 + AR)[other]
    assert share.min() < 0.2 and share.max() > 0.8


def test_an_oxidizer_without_inert_gas_stays_as_it_is(streams_of, h2o2):
    assert (streams_of(h2o2, oxidizer="O2:1").oxidizer(50)[:, h2o2.index("O2")] == 1.0).all()


def test_aged_states_become_streams_at_another_pressure(streams, h2o2):
    mark = np.zeros(h2o2.n_species)
    mark[h2o2.index("AR")] = 1.0  # in no other stream
    streams.aged = np.concatenate([[1234.5, 3e5], mark])[None]
    h, Y = streams.draw(np.full(N, P))
    marked = Y[:, h2o2.index("AR")] == 1.0
    assert abs(marked.mean() - STREAMS["aged"]) < 4 * (0.3 * 0.7 / N) ** 0.5
    found = streams.states(h[marked], np.full(marked.sum(), P), Y[marked])
    assert found[:, 0] == pytest.approx(1234.5, abs=1e-6)


def test_a_state_without_temperature_is_nan(streams):
    Y = streams.premixed(3)
    T = streams.states(np.array([1e9, np.nan, 1e5]), np.full(3, P), Y)[:, 0]
    assert np.isnan(T[:2]).all() and np.isfinite(T[2])


def test_equilibrium_is_that_of_cantera_and_nan_where_it_fails(streams, h2o2):
    Y, T, p = streams.premixed(3), np.array([300.0, np.nan, 900.0]), np.full(3, P)
    burnt_T, burnt_Y = streams.equilibrium(T, p, Y)
    assert np.isnan(burnt_T[1]) and np.isnan(burnt_Y[1]).all()
    gas = h2o2.solution()
    gas.TPY = T[2], P, Y[2]
    gas.equilibrate("HP")
    assert burnt_T[2] == pytest.approx(gas.T, rel=1e-5)
    assert burnt_Y[2] == pytest.approx(gas.Y, abs=1e-5)


@pytest.mark.parametrize("oxidizer", ["O2:1, N2:3.76", "O2:1, H2O:0.3"])
def test_premixed_gas_has_an_equivalence_ratio_of_the_settings(streams_of, mechanism, oxidizer):
    streams, gas = streams_of(mechanism, phi=[0.5, 2.0], oxidizer=oxidizer), mechanism.solution()
    ratios = []
    for Y in streams.premixed(200):
        gas.TPY = 300.0, P, Y
        ratios.append(gas.equivalence_ratio(streams.settings.fuel, streams.settings.oxidizer))
    low, high = streams.settings.phi
    if "N2" not in oxidizer:  # others have other inert gas
        assert low * (1 - 1e-9) < min(ratios) and max(ratios) < high * (1 + 1e-9)
    halves = np.mean(np.array(ratios) < (low * high) ** 0.5)  # uniform in the logarithm
    assert abs(halves - 0.5) < 4 * 0.5 / 200**0.5


def test_times_within_a_time_step_that_is_kept_are_left_out():
    times = np.array([[0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0, 4.0]])
    dt = np.array([[0.5, 1.5, 9.0, 0.1, 0.1], [2.5, 0.1, 0.1, 2.0, 0.1]])
    assert apart(times, dt).tolist() == [[1, 1, 0, 1, 1], [1, 0, 0, 1, 0]]

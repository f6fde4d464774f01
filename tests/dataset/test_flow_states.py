"""States of a flow: kinds, ranges and time steps of the rows; labels by Cantera alone; failures."""

from dataclasses import dataclass, replace

import cantera as ct
import numpy as np
import pytest

from combred.chemistry.reactor import IntegrationError, Reactor
from combred.config import ChemistrySettings, SamplingSettings
from combred.dataset import flow_states as module
from combred.dataset.flow_states import HOTTER, KINDS, ROWS, SHARES, FlowStates
from combred.dataset.flow_streams import T_RANGE, FlowStreams

FUELS = {"drm19.yaml": "CH4:1", "h2o2.yaml": "H2:1"}
SETTINGS = SamplingSettings(sampler="flow", dt=[1e-8, 1e-5], p=[3e4, 6e6])
FEW = 64  # rows of a small block


@dataclass(frozen=True)
class Rows:
    """The rows of a block as arrays: states and labels [T, p, Y] (n, 2 + n_species), dt (n,) [s],
    kind (n,)."""

    state: np.ndarray
    later: np.ndarray
    dt: np.ndarray
    kind: np.ndarray

    def same(self, other: "Rows") -> bool:
        """Whether all values are equal to the last bit."""
        return all(np.array_equal(a, vars(other)[name]) for name, a in vars(self).items())


def make_states(mechanism, seed: int = 0, **changes) -> FlowStates:
    settings = replace(SETTINGS, **{"fuel": FUELS[mechanism.name], **changes})
    return FlowStates(mechanism, settings, ChemistrySettings(), seed)


def block_of(states: FlowStates, index: int) -> Rows:
    return Rows(*(np.array(column) for column in zip(*states.block(index), strict=True)))


@pytest.fixture(scope="module")
def rows(mechanism) -> Rows:
    """Block 1 of each mechanism."""
    return block_of(make_states(mechanism), 1)


@pytest.fixture(scope="module")
def both(rows, mechanism) -> tuple[Rows, Rows]:
    """Blocks 1 and 2 of each mechanism: one has layers, the other flames."""
    return rows, block_of(make_states(mechanism), 2)


@pytest.fixture
def small(monkeypatch):
    """Blocks of `FEW` rows, where a test does not count on many."""
    monkeypatch.setattr(module, "ROWS", FEW)


# -- a block ---------------------------------------------------------------------------------------


def test_a_block_depends_on_seed_and_index_alone(h2o2, small):
    """The last bit of a pressure once depended on the block before, and the rows on that bit."""
    one, other = make_states(h2o2), make_states(h2o2)
    upwards = [block_of(one, i) for i in range(4)]
    downwards = [block_of(other, i) for i in (3, 2, 1, 0)][::-1]
    assert all(a.same(b) for a, b in zip(upwards, downwards, strict=True))
    assert block_of(one, 1).same(upwards[1])


def test_another_index_or_seed_gives_other_rows(h2o2, small):
    blocks = [block_of(make_states(h2o2, seed), i) for seed, i in ((0, 0), (0, 1), (1, 0))]
    dt = np.concatenate([block.dt for block in blocks])
    assert len(np.unique(dt)) == 3 * FEW


def test_two_blocks_have_the_shares_of_their_kinds(both, mechanism):
    for rows in both:
        assert rows.state.shape == rows.later.shape == (ROWS, 2 + mechanism.n_species)
    kinds = np.concatenate([rows.kind for rows in both])
    shares = np.bincount(kinds, minlength=len(KINDS)) / len(kinds)
    # A trajectory of the kind that lags gives up to 79 rows, before another kind is drawn.
    assert np.abs(shares - list(SHARES.values())).max() < 0.07


def test_a_block_has_layers_or_flames(both):
    costly = [{"layer", "flame"} & {KINDS[k] for k in rows.kind} for rows in both]
    assert costly == [{"layer"}, {"flame"}]


def test_states_and_labels_are_physical(rows, mechanism):
    T, p = rows.state[:, 0], rows.state[:, 1]
    assert T_RANGE[0] < T.min() and T.max() < T_RANGE[1]
    # Cantera has the density and computes p from it.
    assert SETTINGS.p[0] * (1 - 1e-12) <= p.min() and p.max() <= SETTINGS.p[1] * (1 + 1e-12)
    assert np.allclose(rows.later[:, 1], p, rtol=1e-12)
    for state in (rows.state, rows.later):
        assert np.isfinite(state).all() and state[:, 2:].min() >= 0.0
        assert np.abs(state[:, 2:].sum(axis=1) - 1.0).max() < 1e-10  # CVODE does not normalise


def test_pressures_fill_their_range_evenly_in_the_logarithm(h2o2):
    states = make_states(h2o2)
    p = np.concatenate([np.unique(block_of(states, i).state[:, 1].round(2)) for i in range(3)])
    thirds = np.histogram(np.log(p), bins=3, range=np.log(SETTINGS.p))[0] / len(p)
    assert len(p) > 90
    assert np.abs(thirds - 1 / 3).max() < 0.2  # four standard deviations of a share


def test_time_steps_are_log_uniform_in_their_range(rows):
    low, high = SETTINGS.dt
    assert low <= rows.dt.min() and rows.dt.max() <= high
    uniform = np.sort(np.log(rows.dt / low) / np.log(high / low))
    expected = (np.arange(ROWS) + 0.5) / ROWS
    # Kolmogorov and Smirnov: 1.95 / sqrt(n) is exceeded by one sample in a thousand.
    assert np.abs(uniform - expected).max() < 1.95 / ROWS**0.5


def test_a_range_of_one_dt_gives_this_dt(h2o2, small):
    dt = block_of(make_states(h2o2, dt=[1e-6, 1e-6]), 0).dt
    assert np.allclose(dt, 1e-6, rtol=1e-12)  # exp(log(dt))


def test_states_are_distinct_where_anything_reacts(rows):
    different, first = np.unique(rows.state, axis=0, return_index=True)
    repeated = np.setdiff1d(np.arange(ROWS), first)
    # A mixture that does not react is the same at all times of its integration: fuel alone.
    assert len(repeated) < 0.05 * ROWS
    assert np.allclose(rows.state[repeated], rows.later[repeated], rtol=1e-12, atol=1e-15)
    pairs = np.column_stack([rows.state, rows.dt])
    assert len(np.unique(pairs, axis=0)) == ROWS


def test_mixtures_extend_from_air_to_fuel_and_ignitions_do_so_less(rows, mechanism):
    """The mass fraction of atoms that come from the fuel, 0 in air and 1 in fuel."""
    gas = mechanism.solution()
    fractions = []
    for state in rows.state:
        gas.set_unnormalized_mass_fractions(state[2:])
        fractions.append(gas.mixture_fraction(FUELS[mechanism.name], SETTINGS.oxidizer))
    share = [np.array(fractions)[rows.kind == kind] for kind in range(3)]
    assert share[1].min() < 0.01 and share[1].max() > 0.5
    gas.set_equivalence_ratio(SETTINGS.phi[1], FUELS[mechanism.name], SETTINGS.oxidizer)
    richest = gas.mixture_fraction(FUELS[mechanism.name], SETTINGS.oxidizer)
    premixed = np.sum((share[0] < richest) & (share[0] > 0.0)) / len(share[0])
    assert premixed > 0.6  # 70 % of them are premixed, and some of the others


def test_ignitions_are_cold_hot_and_between(rows):
    T = rows.state[rows.kind == 0, 0]
    rise = np.abs(rows.later - rows.state)[rows.kind == 0, 0]
    assert np.ptp(T) > 1000.0
    assert rise.max() > 100.0  # K in a dt: uniform in CVODE's steps, which are dense there


def test_ignitions_begin_with_the_fresh_gas_some_of_it_hotter_than_its_range(h2o2):
    states, rng = make_states(h2o2), np.random.default_rng(0)
    states.streams = FlowStreams(states.settings, Reactor(h2o2, 1e-8, 1e-16), rng)
    first = np.array([next(iter(states._ignition()))[0] for _ in range(100)])
    fresh = first[:, 2 + h2o2.index("H2O")] == 0.0
    assert fresh.mean() > 0.6  # 30 % are mixtures, some with burnt gas
    hottest = SETTINGS.T0[1]
    hot = first[:, 0] > hottest
    assert 0.02 < hot.mean() < 0.2 and first[:, 0].max() < hottest + HOTTER


# -- labels ----------------------------------------------------------------------------------------


def integrated(gas: ct.Solution, state: np.ndarray, dt: float) -> np.ndarray:
    """[T, p, Y] dt after a state, by Cantera alone, from a cold start with small tolerances."""
    gas.set_unnormalized_mass_fractions(state[2:])
    gas.TP = state[0], state[1]
    reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-11, 1e-20
    net.advance(dt)
    return np.array([reactor.T, gas.P, *gas.Y])


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_labels_are_the_states_a_dt_later(both, mechanism, kind):
    gas, rows = mechanism.solution(), both[KINDS[kind] == "flame"]
    mine = np.flatnonzero(rows.kind == kind)
    moved = np.abs(rows.later - rows.state)[mine, 0]
    # The rows that change most, and others.
    chosen = np.concatenate([mine[np.argsort(moved)[-4:]], mine[:: len(mine) // 8]])
    for i in chosen:
        truth = integrated(gas, rows.state[i], rows.dt[i])
        # Labels come from an integration that goes on, with CVODE's rtol of 1e-8 of every step;
        # in an ignition the error grows with the radicals. Seen: 7e-4 K, of 1400, and 3e-8.
        assert abs(rows.later[i, 0] - truth[0]) < 5e-3, i
        assert np.abs(rows.later[i, 2:] - truth[2:]).max() < 5e-7, i


def test_labels_conserve_elements_enthalpy_and_inert_species(rows, mechanism):
    moved = rows.later[:, 2:] - rows.state[:, 2:]
    assert np.abs(moved @ mechanism.elements.T).max() < 1e-12  # linear invariants
    assert np.abs(moved[:, mechanism.inert]).max() < 1e-15
    gas = mechanism.solution()
    for state, later in zip(rows.state, rows.later, strict=True):
        h = []
        for T, p, *Y in (state, later):
            gas.set_unnormalized_mass_fractions(Y)
            gas.TP = T, p
            h.append(gas.enthalpy_mass)
        assert abs(h[1] - h[0]) < 1e-4 * gas.cp_mass  # K; seen 1e-6


# -- fuels -----------------------------------------------------------------------------------------


def test_fuel_and_oxidizer_are_those_of_the_settings(h2o2, small):
    """Hydrogen in oxygen and argon: nitrogen only from the streams that have another inert gas."""
    made = make_states(h2o2, oxidizer="O2:1, AR:4", fuel="H2:1, AR:1", phi=[0.5, 2.0])
    Y = block_of(made, 0).state[:, 2:]
    N2, AR = Y[:, h2o2.index("N2")], Y[:, h2o2.index("AR")]
    assert 0.5 < np.mean(N2 == 0.0) < 1.0
    assert (AR[N2 == 0.0] > 0.1).all()
    assert Y[:, h2o2.index("H2O")].max() > 0.05


# -- failures --------------------------------------------------------------------------------------


class Failing(Reactor):
    """Fails in every integration."""

    def advance(self, t):
        raise IntegrationError("no luck")

    def step(self):
        raise IntegrationError("no luck")


def test_a_block_that_cannot_be_filled_raises_with_the_last_failure(h2o2, monkeypatch):
    monkeypatch.setattr(module, "Reactor", Failing)
    monkeypatch.setattr(module, "DRAWS", 20)  # each makes a new reactor
    with pytest.raises(IntegrationError, match=r"20 .* 0 of 256 rows; last failure: no luck"):
        make_states(h2o2).block(0)


class Unreliable(Reactor):
    """Fails in every fortieth integration over a time."""

    calls = 0

    def advance(self, t):
        Unreliable.calls += 1
        if Unreliable.calls % 40 == 0:
            raise self._fail(ct.CanteraError("CVODE gave up"))
        return super().advance(t)


def test_some_failures_leave_a_full_block_of_labelled_rows(h2o2, monkeypatch):
    monkeypatch.setattr(module, "Reactor", Unreliable)
    rows = block_of(make_states(h2o2), 0)
    assert Unreliable.calls > 300 and len(rows.state) == ROWS
    assert np.isfinite(rows.later).all()
    gas = h2o2.solution()
    for i in range(0, ROWS, 32):
        truth = integrated(gas, rows.state[i], rows.dt[i])
        assert abs(rows.later[i, 0] - truth[0]) < 5e-3


def test_a_kind_that_always_fails_gives_way_to_the_others(h2o2, small, monkeypatch):
    def without_temperature(self):
        raise ct.CanteraError("no temperature has this enthalpy")
        yield  # a generator, as the method is

    monkeypatch.setattr(FlowStates, "_layer", without_temperature)
    rows = block_of(make_states(h2o2), 0)
    assert len(rows.state) == FEW and set(rows.kind) == {0, 1, 3}

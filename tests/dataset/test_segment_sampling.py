"""Sampling of trajectory segments: the states of a segment, where segments begin, the file."""

from dataclasses import replace

import cantera as ct
import numpy as np
import pytest

from combred.chemistry.reactor import IntegrationError
from combred.config import ChemistrySettings, SamplingSettings, SegmentSettings
from combred.dataset import segment_sampling as module
from combred.dataset.plan import plan_trajectories
from combred.dataset.segment_sampling import (
    FlameStates,
    SegmentSampler,
    plan_cases,
    sample_segments,
)
from combred.dataset.segments import offsets, open_segments
from combred.dataset.states import SAMPLERS, Block, StateWriter, open_states, state_attributes
from combred.simulation.ignition import Case

STEPS = 8
AIR = "O2:1, N2:3.76"
SETTINGS = SegmentSettings(steps=STEPS, ignitions=6)
BURNT_TIME = 1e-4  # s after ignition, up to which segments begin
SAMPLING = SamplingSettings(
    sampler="premixed", states=1000, ignitions=10, fuel="H2:1", oxidizer=AIR,
    T0=[1000.0, 1500.0], p=[5e4, 2e5], phi=[0.4, 1.8], dt=[1e-7, 4e-6],
)  # fmt: skip
CASE = Case(1200.0, 101325.0, 1.0)
NO_FLAMES = FlameStates(np.empty((0, 12)), np.empty(0, int))


@pytest.fixture(scope="module")
def sampler(h2o2) -> SegmentSampler:
    few = {"each": 40, "T0_min": 1100.0, "burnt_time": BURNT_TIME}
    return SegmentSampler(h2o2, SETTINGS, SAMPLING, ChemistrySettings(), 0, **few)


@pytest.fixture(scope="module")
def sampled(sampler, tmp_path_factory):
    """A segment file, made with two processes, and its numbers."""
    path = tmp_path_factory.mktemp("segments") / "segments.h5"
    return path, sample_segments(path, sampler, NO_FLAMES, 2)


@pytest.fixture(scope="module")
def opened(sampled, h2o2):
    return open_segments(sampled[0], h2o2)


def tight(mechanism, state: np.ndarray, times: np.ndarray) -> np.ndarray:
    """[T, p, Y] at `times` after a state, by Cantera alone, with much smaller tolerances."""
    gas = mechanism.solution()
    gas.TPY = state[0], state[1], state[2:]
    reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-11, 1e-20
    out = []
    for t in times:
        net.advance(t)
        out.append([reactor.T, gas.P, *gas.Y])
    return np.array(out)


# -- segments of ignitions -------------------------------------------------------------------------


@pytest.mark.parametrize("row", range(0, 240, 17))
def test_the_states_of_a_segment_follow_from_its_first(opened, h2o2, row):
    states = opened.states[row]
    truth = tight(h2o2, states[0], opened.dt[row] * np.array(offsets(STEPS)[1:]))
    moved = np.abs(truth - states[0]).max(axis=0)
    # Of the largest change in the segment, 1e-4: CVODE's rtol is 1e-8 of the values, and the error
    # of an ignition's beginning grows by some orders until it ignites.
    error = np.abs(states[1:] - truth)
    assert (error[:, 0] < 1e-4 * moved[0] + 1e-3).all()
    assert (error[:, 2:] < 1e-4 * moved[2:] + 1e-9).all()
    assert np.all(states[:, 1] == states[0, 1])


def test_a_segment_conserves_enthalpy_and_elements(opened, h2o2):
    gas = h2o2.solution()
    for states in opened.states[::11]:
        h = []
        for T, p, *Y in states:
            gas.TPY = T, p, Y
            h.append(gas.enthalpy_mass)
        assert np.ptp(h) < 20.0  # J/kg, of 1e6: below a hundredth of a kelvin
    elements = opened.states[:, :, 2:] @ h2o2.elements.T
    assert np.abs(elements - elements[:, :1]).max() < 1e-8  # CVODE's rtol
    assert np.abs(opened.states[:, :, 2:].sum(axis=2) - 1.0).max() < 1e-12
    assert opened.states[:, :, 2:].min() >= 0.0


def test_segments_begin_before_in_and_after_the_rise_in_the_documented_shares(sampler):
    # T over t by Cantera alone.
    gas = sampler.mechanism.solution()
    gas.set_equivalence_ratio(CASE.phi, "H2:1", AIR)
    gas.TP = CASE.T0, CASE.p
    reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-10, 1e-18
    t, T, end = [0.0], [CASE.T0], np.inf
    while t[-1] < end:
        t.append(net.step())
        T.append(reactor.T)
        if T[-1] > CASE.T0 + 400.0:
            end = min(end, t[-1] + BURNT_TIME)
    t, T = np.array(t), np.array(T)
    tau = t[np.argmax(np.gradient(T, t))]
    many = replace(sampler, each=2000)
    segments, dt = many.segments(CASE, np.random.default_rng(0))
    begins, least = segments[:, 0, 0], SAMPLING.dt[0]
    assert len(begins) == len(dt) == 2000
    for share in (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98):
        at = T[0] + share * (T[-1] - T[0])
        when = np.interp(at, T, t)
        log_uniform = np.log(when / least) / np.log(end / least)
        earlier = 0.5 * min(when / (1.05 * tau), 1.0) + 0.25 * log_uniform
        # Three standard deviations of a share of 2000 draws are 0.034.
        assert np.mean(begins < at) == pytest.approx(earlier + 0.25 * share, abs=0.034)


def test_a_longer_segment_begins_with_the_shorter(sampler):
    (short, dt), (long, same_dt) = (
        replace(sampler, settings=replace(SETTINGS, steps=steps)).segments(
            CASE, np.random.default_rng(3)
        )
        for steps in (4, 16)
    )
    assert short.shape[1:] == (4, 12) and long.shape[1:] == (6, 12)
    assert np.array_equal(dt, same_dt)
    # The same integration, read out at more times: CVODE's first step depends on the first of them.
    assert np.allclose(short, long[:, :4], rtol=1e-5, atol=1e-9)


def test_time_steps_are_log_uniform_in_the_range_of_the_sampling(sampler):
    low, high = SAMPLING.dt
    dt = sampler.steps(np.random.default_rng(0), 4000)
    assert low <= dt.min() and dt.max() <= high
    quarters = np.histogram(np.log(dt), bins=4, range=np.log([low, high]))[0] / 4000
    assert np.abs(quarters - 0.25).max() < 0.028  # four standard deviations of a share


def test_a_range_of_one_dt_gives_this_dt(sampler):
    one = replace(sampler, sampling=replace(SAMPLING, dt=[1e-6, 1e-6]))
    assert (one.steps(np.random.default_rng(0), 5) == 1e-6).all()


# -- segments of flames ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(h2o2, opened, tmp_path_factory):
    """A state file of two ignitions and four flames, each with 20 exact and 10 perturbed rows. The
    states are those of segments of ignitions."""
    path = tmp_path_factory.mktemp("states") / "states.h5"
    attributes = state_attributes(h2o2, {"rtol": 1e-8, "atol": 1e-16, "seed": 0})
    writer = StateWriter(path, attributes, [30] * 6, h2o2.n_species)
    for source in range(6):
        now, later = opened.states[30 * source :][:30, 0], opened.states[30 * source :][:30, 1]
        kinds = np.repeat([0, 1], [20, 10]) + (SAMPLERS.index("flame") if source > 1 else 0)
        dt = opened.dt[30 * source :][:30]
        columns = now[:, 0], now[:, 1], now[:, 2:], dt, later[:, 0], later[:, 2:]
        writer.write(source, Block(*columns, np.full(30, source, "i4"), kinds.astype("u1")))
    writer.finish()
    return open_states(path, h2o2)


def test_flame_states_are_exact_and_not_held_out(table, opened):
    held_out = table.sources == 3
    drawn = FlameStates.drawn(table, held_out, 0, 50)
    assert np.bincount(drawn.sources, minlength=6)[[0, 1, 3]].tolist() == [0, 0, 0]
    assert len(drawn.states) == 50 and len(np.unique(drawn.states, axis=0)) == 50
    rows = {tuple(row) for source in (2, 4, 5) for row in opened.states[30 * source :][:20, 0]}
    assert all(tuple(row) in rows for row in drawn.states)
    every = FlameStates.drawn(table, held_out, 0)
    assert len(every.states) == len(every.sources) == 60
    assert FlameStates.drawn(table, table.sources > 1, 0).states.shape == (0, 12)


def test_segments_of_flames_follow_from_their_states(
    sampler, table, h2o2, tmp_path, in_this_process, monkeypatch
):
    flames = FlameStates.drawn(table, table.sources == 3, 0, 30)
    monkeypatch.setattr(module, "AT_ONCE", 8)  # 30 is no multiple of it
    path, calls = tmp_path / "segments.h5", []
    numbers = sample_segments(path, sampler, flames, 1, lambda *done: calls.append(done))
    assert (numbers["segments"], numbers["flames"]) == (270, 30) and calls[-1] == (10, 10)
    segments = open_segments(path, h2o2)
    assert np.array_equal(segments.trajectories[240:], 6 + flames.sources)
    rows = zip(segments.states[240:], segments.dt[240:], flames.states, strict=True)
    for segment, dt, state in list(rows)[::7]:
        truth = tight(h2o2, state, 1e-9 + dt * np.array(offsets(STEPS)))
        assert np.allclose(segment[:, 0], truth[:, 0], rtol=1e-5)  # of CVODE's rtol, 8 steps on
        assert np.allclose(segment[:, 2:], truth[:, 2:], rtol=1e-4, atol=1e-9)


def test_states_that_cvode_cannot_integrate_begin_no_segment(
    sampler, table, h2o2, tmp_path, in_this_process
):
    flames = FlameStates.drawn(table, table.sources == 3, 0, 10)
    flames.states[4, 0] = np.nan
    numbers = sample_segments(tmp_path / "segments.h5", sampler, flames, 1)
    assert numbers["flames"] == 9
    kept = open_segments(tmp_path / "segments.h5", h2o2)
    assert np.array_equal(kept.trajectories[240:], 6 + np.delete(flames.sources, 4))
    # The time steps stay with their segments.
    truth = tight(h2o2, flames.states[5], 1e-9 + kept.dt[244] * np.array(offsets(STEPS)))
    assert np.allclose(kept.states[244, :, 0], truth[:, 0], rtol=1e-5)


def test_the_provenance_has_the_settings_of_segments_and_states(sampler):
    other_states = replace(sampler, sampling=replace(SAMPLING, states=2000))
    other_segments = replace(sampler, settings=replace(SETTINGS, steps=4))
    other_seed = replace(sampler, seed=1)
    for other in (other_states, other_segments, other_seed):
        assert other.provenance != sampler.provenance


# -- the ignitions ---------------------------------------------------------------------------------


def test_the_ignitions_fill_the_ranges_of_the_state_file_above_T0_min(sampler):
    many = replace(sampler, settings=replace(SETTINGS, ignitions=200))
    cases = plan_cases(many)
    columns = np.array([[case.T0, case.phi, case.p] for case in cases])
    ranges = np.array([[1100.0, 1500.0], SAMPLING.phi, SAMPLING.p])
    assert (columns >= ranges[:, 0]).all() and (columns <= ranges[:, 1]).all()
    # A low-discrepancy sequence leaves no tenth of any range empty.
    for column, (low, high) in zip(columns.T, ranges, strict=True):
        assert np.histogram(column, 10, (low, high))[0].min() > 0
    assert len(np.unique(columns, axis=0)) == 200
    assert plan_cases(replace(many, seed=1)) != cases


def test_the_ignitions_are_not_those_of_the_state_file(sampler):
    many = replace(sampler, T0_min=1000.0, settings=replace(SETTINGS, ignitions=10))
    ours = {round(case.T0, 6) for case in plan_cases(many)}
    plan = plan_trajectories(replace(SAMPLING, flames=0), 0)
    assert not ours & {round(trajectory.T, 6) for trajectory in plan}


@pytest.mark.parametrize("T0_min", [900.0, 1600.0])
def test_a_T0_min_outside_of_the_range_leaves_the_whole_range(sampler, T0_min):
    many = replace(sampler, T0_min=T0_min, settings=replace(SETTINGS, ignitions=50))
    temperatures = [case.T0 for case in plan_cases(many)]
    assert 1000.0 <= min(temperatures) < 1050.0 and 1450.0 < max(temperatures) <= 1500.0


# -- the stage -------------------------------------------------------------------------------------


def test_the_numbers_and_the_file_agree(sampler, sampled, opened):
    numbers = sampled[1]
    assert opened.provenance == sampler.provenance
    assert opened.states.shape == (240, 5, 12) and opened.steps == STEPS
    assert np.array_equal(opened.trajectories, np.repeat(np.arange(6), 40))
    assert opened.dt.shape == (240,)
    assert (numbers["segments"], numbers["failed"], numbers["not_ignited"]) == (240, 0, 0)


def test_any_number_of_processes_gives_the_same_segments(
    sampler, opened, tmp_path, h2o2, in_this_process
):
    sample_segments(tmp_path / "segments.h5", sampler, NO_FLAMES, 1)
    again = open_segments(tmp_path / "segments.h5", h2o2)
    assert np.array_equal(again.states, opened.states)
    assert np.array_equal(again.dt, opened.dt)


def test_another_seed_gives_other_segments(sampler, opened, tmp_path, h2o2, in_this_process):
    sample_segments(tmp_path / "segments.h5", replace(sampler, seed=1), NO_FLAMES, 1)
    again = open_segments(tmp_path / "segments.h5", h2o2)
    assert not np.isclose(again.states[:, 0, 0], opened.states[:, 0, 0]).any()


def test_an_interrupted_run_leaves_no_file(sampler, tmp_path, in_this_process):
    calls = []

    def interrupt(done, total):
        calls.append((done, total))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sample_segments(tmp_path / "segments.h5", sampler, NO_FLAMES, 1, interrupt)
    assert calls == [(1, 6), (2, 6), (3, 6)] and not list(tmp_path.iterdir())


def test_ignitions_that_fail_or_do_not_ignite_are_counted(
    sampler, tmp_path, h2o2, in_this_process, monkeypatch
):
    whole = SegmentSampler.segments
    cases = plan_cases(sampler)

    def broken(self, case, rng):
        if case == cases[1]:
            raise IntegrationError("as CVODE does at times")
        return whole(self, case, rng)

    monkeypatch.setattr(SegmentSampler, "segments", broken)
    delays = sorted(delay(sampler, case) for case in cases)
    longest = float(np.mean(delays[-2:]))
    slow = replace(sampler, longest=longest)
    numbers = sample_segments(tmp_path / "segments.h5", slow, NO_FLAMES, 1)
    cold = [i for i, case in enumerate(cases) if delay(sampler, case) > longest and i != 1]
    assert (numbers["failed"], numbers["not_ignited"]) == (1, len(cold))
    kept = np.unique(open_segments(tmp_path / "segments.h5", h2o2).trajectories)
    assert kept.tolist() == [i for i in range(6) if i != 1 and i not in cold]


def delay(sampler: SegmentSampler, case: Case) -> float:
    """Time [s] at which a case is 400 K hotter, by Cantera alone."""
    gas = sampler.mechanism.solution()
    gas.set_equivalence_ratio(case.phi, "H2:1", AIR)
    gas.TP = case.T0, case.p
    reactor = ct.IdealGasConstPressureReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    while reactor.T < case.T0 + 400.0:
        net.step()
    return net.time


def test_a_run_without_any_ignition_is_refused(sampler, tmp_path, in_this_process):
    never = replace(sampler, longest=1e-8)
    with pytest.raises(ValueError, match=r"none of the 6 ignitions gave a segment.*sampling.T0"):
        sample_segments(tmp_path / "segments.h5", never, NO_FLAMES, 1)
    assert not list(tmp_path.iterdir())

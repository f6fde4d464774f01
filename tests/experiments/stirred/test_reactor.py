"""The partially stirred reactor: its random events, its mixing, and CVODE in it."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hydrogen import INERT

from combred.experiments.stirred.experiment import differences
from combred.experiments.stirred.particles import Particles, Stream
from combred.experiments.stirred.reactor import NOT_FINITE, StirredCase, events, stir

CLOSED = StirredCase(residence=np.inf, mixing=1e-3, pairing=1e-4, dt=1e-4, steps=10, particles=400)


def enthalpy(mechanism, T, Y):
    gas = mechanism.solution()
    found = []
    for T_i, Y_i in zip(T, Y, strict=True):
        gas.TPY = T_i, 1e5, Y_i
        found.append(gas.h)
    return np.array(found)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"particles": 7}, "even number"),
        ({"mixing": 0.0}, "positive"),
        ({"pairing": 1e-6}, "smaller dt"),
    ],
)
def test_a_case_that_makes_no_sense_is_refused(wrong, why):
    with pytest.raises(ValueError, match=why):
        StirredCase(**wrong)


def test_events_pair_every_particle_and_are_the_same_for_a_seed():
    case = StirredCase(residence=1e-3, pairing=2e-4, dt=1e-4, steps=40, particles=60)
    found = list(events(case, [1.0, 3.0]))
    assert len(found) == 40
    for now in found:
        assert sorted(now.pairs.ravel()) == list(range(60))
        assert len(now.replaced) == len(now.by) == len(set(now.replaced)) == 6
    assert sum((now.by == 1).mean() for now in found) / 40 == pytest.approx(0.75, abs=0.1)
    kept = sum(
        len(set(map(frozenset, a.pairs)) & set(map(frozenset, b.pairs)))
        for a, b in zip(found, found[1:], strict=False)
    )
    assert kept / 39 == pytest.approx(30 - 3 - 15 + 18 / 35, abs=0.5)  # 18 / 35: by chance
    for a, b in zip(found, events(case, [1.0, 3.0]), strict=True):
        assert np.array_equal(a.pairs, b.pairs) and np.array_equal(a.by, b.by)
    other = next(events(replace(case, seed=1), [1.0, 3.0]))
    assert not np.array_equal(found[0].pairs, other.pairs)


def test_slow_flows_replace_a_pair_now_and_then():
    case = StirredCase(residence=1e-2, pairing=1e-2, dt=1e-4, steps=100, particles=20)
    flowed = [len(now.replaced) for now in events(case, [1.0])]
    assert sum(flowed) == 20 and set(flowed) == {0, 2}


def test_mixing_conserves_elements_and_enthalpy(h2o2, streams):
    first = np.arange(CLOSED.particles) % 3
    begin = Particles(h2o2, streams, first)
    run = stir(h2o2, INERT, streams, CLOSED, first)
    assert run.Y == pytest.approx(np.tile(begin.Y.mean(0), (11, 1)), abs=1e-14)
    h = enthalpy(h2o2, run.particles_T, run.particles_Y)
    assert h.mean() == pytest.approx(begin.h.mean(), rel=1e-7)
    assert run.particles_Y.min() >= 0.0


def test_variance_decays_as_pairwise_mixing_predicts(h2o2, streams):
    """Of N particles that are all paired anew in each step, the expected variance is multiplied by
    ((1 + r) + (1 - r) exp(-4 dt / tau_mix)) / 2 in a step, with r = -1 / (N - 1)."""
    n, seeds = CLOSED.particles, 12
    r, squared = -1 / (n - 1), np.exp(-4 * CLOSED.dt / CLOSED.mixing)
    expected = (0.5 * ((1 + r) + (1 - r) * squared)) ** CLOSED.steps
    first, k = np.arange(n) % 2, h2o2.index("N2")
    decay = []
    for seed in range(seeds):
        run = stir(h2o2, INERT, streams, replace(CLOSED, seed=seed), first)
        decay.append(run.particles_Y[:, k].var() / Particles(h2o2, streams, first).Y[:, k].var())
    # The variance of 400 particles scatters by some 5 % from seed to seed.
    assert np.mean(decay) == pytest.approx(expected, rel=0.05)
    assert expected == pytest.approx(
        np.exp(-2 * CLOSED.dt * CLOSED.steps / CLOSED.mixing), rel=0.25
    )


BURNING = StirredCase(residence=1e-3, mixing=5e-4, pairing=5e-4, dt=1e-4, steps=12, particles=20)


def test_a_run_that_is_not_finite_ends(h2o2, streams):
    calls = []

    def fails(T, p, Y, dt):
        calls.append(dt)
        return (T, Y) if len(calls) < 3 else (np.full_like(T, np.nan), Y)

    run = stir(h2o2, SimpleNamespace(advance=fails), streams, BURNING)
    assert run.outcome == NOT_FINITE and calls == [BURNING.dt] * 3
    assert np.isfinite(run.T[:3]).all() and np.isnan(run.T[3:]).all()
    reference = stir(h2o2, INERT, streams, BURNING)
    assert differences(h2o2, run, reference, ())["T"]["largest"] == np.inf


def test_a_stream_of_each_particle_is_asked_for(h2o2):
    with pytest.raises(ValueError, match="one for each"):
        stir(h2o2, INERT, [Stream(300.0, np.eye(h2o2.n_species)[0], 1.0)], CLOSED, np.zeros(3, int))

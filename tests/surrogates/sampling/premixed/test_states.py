"""States of premixed ignitions and flames: their ranges, time steps and labels."""

from dataclasses import replace

import cantera as ct
import numpy as np
import pytest

from combred.chemistry.reactor import CVODE
from combred.experiments.diffusion import Diffusion
from combred.experiments.premixed.grid import FlameCase, MovingGrid, profile_of
from combred.surrogates.sampling.plan import Trajectory, plan_trajectories
from combred.surrogates.sampling.premixed import profiles as flame_profiles
from combred.surrogates.sampling.premixed import states as module
from combred.surrogates.sampling.premixed.profiles import between_grid_points
from combred.surrogates.sampling.premixed.states import RELAXED_PER_STATE, PremixedStates

DT = 1e-6
TOO_HOT = 1e5  # K: the solver refuses it


@pytest.fixture(scope="module")
def states_of(drm19, solver_of):
    """A function: the states of DRM19 by some settings."""
    return lambda settings: PremixedStates(drm19, settings, solver_of(drm19), seed=0)


@pytest.fixture(scope="module")
def premixed(states_of, sampling_settings):
    return states_of(sampling_settings)


def test_states_are_distinct(rows):
    assert len(np.unique(rows.state(), axis=0)) == len(rows)


def test_exact_states_extend_from_the_mixture_to_the_burnt_gas(rows, drm19, sampling_settings):
    for t in plan_trajectories(sampling_settings, seed=0):
        mine = (rows.source == t.index) & (rows.sampler == 0)
        gas = drm19.solution()
        Y0 = drm19.mixture(sampling_settings.fuel, sampling_settings.oxidizer, t.phi)
        assert (rows.state()[mine] == np.r_[t.T, t.p, Y0]).all(axis=1).sum() == 1  # t = 0
        gas.TPY = t.T, t.p, Y0
        gas.equilibrate("HP")
        # More than half of the rise: only the last states are near equilibrium.
        assert rows.T[mine].max() > t.T + 0.5 * (gas.T - t.T)
        assert (rows.p[mine] == t.p).all()


@pytest.fixture(scope="module")
def any_dt(states_of, sampling_settings):
    """A block of an ignition of 180 rows, whose dt are between 10 ns and 10 us."""
    settings = replace(sampling_settings, states=180, ignitions=1, dt=[1e-8, 1e-5])
    return states_of(settings).block(plan_trajectories(settings, seed=0)[0])


def test_time_steps_are_log_uniform_in_their_range(any_dt):
    assert any_dt.dt.min() >= 1e-8 and any_dt.dt.max() <= 1e-5
    assert len(np.unique(any_dt.dt)) == len(any_dt) == 180
    decades = np.histogram(np.log10(any_dt.dt), bins=3, range=(-8, -5))[0]
    # 60 each; four standard deviations of a third of 180 draws are 25.
    assert np.abs(decades - 60).max() < 25


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_labels_agree_with_integration_over_the_dt_of_their_row(any_dt, drm19, kind):
    i = np.flatnonzero(any_dt.sampler == kind)[::6]
    at = any_dt.T[i], any_dt.p[i], any_dt.Y[i], any_dt.dt[i]
    T, Y = CVODE(drm19, 1e-10, 1e-20).advance(*at)
    # As for one dt, and ten times as long.
    assert np.abs(T - any_dt.T_next[i]).max() < 1e-2
    assert np.abs(Y - any_dt.Y_next[i]).max() < 1e-5


@pytest.mark.parametrize("count", [1, 3, 7])
def test_relaxation_gives_the_requested_number_of_rows(premixed, burning, count):
    T, p, Y = (column[: -(-count // RELAXED_PER_STATE)] for column in burning)
    block = premixed.relax(np.random.default_rng(0), T, p, Y, count)
    assert len(block) == count
    assert len(np.unique(block.T)) == count
    assert np.isfinite(block.T_next).all()
    gas = premixed.mechanism.solution()
    gas.TPY = T[0], p[0], Y[0]
    h = gas.enthalpy_mass
    gas.TPY = block.T[0], block.p[0], block.Y[0]
    assert gas.enthalpy_mass == pytest.approx(h, abs=1e-2 * gas.cp_mass)  # K; rtol of CVODE
    assert not np.isin(block.T, T).any()  # during the relaxation, not at its start


def test_a_state_that_cannot_be_integrated_has_no_label(premixed, burning):
    T, p, Y = (column[:3].copy() for column in burning)
    T[1] = TOO_HOT
    rng = np.random.default_rng(0)
    for block in (premixed.label(rng, T, p, Y), premixed.relax(rng, T, p, Y, 9)):
        failed = np.repeat([False, True, False], len(block) // 3)
        assert np.array_equal(np.isnan(block.T_next), failed)
        assert np.array_equal(np.isnan(block.Y_next).any(axis=1), failed)
        assert (block.T[failed] == TOO_HOT).all()
        assert np.isfinite(block.Y).all()


def test_half_of_the_flame_states_are_taken_after_diffusion(
    premixed, drm19, linear_flame, monkeypatch
):
    monkeypatch.setattr(module, "solve_free_flame", lambda *_: linear_flame)
    monkeypatch.setattr(flame_profiles, "SPLIT_STEPS", 1)
    trajectory = Trajectory(0, "flame", 300.0, ct.one_atm, 1.0, 360)
    block = premixed.flame(trajectory, np.random.default_rng(0))
    case = FlameCase(300.0, ct.one_atm, 1.0)
    begin = profile_of(drm19, linear_flame, case, linear_flame.Y[:, 0], 60)
    T, Y, _ = Diffusion(drm19, ct.one_atm, begin.cell_mass).step(
        begin.T, begin.Y, MovingGrid(drm19, begin).h, DT
    )
    assert np.array_equal(block.T[60:], T) and np.allclose(block.Y[60:], Y, atol=1e-15)
    moved = np.abs(T - begin.T).max()
    assert 1e-3 < moved < 20.0  # K: a microsecond of diffusion changes T a little
    expected, _ = CVODE(drm19).advance(T, np.full(60, ct.one_atm), np.clip(Y, 0.0, None), DT)
    assert np.allclose(block.T_next[60:], expected, rtol=1e-9)


def test_a_flame_of_few_states_has_none_after_diffusion(premixed, linear_flame, monkeypatch):
    monkeypatch.setattr(module, "solve_free_flame", lambda *_: linear_flame)
    block = premixed.flame(
        Trajectory(0, "flame", 300.0, ct.one_atm, 1.0, 150), np.random.default_rng(0)
    )
    T, _, _ = between_grid_points(linear_flame, 50, np.random.default_rng(0), ct.one_atm)
    assert np.array_equal(block.T, T)

"""Sampling: the states and their labels, and a run that is interrupted or has failures."""

from dataclasses import replace
from types import SimpleNamespace

import cantera as ct
import h5py
import numpy as np
import pytest

from combred.chemistry.reactor import CVODE, IntegrationError
from combred.config import ChemistrySettings
from combred.dataset import sampling
from combred.dataset.plan import Trajectory, plan_trajectories
from combred.dataset.sampling import Sampler, sample
from combred.dataset.state_table import open_states
from combred.dataset.states import SAMPLERS, UNITS
from combred.simulation.diffusion import Diffusion
from combred.simulation.moving_grid import FlameCase, MovingGrid, profile_of

DT = 1e-6
TOO_HOT = 1e5  # K: CVODE fails there


@pytest.fixture(scope="module")
def rows(table):
    """All rows of the sampled file."""
    return table.read(0, table.rows)


@pytest.fixture(scope="module")
def three(sampling_settings):
    """Settings of three ignitions of 30 rows each."""
    return replace(sampling_settings, states=90, ignitions=3)


@pytest.fixture(scope="module")
def sampler(drm19, sampling_settings):
    return Sampler(drm19, sampling_settings, ChemistrySettings(), seed=0)


@pytest.fixture(scope="module")
def burning(rows):
    """(T, p, Y) of the exact states in which ignition has begun."""
    hot = (rows.sampler == 0) & (rows.Y[:, 4] > 1e-5)  # OH
    return rows.T[hot], rows.p[hot], rows.Y[hot]


def columns(file) -> dict[str, np.ndarray]:
    with h5py.File(file, "r") as stored:
        return {name: stored[name][...] for name in [*UNITS, "failed"]}


# -- the file --------------------------------------------------------------------------------------


def test_the_file_holds_the_planned_rows(sampled, table, sampling_settings):
    _, record = sampled
    plan = plan_trajectories(sampling_settings, seed=0)
    assert record["rows"] + record["failed_rows"] == sum(t.rows for t in plan)
    assert record["lost_trajectories"] == []
    assert table.rows == record["rows"] == sum(record["rows_per_sampler"].values())
    assert set(np.unique(table.sources)) == {t.index for t in plan}
    for name, count in record["rows_per_sampler"].items():
        assert (table.samplers == SAMPLERS.index(name)).sum() == count


def test_states_are_distinct(rows):
    assert len(np.unique(rows.state(), axis=0)) == len(rows)


def test_mass_fractions_are_not_negative_and_add_up_to_one(rows):
    for Y in (rows.Y, rows.Y_next):
        assert Y.min() >= 0.0
        assert np.abs(Y.sum(axis=1) - 1.0).max() < 1e-8  # perturb allows 1e-9


def test_labels_conserve_elements_enthalpy_and_inert_species(rows, drm19):
    assert np.abs((rows.Y_next - rows.Y) @ drm19.elements.T).max() < 1e-12  # linear invariants
    assert np.array_equal(rows.Y_next[:, drm19.inert], rows.Y[:, drm19.inert])
    gas = drm19.solution()
    for i in range(0, len(rows), 5):
        gas.TPY = rows.T[i], rows.p[i], rows.Y[i]
        h, cp = gas.enthalpy_mass, gas.cp_mass
        gas.TPY = rows.T_next[i], rows.p[i], rows.Y_next[i]
        assert abs(gas.enthalpy_mass - h) < 1e-2 * cp  # K; rtol of CVODE over an ignition


def test_all_states_of_a_trajectory_have_the_same_elements_and_inert_species(rows, drm19):
    # Perturbed and relaxed states have the elements of the exact ones.
    for source in np.unique(rows.source):
        Y = rows.Y[rows.source == source]
        assert np.ptp(Y @ drm19.elements.T, axis=0).max() < 1e-8  # ten times what perturb allows
        assert np.ptp(Y[:, drm19.inert], axis=0).max() < 1e-15


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_labels_agree_with_integration_from_the_stored_state(rows, drm19, kind):
    i = np.flatnonzero(rows.sampler == kind)
    T, Y = CVODE(drm19, 1e-10, 1e-20).advance(rows.T[i], rows.p[i], rows.Y[i], rows.dt[i])
    # At rtol 1e-8 the label's own integration errs by 1e-8 per internal step; about a hundred of
    # them, and in an ignition the error grows with the radicals. Seen: 1e-5 K and 1e-8.
    assert np.abs(T - rows.T_next[i]).max() < 1e-3
    assert np.abs(Y - rows.Y_next[i]).max() < 1e-6


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


# -- time steps ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def any_dt(drm19, sampling_settings):
    """A block of an ignition of 180 rows, whose dt are between 10 ns and 10 us."""
    settings = replace(sampling_settings, states=180, ignitions=1, dt=[1e-8, 1e-5])
    sampler = Sampler(drm19, settings, ChemistrySettings(), seed=0)
    return sampler.block(plan_trajectories(settings, seed=0)[0])


def test_a_range_of_one_dt_gives_this_dt(rows):
    assert (rows.dt == DT).all()


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


# -- perturbed and relaxed -------------------------------------------------------------------------


def test_perturbation_conserves_elements_and_inert_species(sampler, burning, drm19):
    T, p, Y = (column[:1] for column in burning)
    _, _, out = sampler.perturb(np.random.default_rng(0), (T, p, Y), 200, (1e-3, 0.1))
    assert (out >= 0.0).all()
    assert np.array_equal(out[:, drm19.inert], np.repeat(Y[:, drm19.inert], 200, axis=0))
    assert np.abs(out.sum(axis=1) - 1.0).max() < 1e-8
    assert np.abs((out - Y) @ drm19.elements.T).max() < 1e-9


def test_perturbed_states_are_distinct_and_around_all_given_states(sampler, burning):
    T, p, Y = burning
    out_T, out_p, out_Y = sampler.perturb(np.random.default_rng(0), burning, 500, (1e-3, 1e-2))
    assert len(np.unique(out_T)) == len(np.unique(out_p)) == 500
    assert len(np.unique(out_Y[:, 0])) == 500
    nearest = {int(np.argmin(np.abs(T - t))) for t in out_T}
    assert len(nearest) > 0.5 * len(np.unique(T))


@pytest.mark.parametrize("width", [1e-3, 1e-2, 0.1])
def test_perturbation_has_the_given_width(sampler, burning, width):
    T, p, Y = (column[-1:] for column in burning)
    out_T, out_p, out_Y = sampler.perturb(np.random.default_rng(0), (T, p, Y), 2000, (width, width))
    assert np.std(out_T - T) == pytest.approx(400.0 * width, rel=0.08)  # 5 sigma of 2000 draws
    assert np.abs(out_p / p - 1.0).max() <= 0.5 * width
    assert np.std(out_p / p) == pytest.approx(0.5 * width / 3**0.5, rel=0.05)  # uniform
    trace = (Y[0] > 0) & (Y[0] < 1e-8)  # the projection leaves traces alone
    ratio = np.log(out_Y[:, trace]) / np.log(Y[0, trace])
    assert trace.any()
    assert np.abs(ratio - 1.0).max() <= width * (1 + 1e-3)
    assert np.std(ratio - 1.0) == pytest.approx(width / 3**0.5, rel=0.05)


def test_perturbed_temperatures_are_clipped_to_the_valid_range(sampler, burning):
    T, p, Y = burning
    for start, bound in ((260.0, 250.0), (3290.0, 3300.0)):
        out_T, _, _ = sampler.perturb(
            np.random.default_rng(0), (np.full_like(T, start), p, Y), 100, (0.1, 0.1)
        )
        assert out_T.min() >= 250.0 and out_T.max() <= 3300.0
        assert (out_T == bound).any()


def test_a_width_that_breaks_element_conservation_is_refused(sampler, burning):
    with pytest.raises(ValueError, match="do not keep the element masses.*sampling.phi"):
        sampler.perturb(np.random.default_rng(0), burning, 100, (3.0, 3.0))


@pytest.mark.parametrize("count", [1, 3, 7])
def test_relaxation_gives_the_requested_number_of_rows(sampler, burning, count):
    T, p, Y = (column[: -(-count // sampling.RELAXED_PER_RUN)] for column in burning)
    block = sampler.relax(np.random.default_rng(0), T, p, Y, count)
    assert len(block) == count
    assert len(np.unique(block.T)) == count
    assert np.isfinite(block.T_next).all()
    gas = sampler.mechanism.solution()
    gas.TPY = T[0], p[0], Y[0]
    h = gas.enthalpy_mass
    gas.TPY = block.T[0], block.p[0], block.Y[0]
    assert gas.enthalpy_mass == pytest.approx(h, abs=1e-2 * gas.cp_mass)  # K; rtol of CVODE
    assert not np.isin(block.T, T).any()  # during the relaxation, not at its start


def test_a_state_that_cvode_cannot_integrate_has_no_label(sampler, burning):
    T, p, Y = (column[:3].copy() for column in burning)
    T[1] = TOO_HOT
    rng = np.random.default_rng(0)
    for block in (sampler.label(rng, T, p, Y), sampler.relax(rng, T, p, Y, 9)):
        failed = np.repeat([False, True, False], len(block) // 3)
        assert np.array_equal(np.isnan(block.T_next), failed)
        assert np.array_equal(np.isnan(block.Y_next).any(axis=1), failed)
        assert (block.T[failed] == TOO_HOT).all()
        assert np.isfinite(block.Y).all()


# -- flames ----------------------------------------------------------------------------------------


@pytest.fixture
def linear_flame(drm19):
    """A made-up flame: Y is linear in T from the mixture to its equilibrium, flat at both ends."""
    gas = drm19.solution()
    Y0 = drm19.mixture("CH4:1", "O2:1, N2:3.76", 1.0)
    gas.TPY = 300.0, ct.one_atm, Y0
    gas.equilibrate("HP")
    f = np.concatenate([np.zeros(30), np.linspace(0, 1, 41), np.ones(30)])
    T = 300.0 + f * (gas.T - 300.0)
    Y = Y0 + f[:, None] * (gas.Y - Y0)
    return SimpleNamespace(
        T=T, Y=Y.T, density=350.0 / T, grid=np.linspace(0.0, 5e-3, len(T)), velocity=[0.4]
    )


def test_flame_states_lie_on_the_profile_and_cover_it(sampler, linear_flame):
    T, p, Y = sampler._between_grid_points(linear_flame, 100, np.random.default_rng(0), ct.one_atm)
    low, high = linear_flame.T[0], linear_flame.T[-1]
    along = (T - low) / (high - low)
    first, last = linear_flame.Y[:, 0], linear_flame.Y[:, -1]
    # The profile is linear in T: interpolation is exact but for rounding.
    assert np.allclose(Y, first + along[:, None] * (last - first), atol=1e-14)
    tenths = np.histogram(along, bins=10, range=(0, 1))[0]
    assert (tenths > 0).all()  # half of the states are uniform in T
    assert tenths[[0, -1]].sum() > 30  # and half over the grid, of which 60 points are at the ends


def test_half_of_the_flame_states_are_taken_after_diffusion(
    sampler, drm19, linear_flame, monkeypatch
):
    monkeypatch.setattr(sampling, "solve_free_flame", lambda *_: linear_flame)
    monkeypatch.setattr(sampling, "SPLIT_STEPS", 1)
    trajectory = Trajectory(0, "flame", 300.0, ct.one_atm, 1.0, 120, 0, 0)
    block = sampler.flame(trajectory, np.random.default_rng(0))
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


def test_a_flame_of_few_states_has_none_after_diffusion(sampler, linear_flame, monkeypatch):
    monkeypatch.setattr(sampling, "solve_free_flame", lambda *_: linear_flame)
    block = sampler.flame(
        Trajectory(0, "flame", 300.0, ct.one_atm, 1.0, 50, 0, 0), np.random.default_rng(0)
    )
    T, _, _ = sampler._between_grid_points(linear_flame, 50, np.random.default_rng(0), ct.one_atm)
    assert np.array_equal(block.T, T)


# -- interrupted runs, failures --------------------------------------------------------------------


def test_a_block_does_not_depend_on_what_was_sampled_before(drm19, sampling_settings):
    plan = plan_trajectories(sampling_settings, seed=0)
    used = Sampler(drm19, sampling_settings, ChemistrySettings(), seed=0)
    used.block(plan[0])
    fresh = Sampler(drm19, sampling_settings, ChemistrySettings(), seed=0)
    first, second = used.block(plan[1]).columns(), fresh.block(plan[1]).columns()
    for name in UNITS:
        assert np.array_equal(first[name], second[name])


def test_every_trajectory_has_its_own_random_numbers(drm19, sampling_settings, sampler):
    first = plan_trajectories(sampling_settings, seed=0)[0]
    twin = sampler.block(replace(first, index=1))
    block = sampler.block(first)
    perturbed = block.sampler == 1
    assert not np.isin(twin.p[perturbed], block.p[perturbed]).any()
    other = Sampler(drm19, sampling_settings, ChemistrySettings(), seed=1).block(first)
    assert not np.isin(other.p[perturbed], block.p[perturbed]).any()


def test_an_interrupted_sampling_is_resumed_to_the_same_file(
    tmp_path, drm19, sampling_settings, sampled, in_this_process
):
    file = tmp_path / "states.h5"
    arguments = (file, drm19, sampling_settings, ChemistrySettings(), 0, 1)
    seen = []

    def interrupt_after_three(finished, total):
        seen.append((finished, total))
        if len(seen) == 4:  # the first call has the rows of the start
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sample(*arguments, interrupt_after_three)
    assert not file.exists()
    resumed = []
    record = sample(*arguments, lambda *done: resumed.append(done))
    assert resumed[0] == seen[-1]  # no finished block is computed again
    assert resumed[-1] == (seen[0][1], seen[0][1])
    assert record == sampled[1]
    uninterrupted, stored = columns(sampled[0]), columns(file)
    for name in stored:
        assert np.array_equal(stored[name], uninterrupted[name]), name


def test_an_interrupted_sampling_is_not_resumed_with_other_settings(
    tmp_path, drm19, three, in_this_process
):
    def interrupt(finished, total):
        raise KeyboardInterrupt

    arguments = (drm19, three, ChemistrySettings())
    with pytest.raises(KeyboardInterrupt):
        sample(tmp_path / "states.h5", *arguments, 0, 1, interrupt)
    with pytest.raises(ValueError, match="seed is 0 there and 1 here"):
        sample(tmp_path / "states.h5", *arguments, 1, 1)


class Unlucky(Sampler):
    """Fails at trajectory 1, and at two labels of trajectory 2."""

    def block(self, trajectory):
        if trajectory.index == 1:
            raise IntegrationError("no luck")
        block = super().block(trajectory)
        if trajectory.index == 2:
            block.T_next[[0, 5]], block.Y_next[[0, 5]] = np.nan, np.nan
        return block


def test_failed_trajectories_and_rows_are_counted_and_stored_apart(
    tmp_path, drm19, three, in_this_process, monkeypatch
):
    monkeypatch.setattr(sampling, "Sampler", Unlucky)
    file = tmp_path / "states.h5"
    record = sample(file, drm19, three, ChemistrySettings(), 0, 1)
    lost = plan_trajectories(three, seed=0)[1]
    assert record["lost_trajectories"] == [f"ignition T={lost.T:.0f} K phi={lost.phi:.2f}: no luck"]
    assert record["failed_rows"] == lost.rows + 2
    table = open_states(file, drm19)
    assert 1 not in table.sources
    assert (table.sources == 2).sum() == lost.rows - 2
    failed = columns(file)["failed"]
    assert failed.shape == (lost.rows + 2, 2 + drm19.n_species)
    assert (failed[: lost.rows, 0] == lost.T).all() and (failed[: lost.rows, 1] == lost.p).all()
    list(table.chunks())  # raises where a row is not finite


def test_a_failed_trajectory_is_tried_again(tmp_path, drm19, three, in_this_process, monkeypatch):
    class FailsOnce(Sampler):
        tried = []

        def block(self, trajectory):
            self.tried.append(trajectory.index)
            if len(self.tried) == 1:
                raise IntegrationError("once")
            return super().block(trajectory)

    monkeypatch.setattr(sampling, "Sampler", FailsOnce)
    file = tmp_path / "states.h5"
    record = sample(file, drm19, three, ChemistrySettings(), 0, 1)
    assert FailsOnce.tried == [0, 0, 1, 2]
    assert record["lost_trajectories"] == [] and record["failed_rows"] == 0
    assert record["rows"] == sum(t.rows for t in plan_trajectories(three, seed=0))

"""0D validation: bookkeeping against known answers, and CVODE as its own surrogate."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from combred.chemistry.reactor import CVODE
from combred.config import ChemistrySettings, ValidationSettings
from combred.simulation.ignition import (
    Case,
    Rollout,
    cases,
    follow,
    integrate,
    march,
    mixtures,
    reference,
    steps_to_equilibrium,
)
from combred.simulation.ignition_errors import compare

DT = 4e-6
FUEL, OXIDIZER = "H2:1", "O2:1, N2:3.76"
SETTINGS = ValidationSettings(T0=[1100.0, 1300.0], phi=[0.6, 1.2], burnt_time=2e-3)
CHEMISTRY = ChemistrySettings()


class Warming:
    """An `Advance` that anyone can follow: T + 1 K, Y unchanged; counts the states it is given."""

    def __init__(self):
        self.given = []

    def advance(self, T, p, Y):
        self.given.append(len(T))
        return T + 1.0, Y.copy()


@pytest.fixture(scope="module")
def references(h2o2):
    """CVODE's rollouts of four hydrogen ignitions, by two processes."""
    told = []
    rollouts = reference(
        h2o2, SETTINGS, CHEMISTRY, DT, FUEL, OXIDIZER, 2, lambda *done: told.append(done)
    )
    assert told == [(i + 1, 4) for i in range(4)]
    return rollouts


# -- marching --------------------------------------------------------------------------------------


def test_cases_are_all_combinations():
    settings = ValidationSettings(T0=[1.0, 2.0], p=[3.0], phi=[4.0, 5.0, 6.0])
    got = cases(settings)
    assert {(c.T0, c.p, c.phi) for c in got} == {(T, 3.0, f) for T in (1, 2) for f in (4, 5, 6)}
    assert len(got) == 6


def test_every_case_takes_its_own_steps(h2o2):
    todo = [Case(1000.0, 1e5, 1.0), Case(1200.0, 2e5, 0.5), Case(1400.0, 1e5, 1.5)]
    Y0, advance, told = mixtures(h2o2, todo, FUEL, OXIDIZER), Warming(), []
    rollouts = march(advance, DT, todo, Y0, [2, 5, 3], lambda *done: told.append(done))
    assert advance.given == [3, 3, 2, 1, 1]
    assert told[-1] == (5, 5)
    for rollout, case, Y, steps in zip(rollouts, todo, Y0, [2, 5, 3], strict=True):
        assert rollout.case == case
        assert np.array_equal(rollout.T, case.T0 + np.arange(steps + 1))
        assert np.allclose(rollout.t, DT * np.arange(steps + 1), rtol=1e-15)  # the last digit
        assert np.array_equal(rollout.Y, np.tile(Y, (steps + 1, 1)))


def test_each_case_has_its_own_pressure(h2o2):
    todo = [Case(1000.0, 1e5, 1.0), Case(1000.0, 2e5, 1.0), Case(1000.0, 3e5, 1.0)]
    rollouts = march(
        SimpleNamespace(advance=lambda T, p, Y: (T + p, Y)),
        DT,
        todo,
        mixtures(h2o2, todo, FUEL, OXIDIZER),
        [1, 3, 2],
    )
    assert [r.T[-1] - 1000.0 for r in rollouts] == [1e5, 6e5, 6e5]


def test_mixtures_are_those_of_the_cases(h2o2):
    todo = [Case(1000.0, 1e5, 0.5), Case(1000.0, 1e5, 2.0)]
    Y0 = mixtures(h2o2, todo, FUEL, OXIDIZER)
    hydrogen_to_oxygen = Y0[:, h2o2.index("H2")] / Y0[:, h2o2.index("O2")]
    assert hydrogen_to_oxygen[1] / hydrogen_to_oxygen[0] == pytest.approx(4.0, rel=1e-12)  # phi


# -- the reference ---------------------------------------------------------------------------------


def test_a_rollout_lasts_past_ignition_by_the_burnt_time(h2o2, references):
    for ref in references:
        assert np.isfinite(ref.T).all()
        ignited = ref.t[np.argmax(ref.T > ref.case.T0 + 400.0)]
        # 1.3 times the moment seen on CVODE's own steps, rounded up to whole dt.
        assert abs(ref.t[-1] - (1.3 * ignited + SETTINGS.burnt_time)) < 3 * DT
        assert ref.delay < 1.3 * ignited


def test_burnt_gas_reaches_equilibrium(h2o2, references):
    gas = h2o2.solution()
    for ref in references:
        gas.TPY = ref.case.T0, ref.case.p, ref.Y[0]
        gas.equilibrate("HP")
        # 2 ms are some ten times of recombination of hydrogen at 1 atm; CVODE errs by 1e-4 K.
        assert ref.T[-1] == pytest.approx(gas.T, abs=0.05)
        assert np.abs(ref.Y[-1] - gas.Y).max() < 1e-5


def test_delays_agree_with_an_integration_of_steps_ten_times_finer(h2o2, references):
    ref = references[0]
    fine = march(
        CVODE(h2o2, DT / 10), DT / 10, [ref.case], ref.Y[:1], [int(1.3 * ref.delay / DT) * 10]
    )[0]
    # The parabola errs by a small fraction of dt; see test_metrics.
    assert ref.delay == pytest.approx(fine.delay, abs=0.2 * DT)


def test_a_case_that_does_not_ignite_says_so(h2o2):
    case = Case(700.0, 101325.0, 1.0)
    Y0 = h2o2.mixture(FUEL, OXIDIZER, 1.0)
    settings = replace(SETTINGS, longest=1e-3)
    with pytest.raises(ValueError, match=r"700 K, phi 1, 1 atm does not ignite.*validation.T0"):
        steps_to_equilibrium(h2o2, case, Y0, DT, settings, CHEMISTRY)


# -- CVODE as its own surrogate --------------------------------------------------------------------


def test_cvode_started_cold_in_every_step_follows_its_own_integration(h2o2, references):
    rollouts = follow(CVODE(h2o2, DT), DT, references)
    for rollout, ref in zip(rollouts, references, strict=True):
        assert rollout.case == ref.case
        assert np.array_equal(rollout.t, ref.t)
        # rtol 1e-8 in each of 500 steps; on the rise, 1e-6 of a delay of 50 us is 0.01 K.
        assert rollout.delay == pytest.approx(ref.delay, rel=1e-5)
        assert np.abs(rollout.T - ref.T).max() < 0.1
        assert np.abs(rollout.Y - ref.Y).max() < 1e-5


def test_one_integration_is_nearer_to_a_fine_one_than_cold_starts_are(h2o2, references):
    ref = references[0]
    steps = int(1.3 * ref.delay / DT)
    fine = ChemistrySettings(rtol=1e-12, atol=1e-20)
    truth = integrate(h2o2, ref.case, ref.Y[0], DT, steps, fine)
    once = integrate(h2o2, ref.case, ref.Y[0], DT, steps, CHEMISTRY)
    cold = march(CVODE(h2o2, DT), DT, [ref.case], ref.Y[:1], [steps])[0]
    assert np.array_equal(once.T, ref.T[: steps + 1]) and np.array_equal(once.t, cold.t)
    assert np.abs(once.T - truth.T).max() < np.abs(cold.T - truth.T).max()
    assert once.delay == pytest.approx(truth.delay, rel=1e-6)


def test_a_reference_that_cvode_cannot_integrate_ends_in_nan(h2o2):
    case = Case(1e5, 101325.0, 1.0)
    rollout = integrate(h2o2, case, h2o2.mixture(FUEL, OXIDIZER, 1.0), DT, 3, CHEMISTRY)
    assert rollout.T[0] == 1e5 and np.isnan(rollout.T[1:]).all() and np.isnan(rollout.Y[1:]).all()


def test_equal_rollouts_have_no_error(h2o2, references):
    result = compare(h2o2, references, references)
    assert result["all_ignite"]
    none = {"median": 0.0, "mean": 0.0, "worst": 0.0}
    assert result["delay_error"] == result["burnt_T_error"] == none
    assert set(result["peak_errors"]) == {"OH", "H"}  # of those that h2o2 has
    assert all(errors == none for errors in result["peak_errors"].values())
    for row in result["cases"]:
        assert row["largest_T_error"] == 0.0
        assert row["equilibrium_T_error"] < 0.05  # K, as above
        assert row["element_drift"] < 1e-10  # CVODE's, over 500 steps


def test_a_state_that_cvode_cannot_integrate_stops_no_other_case(h2o2):
    todo = [Case(1e5, 101325.0, 1.0), Case(1300.0, 101325.0, 1.0)]  # the first is beyond CVODE
    Y0 = mixtures(h2o2, todo, FUEL, OXIDIZER)
    hot, usual = march(CVODE(h2o2, DT), DT, todo, Y0, [3, 3])
    assert np.isnan(hot.T[1:]).all()
    assert np.isfinite(usual.T).all()


# -- errors ----------------------------------------------------------------------------------------


def altered(ref: Rollout, **changes) -> Rollout:
    """A copy of a rollout with some of its arrays replaced."""
    return replace(ref, T=ref.T.copy(), Y=ref.Y.copy(), **changes)


def test_a_shift_in_time_is_the_delay_error(h2o2, references):
    ref = references[0]
    steps = 7
    late = altered(ref)
    late.T[steps:], late.T[:steps] = ref.T[:-steps], ref.T[0]
    result = compare(h2o2, [late], [ref])
    # The delay of a shifted curve is shifted by as much, to rounding.
    assert result["cases"][0]["delay_error"] == pytest.approx(steps * DT / ref.delay, rel=1e-9)
    assert result["cases"][0]["delay"] - ref.delay == pytest.approx(steps * DT, rel=1e-9)


def test_planted_errors_are_reported_as_planted(h2o2, references):
    ref = references[1]
    wrong = altered(ref)
    wrong.T[-1] += 3.0
    wrong.T[-20] -= 5.0
    OH = h2o2.index("OH")
    wrong.Y[:, OH] *= 1.25
    row = compare(h2o2, [wrong], [ref])["cases"][0]
    # Differences of numbers near 3000 in float64.
    assert row["burnt_T_error"] == pytest.approx(3.0, abs=1e-9)
    assert row["largest_T_error"] == pytest.approx(5.0, abs=1e-9)
    assert row["equilibrium_T_error"] == pytest.approx(3.0, abs=0.05)  # K; CVODE is as near
    assert row["delay_error"] == 0.0
    assert row["peak_errors"]["OH"] == pytest.approx(0.25, rel=1e-12)
    assert row["peak_errors"]["H"] == 0.0
    drift = np.abs((wrong.Y - wrong.Y[0]) @ h2o2.elements.T).max()
    assert row["element_drift"] == pytest.approx(drift, rel=1e-12) and drift > 1e-4


def test_the_worst_case_is_named(h2o2, references):
    rollouts = [altered(ref) for ref in references]
    rollouts[2].T[3:] = rollouts[2].T[:-3].copy()
    result = compare(h2o2, rollouts, references)
    assert result["worst_case"] == str(references[2].case)
    assert result["delay_error"]["worst"] == result["cases"][2]["delay_error"] > 0.0
    assert result["delay_error"]["median"] == 0.0


@pytest.mark.parametrize("broken_at", [1, 10, 200])
def test_a_rollout_that_breaks_is_never_a_success(h2o2, references, broken_at):
    ref = references[0]
    broken = altered(ref)
    broken.T[broken_at:], broken.Y[broken_at:] = np.nan, np.nan
    result = compare(h2o2, [broken, references[1]], [ref, references[1]])
    assert result["burnt_T_error"]["worst"] == np.inf
    assert result["all_ignite"] == (ref.t[broken_at] > 1.1 * ref.delay)
    if not result["all_ignite"]:
        assert result["delay_error"]["worst"] == np.inf
        assert result["worst_case"] == str(ref.case)


def test_a_mixture_that_stays_cold_has_not_ignited(h2o2, references):
    ref = references[0]
    cold = altered(ref)
    cold.T[:] = ref.T[0]
    row = compare(h2o2, [cold], [ref])["cases"][0]
    assert not row["ignited"] and np.isnan(row["delay_error"])
    assert row["reference_delay"] == ref.delay
    assert row["burnt_T_error"] > 1000.0


def test_a_species_that_the_flame_does_not_make_is_not_compared(drm19):
    # Hydrogen in a methane mechanism: CVODE's CO and CH2O are exactly zero.
    case = Case(1500.0, 101325.0, 1.0)
    Y = np.tile(drm19.mixture("H2:1", "O2:1, N2:3.76", 1.0), (4, 1))
    for name in ("OH", "H"):
        Y[2, drm19.index(name)] = 1e-3
    rollout = Rollout(case, np.arange(4) * 1e-6, np.array([1500.0, 1510.0, 2500.0, 2510.0]), Y)
    assert set(compare(drm19, [rollout], [rollout])["peak_errors"]) == {"OH", "H"}

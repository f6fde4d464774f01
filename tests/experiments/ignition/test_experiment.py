"""The ignitions of a validation: CVODE's references, CVODE as its own surrogate, and errors: those
of equal rollouts vanish, planted ones are found, failures count."""

from dataclasses import replace

import cantera as ct
import numpy as np
import pytest
from hydrogen import AIR, FUEL, IGNITION_DT, IGNITIONS, MIXTURE

from combred.chemistry.fuel import Mixture
from combred.chemistry.reactor import CVODE
from combred.config.validation import ValidationSettings
from combred.experiments.ignition import experiment
from combred.experiments.ignition.delay import ignition_delay
from combred.experiments.ignition.experiment import Ignitions
from combred.experiments.ignition.rollout import Case, Rollout

DT = IGNITION_DT


def test_cases_are_all_combinations():
    settings = ValidationSettings(T0=[1e3, 2e3], p=[3e5], phi=[4.0, 5.0, 6.0])
    got = Ignitions.of(None, None, settings).cases
    assert {(c.T0, c.p, c.phi) for c in got} == {(T, 3e5, f) for T in (1e3, 2e3) for f in (4, 5, 6)}
    assert len(got) == 6


def test_a_reference_lasts_until_the_burnt_time_after_ignition(ignitions):
    for ref in ignitions:
        assert np.isfinite(ref.T).all()
        ignited = ref.t[np.argmax(ref.T > 0.5 * (ref.case.T0 + ref.T.max()))]
        # 1.3 times the ignition on CVODE's own steps, rounded up to whole dt.
        assert abs(ref.t[-1] - (1.3 * ignited + IGNITIONS.burnt_time)) < 3 * DT


def test_gas_that_is_hotter_than_its_equilibrium_ignites(drm19):
    """Methane of phi 10 rises by 200 K and is then cooled by pyrolysis, below its initial T."""
    mixture = Mixture("CH4:1", "O2:1, N2:3.76")
    ignitions = Ignitions(drm19, mixture, [Case(1600.0, 10.0 * ct.one_atm, 10.0)], 1e-5, 1e-4)
    (reference,) = ignitions.reference()
    row = ignitions.compare([reference], [reference])["cases"][0]
    steepest = reference.t[np.argmax(np.diff(reference.T))]
    assert row["reference_delay"] == pytest.approx(steepest, rel=0.2)
    assert ignitions.compare(ignitions.follow(CVODE(drm19), [reference]), [reference])["all_ignite"]


def test_a_reference_ends_at_equilibrium(h2o2, ignitions):
    gas = h2o2.solution()
    for ref in ignitions:
        gas.TPY = ref.case.T0, ref.case.p, ref.Y[0]
        gas.equilibrate("HP")
        # 2 ms are some ten recombination times of hydrogen at 1 atm; CVODE's error is 1e-4 K.
        assert ref.T[-1] == pytest.approx(gas.T, abs=0.05)
        assert np.abs(ref.Y[-1] - gas.Y).max() < 1e-5


@pytest.mark.parametrize(
    "T0, told",
    [
        (700.0, "700 K, phi 1, 1 atm does not ignite.*hotter T0"),
        (1e5, "CVODE cannot integrate the case 100000 K.*choose another T0"),
    ],
)
def test_a_case_without_an_ignition_is_refused(h2o2, monkeypatch, T0, told):
    case, Y0 = Case(T0, 101325.0, 1.0), h2o2.mixture(FUEL, AIR, 1.0)
    monkeypatch.setattr(experiment, "LONGEST", 1e-3)
    with pytest.raises(ValueError, match=told):
        Ignitions.of(h2o2, MIXTURE, IGNITIONS).steps_to_equilibrium(case, Y0)


def test_cvode_with_a_cold_start_in_every_step_follows_its_reference(h2o2, ignitions):
    rollouts = Ignitions.of(h2o2, MIXTURE, IGNITIONS).follow(CVODE(h2o2), ignitions)
    for rollout, ref in zip(rollouts, ignitions, strict=True):
        assert rollout.case == ref.case
        assert np.array_equal(rollout.t, ref.t)
        # rtol 1e-8 in each of 500 steps; on the rise, 1e-6 of a delay of 50 us is 0.01 K.
        delays = [ignition_delay(h2o2, one, ref.T[-1]) for one in (rollout, ref)]
        assert delays[0] == pytest.approx(delays[1], rel=1e-5)
        assert np.abs(rollout.T - ref.T).max() < 0.1
        assert np.abs(rollout.Y - ref.Y).max() < 1e-5


def compare(mechanism, found, references):
    return Ignitions(mechanism, MIXTURE, [], 1.0, 0.0).compare(found, references)


def copy_of(ref: Rollout) -> Rollout:
    """A rollout with its own T and Y."""
    return replace(ref, T=ref.T.copy(), Y=ref.Y.copy())


def test_equal_rollouts_have_no_error(h2o2, ignitions):
    result = compare(h2o2, ignitions, ignitions)
    assert result["all_ignite"]
    none = {"median": 0.0, "mean": 0.0, "worst": 0.0}
    assert result["delay_error"] == result["burnt_T_error"] == none


def test_planted_errors_are_found(h2o2, ignitions):
    ref = ignitions[1]
    wrong = copy_of(ref)
    wrong.T[-1] += 3.0
    row = compare(h2o2, [wrong], [ref])["cases"][0]
    # Differences of numbers near 3000 in float64.
    assert row["burnt_T_error"] == pytest.approx(3.0, abs=1e-9)
    assert row["delay_error"] == 0.0


@pytest.mark.parametrize("first_nan", [1, 10, 200])
def test_a_rollout_that_becomes_nan_has_infinite_errors(h2o2, ignitions, first_nan):
    ref = ignitions[0]
    broken = copy_of(ref)
    broken.T[first_nan:], broken.Y[first_nan:] = np.nan, np.nan
    result = compare(h2o2, [broken, ignitions[1]], [ref, ignitions[1]])
    assert result["burnt_T_error"]["worst"] == np.inf
    delay = ignition_delay(h2o2, ref, ref.T[-1])
    assert result["all_ignite"] == (ref.t[first_nan] > delay)
    if not result["all_ignite"]:
        assert result["delay_error"]["worst"] == np.inf
        assert result["worst_case"] == str(ref.case)


def test_a_mixture_that_stays_cold_has_not_ignited(h2o2, ignitions):
    ref = ignitions[0]
    cold = copy_of(ref)
    cold.T[:] = ref.T[0]
    row = compare(h2o2, [cold], [ref])["cases"][0]
    assert not row["ignited"] and np.isnan(row["delay_error"])
    assert row["reference_delay"] == ignition_delay(h2o2, ref, ref.T[-1])
    assert row["burnt_T_error"] > 1000.0

"""The flames of a validation: their cases, the references, those that start from them, and errors:
those of equal flames vanish, planted ones are found, failures count."""

from dataclasses import replace

import numpy as np
import pytest
from hydrogen import FLAME_TOLERANCES, FLAMES, INERT, premixed_flames

from combred.chemistry.reactor import CVODE
from combred.experiments.cells import WENT_OUT
from combred.experiments.premixed.experiment import PremixedFlames
from combred.experiments.premixed.flame import FlameMarch


def cases(settings):
    return PremixedFlames.of(None, None, settings).cases


def test_references_are_steady_by_both_speeds(flames):
    for found, case in zip(flames, cases(FLAMES), strict=True):
        assert found.case == case and found.steady and found.burns
        assert found.displacement_speed == pytest.approx(found.speed, rel=0.005)
        assert found.speeds[-50:].mean() == pytest.approx(found.speed, rel=0.01)
        assert found.Y.min() > -1e-12 and np.allclose(found.Y.sum(1), 1.0, atol=1e-6)
        assert np.all(np.diff(found.x) > 0)
    assert 1.5 < flames[0].speed < flames[1].speed  # hydrogen burns fastest when rich


def test_the_burnt_gas_has_the_elements_of_the_unburnt(h2o2, flames):
    # In a steady flame the cells alone carry elements in and out.
    for found in flames:
        burnt, unburnt = found.Y[-1] @ h2o2.elements.T, found.profile.unburnt @ h2o2.elements.T
        assert np.allclose(burnt, unburnt, rtol=0, atol=2e-3)  # 3 thicknesses behind the front


def test_cvode_follows_the_references_of_the_solver(h2o2, flames):
    calls, cvode = [], CVODE(h2o2, *FLAME_TOLERANCES)
    experiment = premixed_flames(h2o2)
    found = experiment.follow(cvode, flames, lambda *done: calls.append(done))
    assert calls == [(1, 2), (2, 2)]
    result = experiment.compare(found, flames)
    # A tenth of the tolerance, to which the references were marched.
    assert result["speed_error"]["worst"] < 0.001
    for row in result["cases"]:
        assert row["outcome"] == "steady"
        assert row["profile_T_error"] < 8.0  # K: the transient of the initial profile
        # Six cells to a thickness: 2 % where the front lies elsewhere between them.
        assert max(row["peak_errors"].values()) < 0.006


def test_an_unsteady_reference_is_refused(h2o2, flames):
    short = replace(premixed_flames(h2o2), march=FlameMarch(48, tolerance=1e-8, longest=1.0))
    with pytest.raises(ValueError, match=r"300 K, phi 0.9, 1 atm is not steady.*another phi or T"):
        short.settle(INERT, flames[0].profile)


def compare(mechanism, found, references):
    return premixed_flames(mechanism).compare(found, references)


def altered(ref, T=None, Y=None, **changes):
    """A copy of a flame with another profile, or with other numbers."""
    profile = replace(
        ref.profile, T=ref.T.copy() if T is None else T, Y=ref.Y.copy() if Y is None else Y
    )
    return replace(ref, profile=profile, **changes)


def test_equal_flames_have_no_error(h2o2, flames):
    result = compare(h2o2, flames, flames)
    none = {"median": 0.0, "mean": 0.0, "worst": 0.0}
    assert result["speed_error"] == none
    for row in result["cases"]:
        assert row["speed_error"] == row["thickness_error"] == row["burnt_T_error"] == 0.0
        assert row["profile_T_error"] < 1e-8  # K: the spline at its own points
        assert {"H", "O", "OH", "HO2", "H2O2"} <= set(row["peak_errors"])
        assert not any(row["peak_errors"].values())


def test_planted_errors_are_found(h2o2, flames):
    ref = flames[0]
    Y, T = ref.Y.copy(), ref.T.copy()
    Y[:, h2o2.index("OH")] *= 1.25
    T[-1] += 7.0
    T[-6] -= 11.0
    wrong = altered(ref, T, Y, speed=0.9 * ref.speed, thickness=1.1 * ref.thickness)
    result = compare(h2o2, [flames[1], wrong], [flames[1], ref])
    row = result["cases"][1]
    assert row["speed_error"] == pytest.approx(0.1) and row["thickness_error"] == pytest.approx(0.1)
    assert row["burnt_T_error"] == pytest.approx(7.0)
    assert row["profile_T_error"] == pytest.approx(11.0, abs=0.01)
    assert row["peak_errors"]["OH"] == pytest.approx(0.25) and row["peak_errors"]["H"] == 0.0
    assert result["worst_case"] == str(ref.case)
    assert result["speed_error"]["worst"] == row["speed_error"]
    assert result["speed_error"]["median"] == pytest.approx(0.05)


def test_the_position_of_the_front_is_no_error(h2o2, flames):
    ref = flames[0]
    shifted = altered(ref, x=ref.x + 3e-5)
    assert compare(h2o2, [shifted], [ref])["cases"][0]["profile_T_error"] < 1e-6
    wider = altered(ref, x=1.02 * ref.x)  # but the shape is: 2 % of a thickness of ~2000 K
    assert 5.0 < compare(h2o2, [wider], [ref])["cases"][0]["profile_T_error"] < 60.0


def test_a_failed_flame_has_infinite_errors(h2o2, extinct, flames):
    broken = replace(extinct, x=flames[0].x, profile=flames[0].profile)
    result = compare(h2o2, [broken, flames[1]], flames)
    assert result["speed_error"]["worst"] == result["speed_error"]["mean"] == np.inf
    row = result["cases"][0]
    names = ("speed_error", "thickness_error", "burnt_T_error", "profile_T_error")
    assert all(np.isnan(value) for value in [*map(row.get, names), *row["peak_errors"].values()])
    assert result["worst_case"] == str(flames[0].case)
    assert result["cases"][0]["outcome"] == WENT_OUT

"""The flames of a validation: their cases, the references, and those that start from them."""

from dataclasses import replace

import numpy as np
import pytest
from hydrogen import FLAME_TOLERANCES, FLAMES, INERT, premixed_flames

from combred.chemistry.reactor import CVODE
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

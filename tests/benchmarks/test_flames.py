"""The order of convergence, the change of grid and the stored results of the flame benchmark."""

import numpy as np
import pytest

from benchmarks import flames
from combred.experiments.premixed.grid import FlameCase, Profile


@pytest.mark.parametrize("q", [1.0, 1.4, 2.0])
def test_the_order_is_found_by_regression(q):
    x = np.array([1.0, 0.7, 0.5, 0.35])
    found, limit = flames.order(list(x), list(0.39 - 0.004 * x**q))
    assert found == pytest.approx(q, rel=1e-4) and limit == pytest.approx(0.39, rel=1e-6)


def test_a_profile_keeps_its_mass_and_shape_on_another_grid():
    s = (np.arange(40) + 0.5) / 40
    Y = np.column_stack([s, 1.0 - s])
    old = Profile(FlameCase(300.0, 1e5, 1.0), 1e-5, Y[0], 2000.0, 300.0 + 1700.0 * s, Y, 0.4)
    new = flames.regrid(old, 100)
    assert new.cell_mass * 100 == pytest.approx(old.cell_mass * 40)
    at = ((np.arange(100) + 0.5) / 100).clip(s[0], s[-1])
    assert np.allclose(new.T, 300.0 + 1700.0 * at) and np.allclose(new.Y.sum(1), 1.0)


def test_a_result_is_added_to_the_stored_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(flames, "RESULTS", tmp_path / "flames.json")
    flames.keep("grid", "57", {"speed": 0.39})
    flames.keep("grid", "80", {"speed": np.nan})
    assert flames.stored()["grid"] == {"57": {"speed": 0.39}, "80": {"speed": None}}
    assert flames.stored()["models"] == {}

"""The differences of two stirred reactors."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hydrogen import INERT

from combred.experiments.stirred.experiment import differences
from combred.experiments.stirred.reactor import StirredCase, stir

CASE = StirredCase(residence=1e-3, mixing=5e-4, pairing=5e-4, dt=1e-4, steps=12, particles=20)


def test_two_solvers_see_the_same_mixing_and_their_difference_is_found(h2o2, streams):
    def hotter(T, p, Y, dt):  # moves a hundredth of N2 to H2O: T rises
        Y = Y.copy()
        Y[:, h2o2.index("H2O")] += 0.01 * Y[:, h2o2.index("N2")]
        Y[:, h2o2.index("N2")] *= 0.99
        return T, Y

    one = stir(h2o2, INERT, streams, CASE)
    other = stir(h2o2, SimpleNamespace(advance=hotter), streams, CASE)
    assert np.array_equal(one.Y[:, h2o2.index("H2")], other.Y[:, h2o2.index("H2")])
    found = differences(h2o2, other, one, ("H2", "H2O"))
    assert found["H2"] == {"largest": 0.0, "mean": 0.0, "at": 0.0}
    off = other.Y[:, h2o2.index("H2O")] / one.Y[:, h2o2.index("H2O")] - 1
    assert found["H2O"]["largest"] == pytest.approx(off.max())
    assert found["H2O"]["mean"] == pytest.approx(off.mean())
    with pytest.raises(ValueError, match="cannot be compared"):
        differences(h2o2, one, replace(other, case=replace(CASE, seed=1)), ("H2",))

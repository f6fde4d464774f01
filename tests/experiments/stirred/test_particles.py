"""The streams of a stirred reactor, and pairs of particles that mix."""

import numpy as np
import pytest

from combred.chemistry.fuel import Mixture
from combred.experiments.stirred.particles import Particles, piloted_streams


def test_the_pilot_is_burnt_and_its_elements_are_those_of_the_mixture(h2o2, streams):
    fuel, air, pilot = streams
    assert fuel.Y[h2o2.index("H2")] == 1.0 and air.Y[h2o2.index("H2")] == 0.0
    assert pilot.T > 2000.0 and pilot.Y.min() >= 0.0
    fresh = h2o2.mixture("H2:1", "O2:1, N2:3.76", 1.0)
    assert h2o2.elements @ pilot.Y == pytest.approx(h2o2.elements @ fresh, rel=1e-9)


@pytest.mark.parametrize("phi", [0.7, 1.0])
def test_the_streams_have_the_equivalence_ratio_together(mechanism, phi):
    fuel, air = {"drm19.yaml": "CH4:1", "h2o2.yaml": "H2:2, N2:1"}[mechanism.name], "O2:1, N2:3.76"
    streams = piloted_streams(mechanism, Mixture(fuel, air), phi=phi)
    assert sum(s.share for s in streams) == pytest.approx(1.0)
    together = sum(s.share * mechanism.elements @ s.Y for s in streams)
    expected = mechanism.elements @ mechanism.mixture(fuel, air, phi)
    assert together == pytest.approx(expected, rel=1e-9)


def test_pairs_approach_their_mean_with_the_mixing_time(h2o2, streams):
    particles = Particles(h2o2, streams, np.array([0, 1]))
    before = particles.Y.copy()
    particles.mix(np.array([[0, 1]]), 0.3)
    assert particles.Y[0] - particles.Y[1] == pytest.approx(0.7 * (before[0] - before[1]))
    assert particles.Y.sum(0) == pytest.approx(before.sum(0))

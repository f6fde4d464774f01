"""Rollouts on disk come back as they were."""

import numpy as np
import pytest

from combred.ignition import Case, Rollout
from combred.mechanism import load_mechanism
from combred.rollouts import read_rollouts, write_rollouts


def rollout(seed, n):
    rng = np.random.default_rng(seed)
    return Rollout(Case(1500.0, 1e5, 0.8), np.arange(n) * 1e-6, rng.random(n), rng.random((n, 10)))


def test_round_trip(tmp_path):
    mechanism = load_mechanism("h2o2.yaml")
    groups = {"cvode": [rollout(0, 5), rollout(1, 9)], "stage0": [rollout(2, 5)]}
    write_rollouts(tmp_path / "v.h5", groups, mechanism, {"dt": 1e-6})
    again, inputs = read_rollouts(tmp_path / "v.h5", mechanism)
    assert inputs == {"dt": 1e-6}
    assert again.keys() == groups.keys()
    assert again["cvode"][1].case == groups["cvode"][1].case
    # The reference is kept exactly: later comparisons must not depend on being read from a file.
    assert np.array_equal(again["cvode"][1].Y, groups["cvode"][1].Y)
    assert np.allclose(again["stage0"][0].Y, groups["stage0"][0].Y, rtol=1e-6)  # float32


def test_no_file_is_no_rollouts(tmp_path):
    assert read_rollouts(tmp_path / "v.h5", load_mechanism("h2o2.yaml")) == ({}, {})


def test_damaged_or_foreign_is_refused(tmp_path):
    write_rollouts(tmp_path / "v.h5", {"cvode": [rollout(0, 5)]}, load_mechanism("h2o2.yaml"), {})
    with pytest.raises(ValueError, match="another mechanism"):
        read_rollouts(tmp_path / "v.h5", load_mechanism("drm19.yaml"))
    (tmp_path / "v.h5").write_bytes(b"not HDF5")
    with pytest.raises(ValueError, match="only=validate"):
        read_rollouts(tmp_path / "v.h5", load_mechanism("h2o2.yaml"))

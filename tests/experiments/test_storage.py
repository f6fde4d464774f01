"""Rollouts, flames and stirred reactors on disk: read back as written, refused if damaged or of
another mechanism."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from combred.experiments import cells
from combred.experiments.ignition.rollout import Case, Rollout
from combred.experiments.premixed.flame import Flame
from combred.experiments.premixed.grid import FlameCase, Profile
from combred.experiments.stirred.reactor import FINISHED, NOT_FINITE, StirredCase, StirredRun
from combred.experiments.storage import read_runs, write_runs


def rollout(seed, n):
    rng = np.random.default_rng(seed)
    return Rollout(Case(1500.0, 1e5, 0.8), np.arange(n) * 1e-6, rng.random(n), rng.random((n, 10)))


def burnt(seed, n, **changes):
    rng, case = np.random.default_rng(seed), FlameCase(300.0, 1e5, 0.8)
    T, Y, unburnt = rng.random(n), rng.random((n, 10)), rng.random(10)
    profile = Profile(case, 1e-6, unburnt, 2100.0, T, Y, 0.4)
    numbers = {"speed": 0.41, "displacement_speed": 0.42, "thickness": 4e-4}
    t, *steps = (rng.random(2 * n) for _ in range(3))
    given = profile, rng.random(n), t, changes.pop("outcome", cells.STEADY), *steps
    return Flame(*given, **numbers | changes)


def stirred(seed, steps, outcome=FINISHED, **changes):
    rng = np.random.default_rng(seed)
    case = StirredCase(**{"steps": steps, "particles": 4, "p": 2e6, "seed": seed, **changes})
    t, T = rng.random(steps + 1), rng.random(steps + 1)
    particles = rng.random(4), rng.random((4, 10))
    return StirredRun(case, t, T, rng.random((steps + 1, 10)), *particles, outcome)


def failed_flame():
    nan = dict.fromkeys(("speed", "displacement_speed", "thickness"), np.nan)
    return burnt(2, 5, **nan, outcome=cells.WENT_OUT)


def failed_reactor():
    run = stirred(2, 5, NOT_FINITE, residence=np.inf)
    run.T[3:] = np.nan
    return run


def assert_same(back, wrote):
    """All fields, exactly: errors must not depend on reading a result from a file."""
    assert type(back) is type(wrote)
    if is_dataclass(wrote):
        for field in fields(wrote):
            assert_same(getattr(back, field.name), getattr(wrote, field.name))
    else:
        assert np.array_equal(back, wrote, equal_nan=not isinstance(wrote, str))


@pytest.mark.parametrize(
    ("kind", "make", "failed"),
    [
        (Rollout, rollout, lambda: rollout(2, 5)),
        (Flame, burnt, failed_flame),
        (StirredRun, stirred, failed_reactor),
    ],
)
def test_results_are_read_back_as_written(tmp_path, h2o2, kind, make, failed):
    groups = {"reference": [make(0, 5), make(1, 9)], "stage0": [failed()]}
    write_runs(tmp_path / "r.h5", groups, h2o2, {"networks": {"stage0": "abc"}})
    again, inputs = read_runs(tmp_path / "r.h5", h2o2, kind)
    assert inputs == {"networks": {"stage0": "abc"}} and again.keys() == groups.keys()
    for name, wrote in groups.items():
        for one, other in zip(again[name], wrote, strict=True):
            assert_same(one, other)


@pytest.mark.parametrize(
    ("kind", "make"), [(Rollout, rollout), (Flame, burnt), (StirredRun, stirred)]
)
def test_missing_and_damaged_files_and_other_mechanisms(tmp_path, h2o2, drm19, kind, make):
    file = tmp_path / "s.h5"
    assert read_runs(file, h2o2, kind) == ({}, {})
    write_runs(file, {"reference": [make(0, 5)]}, h2o2, {})
    with pytest.raises(ValueError, match="another mechanism"):
        read_runs(file, drm19, kind)
    whole = file.read_bytes()
    for content in (b"not HDF5", whole[:200], whole[:-10]):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="Move it away"):
            read_runs(file, h2o2, kind)


def test_a_write_that_fails_leaves_the_old_file(tmp_path, h2o2):
    file, broken = tmp_path / "s.h5", stirred(1, 5)
    write_runs(file, {"reference": [stirred(0, 5)]}, h2o2, {"made": 1})
    object.__setattr__(broken, "outcome", object())  # nothing that HDF5 can hold
    with pytest.raises(TypeError):
        write_runs(file, {"reference": [broken]}, h2o2, {"made": 2})
    assert read_runs(file, h2o2, StirredRun)[1] == {"made": 1}

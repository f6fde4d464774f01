"""The segment file: read as it was written, and refused where it is damaged or of another run."""

import h5py
import numpy as np
import pytest

from combred.dataset.segments import UNITS, Segments, offsets, open_segments, write_segments
from combred.dataset.states import StateFileError

STEPS = 4
PROVENANCE = {"rtol": 1e-8, "atol": 1e-16, "seed": 0, "segments": {"each": 3, "p": [1.0]}}


@pytest.fixture
def segments() -> Segments:
    """Random segments of h2o2 (10 species)."""
    rng = np.random.default_rng(0)
    states = np.empty((12, 4, 12))
    states[:, :, 0] = rng.uniform(1e3, 2e3, (12, 4))
    states[:, :, 1] = rng.uniform(9e4, 1.1e5, (12, 1))
    states[:, :, 2:] = rng.dirichlet(np.ones(10), (12, 4))
    dt = 10 ** rng.uniform(-8, -5, 12)
    return Segments(STEPS, states, dt, np.repeat(np.arange(4), 3), PROVENANCE)


@pytest.fixture
def file(segments, h2o2, tmp_path):
    write_segments(tmp_path / "segments.h5", segments, h2o2)
    return tmp_path / "segments.h5"


def test_offsets_double_up_to_the_steps():
    assert offsets(1) == [0, 1] and offsets(8) == [0, 1, 2, 4, 8]
    assert offsets(16)[:5] == offsets(8)


def test_segments_are_read_as_they_were_written(file, segments, h2o2):
    again = open_segments(file, h2o2)
    assert np.array_equal(again.states, segments.states)
    assert np.array_equal(again.dt, segments.dt)
    assert np.array_equal(again.trajectories, segments.trajectories)
    assert (again.steps, again.provenance) == (STEPS, PROVENANCE)
    assert [path.name for path in file.parent.iterdir()] == ["segments.h5"]


def test_the_file_has_units_offsets_and_the_mechanism(file, h2o2):
    with h5py.File(file) as stored:
        assert {name: stored[name].attrs["units"] for name in UNITS} == UNITS
        assert stored["offset"][...].tolist() == offsets(STEPS)
        assert stored.attrs["mechanism_sha256"] == h2o2.sha256
        assert list(stored.attrs["species"]) == list(h2o2.species_names)


# -- refused ---------------------------------------------------------------------------------------


def test_a_missing_file_names_the_command(tmp_path, h2o2):
    with pytest.raises(FileNotFoundError, match="only=sample"):
        open_segments(tmp_path / "segments.h5", h2o2)


def test_another_mechanism_is_refused(file, h2o2, drm19):
    with pytest.raises(StateFileError, match=r"h2o2.yaml .*but .*drm19.yaml.*mechanism=h2o2.yaml"):
        open_segments(file, drm19)


@pytest.mark.parametrize("how", ["truncated", "no column", "no dt", "not finite", "no steps"])
def test_a_damaged_file_is_refused(file, tmp_path, h2o2, how):
    path = tmp_path / "damaged.h5"
    path.write_bytes(file.read_bytes()[: 3000 if how == "truncated" else None])
    if how != "truncated":
        with h5py.File(path, "r+") as stored:
            if how == "no column":
                del stored["T"]
            elif how == "no dt":  # as in combred 0.2
                del stored["dt"]
            elif how == "no steps":
                del stored.attrs["steps"]
            else:
                stored["T"][3, 1] = np.nan
    with pytest.raises(StateFileError, match="Move it away and run"):
        open_segments(path, h2o2)

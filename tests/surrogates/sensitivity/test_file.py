"""The file of states with sensitivities: resumed, read, refused."""

import functools

import h5py
import numpy as np
import pytest
from killed import Killed

from combred.config.data import SamplingSettings, SensitivitySettings
from combred.files.hdf5 import seal
from combred.processes.workers import Processes
from combred.surrogates.dataset.schema import StateFileError
from combred.surrogates.sensitivity.file import make_sensitive, read_sensitive, sensitive_provenance
from combred.surrogates.sensitivity.sampling.ignitions import STATES
from combred.surrogates.sensitivity.sampling.sample import SensitiveSampler

SAMPLING = SamplingSettings(T0=[1200.0, 1500.0], p=[8e4, 1.5e5], phi=[0.6, 1.5])
FOUR = SensitivitySettings(ignitions=4, flames=0, counterflows=0, kernels=0)


@pytest.fixture
def make(h2o2, in_process, tmp_path):
    """A function that makes a file in this process, and returns it with its numbers and calls."""

    def made(settings=FOUR, sampling=SAMPLING, on_progress=None):
        calls = []
        watch = on_progress or (lambda *done: calls.append(done))
        with in_process():
            numbers = make_sensitive(
                tmp_path / "sensitive.h5", h2o2, settings, sampling, 0,
                Processes(1, watch),
            )  # fmt: skip
        return tmp_path / "sensitive.h5", numbers, calls

    return made


def kill_after(count):
    """A callback that kills the sampling once so many trajectories are done."""

    def on_progress(done, total):
        if done == count:
            raise Killed

    return on_progress


def test_a_file_is_read_as_it_was_made(make, h2o2, tmp_path):
    path, numbers, calls = make()
    rows, made_with = read_sensitive(path)
    assert numbers == {"trajectories": 4, "lost": [], "rows": 4 * STATES}
    assert calls == [(i, 4) for i in range(5)]
    assert len(rows.T) == numbers["rows"] and len(set(rows.trajectory)) == 4
    assert made_with == sensitive_provenance(h2o2, FOUR, SAMPLING, 0)
    assert made_with["fuel"] == "H2:1"  # auto, of this mechanism
    assert [p.name for p in tmp_path.iterdir()] == ["sensitive.h5"]
    with h5py.File(path) as file:
        assert file["sensitivity"].attrs["units"] == "s" and file["p"].attrs["units"] == "Pa"


def test_an_interrupted_sampling_goes_on_to_the_same_rows(make, monkeypatch):
    path, _, _ = make()
    whole = path.read_bytes()
    path.unlink()
    with pytest.raises(Killed):
        make(on_progress=kill_after(3))
    assert not path.exists()
    parts = sorted(path.parent.glob("*.partial/*"))
    # Damaged: computed again. A file of no bytes is what a power failure leaves.
    parts[0].write_bytes(parts[0].read_bytes()[:-9])
    parts[1].write_bytes(b"")
    attempt, seen = SensitiveSampler.attempt, []

    @functools.wraps(attempt)  # its name, by which it is pickled
    def recorded(self, trajectory):
        seen.append(trajectory.index)
        return attempt(self, trajectory)

    monkeypatch.setattr(SensitiveSampler, "attempt", recorded)
    assert make()[2][0] == (1, 4)
    assert set(range(4)) - set(seen) == {int(part.name) for part in parts[2:]}
    assert path.read_bytes() == whole


def test_other_settings_do_not_take_what_was_interrupted(make):
    with pytest.raises(Killed):
        make(on_progress=kill_after(2))
    _, _, calls = make(SensitivitySettings(ignitions=3, flames=0, counterflows=0, kernels=0))
    assert calls[0] == (0, 3)


def test_nothing_that_burns_is_refused(make):
    cold = SamplingSettings(T0=[400.0, 500.0], p=[8e4, 1.5e5])
    with pytest.raises(ValueError, match=r"widen the ranges of T0.*ask for none"):
        make(SensitivitySettings(ignitions=1, flames=0, counterflows=0, kernels=0), cold)


def test_a_damaged_file_is_refused(make):
    path = make()[0]
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(StateFileError, match="cannot be read.*Move it away"):
        read_sensitive(path)
    path.write_bytes(whole)
    with h5py.File(path, "r+") as file:
        file["sensitivity"][3, 1] = np.nan
    seal(path)
    with pytest.raises(StateFileError, match="not finite"):
        read_sensitive(path)

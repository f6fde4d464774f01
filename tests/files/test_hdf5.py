"""HDF5 files that show damage: every flipped bit, truncation, and what is no file of combred."""

import os

import h5py
import numpy as np
import pytest

from combred.files import hdf5


@pytest.fixture
def file(tmp_path):
    """A file with a compressed dataset, an attribute and a group."""
    path = tmp_path / "a.h5"
    with hdf5.new_file(path) as new:
        new.create_dataset("x", data=np.arange(1000.0), compression="gzip")
        new.create_group("g").attrs["text"] = "words"
    return path


def test_it_is_read_as_any_other_file(file):
    hdf5.require_intact(file)
    with h5py.File(file) as stored:
        assert stored["x"][7] == 7.0 and stored["g"].attrs["text"] == "words"
    assert [path.name for path in file.parent.iterdir()] == ["a.h5"]


@pytest.mark.parametrize("seed", range(4))
def test_no_flipped_bit_goes_unseen(file, seed):
    rng, whole = np.random.default_rng(seed), file.read_bytes()
    for place in [*rng.integers(0, len(whole), 30), *rng.integers(0, 100, 10)]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.integers(8)
        file.write_bytes(flipped)
        os.utime(file, ns=(int(place), int(rng.integers(1 << 40))))  # as time passes
        with pytest.raises(ValueError, match="damaged"):
            hdf5.require_intact(file)


@pytest.mark.parametrize("content", [b"", b"x", b"\x89HDF", b"combred sha256 "])
def test_what_is_no_whole_file_is_refused(tmp_path, content):
    (tmp_path / "a.h5").write_bytes(content)
    with pytest.raises(ValueError, match="no HDF5 file of combred|truncated or damaged"):
        hdf5.require_intact(tmp_path / "a.h5")


@pytest.mark.parametrize("path", ["/dev/zero", "pipe", "folder"])
def test_what_is_no_regular_file_is_not_read(tmp_path, path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match="no regular file"):
        with hdf5.opened(tmp_path / path):
            pass


def test_a_group_that_holds_itself_is_walked_once(file):
    with h5py.File(file, "r+") as stored:
        stored["g/again"] = stored["g"]
        stored["g/x"] = stored["x"]
    hdf5.seal(file)
    with hdf5.opened(file) as stored:
        assert stored["g/again/again/x"][7] == 7.0
    with h5py.File(file, "r+") as stored:
        stored["g/deep"] = h5py.SoftLink("/x")
    hdf5.seal(file)
    with pytest.raises(ValueError, match="its 'deep' is a link"):
        with hdf5.opened(file):
            pass


def test_a_cut_file_is_refused_and_a_changed_one_can_be_sealed_again(file):
    whole = file.read_bytes()
    for length in (len(whole) - 1, len(whole) // 2, 512, 511):
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="damaged"):
            hdf5.require_intact(file)
    file.write_bytes(whole)
    with h5py.File(file, "r+") as stored:
        stored["g"].attrs["text"] = "others"
    with pytest.raises(ValueError, match="differs from what was written"):
        hdf5.require_intact(file)
    hdf5.seal(file)
    hdf5.require_intact(file)


def test_a_file_of_others_is_not_checked_and_a_failed_write_leaves_the_old_one(file, tmp_path):
    with h5py.File(tmp_path / "own.h5", "w") as own:
        own["x"] = 1.0
    hdf5.require_intact(tmp_path / "own.h5")
    before = file.read_bytes()
    with pytest.raises(KeyError):
        with hdf5.new_file(file):
            raise KeyError
    assert file.read_bytes() == before and not file.with_suffix(".new").exists()


def test_space_that_the_disk_does_not_have_is_refused(tmp_path):
    folder = tmp_path / "made" / "anew"
    hdf5.require_space(folder, 4096)
    assert folder.is_dir()
    with pytest.raises(OSError):
        hdf5.require_space(folder, 1 << 60)
    assert not list(folder.iterdir())


def test_a_file_that_is_replaced_after_its_check_is_not_read(tmp_path, monkeypatch):
    """Another whole file takes its place before HDF5 opens it."""
    for name in ("a.h5", "b.h5"):
        with hdf5.new_file(tmp_path / name) as file:
            file["x"] = [1.0]
    check = hdf5.require_intact

    def check_and_replace(path):
        check(path)
        (tmp_path / "b.h5").rename(path)

    monkeypatch.setattr(hdf5, "require_intact", check_and_replace)
    with pytest.raises(ValueError, match="another program has just replaced it"):
        with hdf5.opened(tmp_path / "a.h5"):
            pass

"""The cache is cleared of what combred made in it, and of nothing else."""

import os

import pytest

from combred.command import main
from combred.files.cache import clear, entries

NAME = "0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache with a library, a compiled part, one that was just made, and what others keep."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "combred"
    (folder / NAME).mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    (folder / NAME / "lib.so").write_bytes(bytes(1000))
    (folder / f"{NAME[::-1]}.o").write_bytes(bytes(500))
    (folder / f"{NAME}.o").write_bytes(bytes(70))
    (folder / "mechanisms").mkdir()
    (folder / "notes.o").write_text("mine")
    (tmp_path / "precious").mkdir()
    (folder / f"{NAME[:-1]}f").symlink_to(tmp_path / "precious")
    for path in (folder / NAME / "lib.so", folder / NAME, folder / f"{NAME[::-1]}.o"):
        os.utime(path, (0, 0))
    return folder


def test_only_old_entries_of_combred_are_removed(cache, capsys):
    assert sum(entries().values()) == 1570
    assert clear() == 1500
    left = {path.name for path in cache.iterdir()}
    assert left == {f"{NAME}.o", "mechanisms", "notes.o", f"{NAME[:-1]}f"}
    assert (cache.parent / "precious").is_dir()
    assert main(["cache"]) == 0 and str(cache) in capsys.readouterr().out


def test_a_cache_that_others_may_write_is_not_touched(cache, capsys):
    cache.chmod(0o777)
    assert main(["cache", "--clear"]) == 2
    assert "is not safe" in capsys.readouterr().out and (cache / NAME / "lib.so").is_file()

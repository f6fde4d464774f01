"""JSON records: written whole or not at all, damaged ones refused; hashes of files."""

import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from combred.files.hdf5 import new_file
from combred.files.records import (
    read_json,
    read_record,
    write_bytes,
    write_files,
    write_json,
    write_record,
)
from combred.files.trace import Trace


def test_json_is_written_whole_or_not_at_all(tmp_path):
    file = tmp_path / "a.json"
    write_json(file, {"x": np.float64(1.5), "y": np.arange(2)})
    with pytest.raises(TypeError):
        write_json(file, {"x": object()})
    assert json.loads(file.read_text()) == {"x": 1.5, "y": [0, 1]}


def test_a_missing_file_is_an_empty_record_and_a_damaged_one_is_refused(tmp_path):
    assert read_json(tmp_path / "a.json") == {}
    (tmp_path / "a.json").write_text('{"x": 1')
    with pytest.raises(ValueError, match="move it away"):
        read_json(tmp_path / "a.json")


def test_a_record_shows_damage_and_one_that_was_not_written_here_is_refused(tmp_path):
    file, numbers = tmp_path / "a.json", {"x": [1.5, np.nan], "y": {"z": "text"}}
    write_record(file, numbers)
    assert repr(read_record(file)) == repr(numbers) == repr(read_json(file))
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    for place in rng.integers(0, len(whole), 200):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.integers(8)
        file.write_bytes(flipped)
        try:  # a flip in white space may leave the content as it was
            found = read_record(file)
        except ValueError as error:
            assert "move it away" in str(error)
        else:
            assert repr(found) == repr(numbers)
    for content in ("{}", '{"x": 1}', "[1]", "null", '"x"', "3"):
        file.write_text(content)
        with pytest.raises(ValueError, match="move it away"):
            read_record(file)
    assert read_record(tmp_path / "b.json") == {}


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '{"b": [{"a": 1, "c": 2, "a": 3}]}'])
def test_a_key_that_a_table_has_twice_is_refused(tmp_path, text):
    """Readers take the first or the last of them."""
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match="it has the key 'a' twice"):
        read_json(tmp_path / "a.json")


def test_a_record_that_is_nested_too_deeply_is_refused(tmp_path):
    (tmp_path / "a.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="is not JSON .nested too deeply"):
        read_json(tmp_path / "a.json")


def test_a_full_disk_is_told_with_the_file(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fdopen", full)
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path}/a'"):
        write_bytes(tmp_path / "a", b"x")


def test_threads_and_containers_may_write_the_same_file(tmp_path, monkeypatch):
    """Processes of two containers may have equal numbers."""
    monkeypatch.setattr("os.getpid", lambda: 1)
    file, contents = tmp_path / "a", [bytes([i]) * 100_000 for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: write_bytes(file, content), contents * 4))
    assert file.read_bytes() in contents and list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("kind", ["record", "hdf5", "trace"])
def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch, kind):
    """After a power failure a file without its content would be damaged; a state counts rows."""
    did, replace, sync = [], os.replace, os.fsync
    of = lambda there: os.path.basename(os.readlink(f"/proc/self/fd/{there}"))  # noqa: E731
    monkeypatch.setattr("os.fsync", lambda there: (did.append(of(there)), sync(there)))
    monkeypatch.setattr("os.replace", lambda *names: (did.append("renamed"), replace(*names)))
    if kind == "hdf5":
        with new_file(tmp_path / "a.h5") as file:
            file["x"] = 1.0
    elif kind == "trace":
        trace = Trace(tmp_path / "a.state", {})
        trace.add({"loss": 0.5})
        trace.save({})
        assert did.pop(0) == "a.jsonl"
    else:
        write_record(tmp_path / "a.json", {"x": 1})
    assert did[0].startswith("a.") and did[0].endswith(".new")
    assert did[1:] == ["renamed", tmp_path.name]


@pytest.mark.parametrize(("other", "error"), [("none/b", OSError), ("b", IsADirectoryError)])
def test_files_are_written_when_there_is_room_for_all(tmp_path, other, error):
    (tmp_path / "a").write_text("old")
    (tmp_path / "b").mkdir()
    with pytest.raises(error, match="b"):
        write_files({tmp_path / "a": b"new", tmp_path / other: b"new"})
    assert (tmp_path / "a").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]

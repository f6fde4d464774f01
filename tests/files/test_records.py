"""JSON records: written whole or not at all, damaged ones refused; hashes of files."""

import json

import numpy as np
import pytest

from combred.files.records import digest, read_json, read_record, write_json, write_record


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


def test_files_have_equal_digests_if_and_only_if_their_contents_are_equal(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"1")
    (tmp_path / "c").write_bytes(b"2")
    assert digest(tmp_path / "a") == digest(tmp_path / "b") != digest(tmp_path / "c")


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

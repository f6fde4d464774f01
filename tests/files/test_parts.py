"""Parts of a long computation: whole, missing, damaged, and of other inputs."""

import numpy as np
import pytest

from combred.files.parts import Parts, forget_parts

ARRAYS = np.linspace(0.0, 1.0, 50).reshape(10, 5), np.arange(10, dtype="i4")


@pytest.fixture
def parts(tmp_path) -> Parts:
    made = Parts(tmp_path / "rows.h5", {"seed": 0})
    made.write(3, ARRAYS)
    return made


def test_a_part_is_read_as_it_was_written(parts):
    again = Parts(parts.path, {"seed": 0}).read(3)
    assert all(
        np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(again, ARRAYS, strict=True)
    )
    assert parts.read(2) is None


def test_a_damaged_part_is_missing(parts):
    file = parts.folder / "3"
    whole = file.read_bytes()
    for damaged in (b"", whole[:-9], whole[9:]):
        file.write_bytes(damaged)
        assert parts.read(3) is None
    for place in range(len(whole)):  # headers of the arrays, and the directory of the archive, too
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 8]) + whole[place + 1 :])
        assert parts.read(3) is None


def test_a_part_in_the_place_of_another_is_missing(parts):
    content = (parts.folder / "3").read_bytes()
    other = Parts(parts.path, {"seed": 1})
    for place in (parts.folder / "4", other.folder / "3"):
        place.write_bytes(content)
    assert parts.read(4) is None and other.read(3) is None and parts.read(3) is not None


def test_a_part_that_was_written_in_part_is_missing(parts, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        parts.write(4, ARRAYS)
    assert parts.read(4) is None


def test_parts_of_other_inputs_are_not_taken_and_go_with_these(parts):
    assert Parts(parts.path, {"seed": 1}).read(3) is None
    forget_parts(parts.path)
    assert not list(parts.path.parent.iterdir())

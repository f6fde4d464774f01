"""A state file that is written, and resumed after an interruption."""

import h5py
import numpy as np
import pytest
from random_blocks import ROWS, all_columns, block, written

from combred.dataset.schema import UNITS, StateFileError
from combred.dataset.table import open_states
from combred.dataset.writer import StateWriter


def test_every_dataset_has_its_unit(file):
    with h5py.File(file, "r") as stored:
        assert {name: stored[name].attrs["units"] for name in UNITS} == UNITS


def test_rows_without_a_label_are_stored_apart(tmp_path, attributes, h2o2):
    file = written(tmp_path / "states.h5", attributes, failed=(1, 2, 0))
    table = open_states(file, h2o2)
    assert table.rows == 7
    assert np.isfinite(table.read(0, 7).T_next).all()
    states = [block(i) for i in (0, 1, 1)]
    expected = [np.hstack([b.T[j], b.p[j], b.Y[j]]) for b, j in zip(states, (0, 0, 1), strict=True)]
    assert np.array_equal(all_columns(file)["failed"], expected)


def same(a: dict, b: dict) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)


# -- resumed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [[], [0], [2, 0]])
def test_an_interrupted_writer_is_resumed_to_the_same_file(tmp_path, attributes, file, before):
    path = tmp_path / "killed.h5"
    first = StateWriter(path, attributes, ROWS, 10)
    for i in before:
        first.write(i, block(i))
    del first
    second = StateWriter(path, attributes, ROWS, 10)
    assert second.done().tolist() == [i in before for i in range(3)]
    assert not path.exists()
    for i in range(3):
        if i not in before:
            second.write(i, block(i))
    second.finish()
    assert same(all_columns(path), all_columns(file))
    assert not second.partial.exists()


def test_a_block_that_was_written_in_part_is_not_done(tmp_path, attributes, monkeypatch):
    writer = StateWriter(tmp_path / "killed.h5", attributes, ROWS, 10)
    monkeypatch.setattr(h5py.File, "flush", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        writer.write(1, block(1))
    monkeypatch.undo()
    assert not StateWriter(tmp_path / "killed.h5", attributes, ROWS, 10).done().any()


def test_a_working_file_of_other_settings_is_refused(tmp_path, attributes):
    StateWriter(tmp_path / "states.h5", attributes, ROWS, 10)
    with pytest.raises(StateFileError, match=r"seed is 0 there and 1 here.*move it away.*run=NAME"):
        StateWriter(tmp_path / "states.h5", {**attributes, "seed": 1}, ROWS, 10)


def test_a_damaged_working_file_is_refused(tmp_path, attributes):
    writer = StateWriter(tmp_path / "states.h5", attributes, ROWS, 10)
    writer.partial.write_bytes(writer.partial.read_bytes()[:1000])
    with pytest.raises(StateFileError, match="Move it away"):
        StateWriter(tmp_path / "states.h5", attributes, ROWS, 10)

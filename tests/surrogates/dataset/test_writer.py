"""A state file that is written from blocks."""

import h5py
import numpy as np
import pytest
from random_blocks import all_columns, block, written

from combred.surrogates.dataset.schema import UNITS, StateFileError
from combred.surrogates.dataset.table import open_states
from combred.surrogates.dataset.writer import draw, write_states


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


def test_what_the_check_finds_is_an_attribute(tmp_path, attributes):
    path = tmp_path / "states.h5"

    def check(file: h5py.File) -> dict:
        some = draw(file, 4, seed=0)
        assert len(some) == 4 and set(some.T) <= set(file["T"][...])
        assert len(draw(file, 100, seed=0)) == 10
        return {"largest_difference": 0.5}

    write_states(path, attributes, map(block, range(3)), check)
    with h5py.File(path, "r") as file:
        assert file.attrs["largest_difference"] == 0.5 and file.attrs["rows"] == 10


def test_rows_that_are_refused_leave_no_file(tmp_path, attributes):
    def check(file: h5py.File) -> dict:
        raise StateFileError("wrong")

    with pytest.raises(StateFileError, match="wrong"):
        write_states(tmp_path / "states.h5", attributes, map(block, range(3)), check)
    assert not list(tmp_path.glob("states*"))

"""Labels of the solver against CVODE, and a state file whose labels are wrong."""

import numpy as np
import pytest

from combred.dataset import labels
from combred.dataset.labels import check, differences, label
from combred.dataset.states import StateFileError
from combred.native.solver.library import Solver


@pytest.fixture(scope="module")
def block(mechanism, path):
    dt = np.geomspace(1e-8, 1e-5, len(path.T))
    return label(Solver(mechanism), path.T, path.p, path.Y, dt)


def test_labels_agree_with_cvode(block, mechanism, tmp_path):
    found = check(mechanism, block, tmp_path)
    assert found["checked_rows"] == len(block)
    assert 0.0 < found["largest_difference"] < 5e-6


def test_a_difference_is_relative_to_the_change_and_a_floor(block, mechanism):
    before = differences(mechanism, block)
    change = np.abs(block.T_next - block.T) + labels.FLOOR_T
    moved = block.rows(np.arange(len(block)))
    moved.T_next += 0.1 * change
    assert differences(mechanism, moved) == pytest.approx(np.full(len(block), 0.1), abs=1e-5)
    moved = block.rows(np.arange(len(block)))
    moved.Y_next[:, 0] += 0.1 * (np.abs(block.Y_next - block.Y).max(1) + labels.FLOOR_Y)
    assert differences(mechanism, moved) == pytest.approx(np.full(len(block), 0.1), abs=1e-5)
    assert before.max() < 1e-5


def test_wrong_labels_are_refused_with_the_size_of_the_error(block, mechanism, tmp_path):
    wrong = block.rows(np.arange(len(block)))
    wrong.T_next[3] += 0.02 * (abs(wrong.T_next[3] - wrong.T[3]) + labels.FLOOR_T)
    with pytest.raises(StateFileError, match=r"by up to 0\.02 of the change.*report"):
        check(mechanism, wrong, tmp_path / "states.h5")


def test_no_labelled_rows_have_no_difference(block, mechanism, tmp_path):
    nothing = block.rows(np.zeros(len(block), bool))
    assert check(mechanism, nothing, tmp_path) == {"checked_rows": 0, "largest_difference": 0.0}

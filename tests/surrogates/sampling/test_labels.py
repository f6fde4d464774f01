"""Labels of the solver against CVODE: a state file whose labels are wrong."""

import numpy as np
import pytest

from combred.chemistry.agreement import FLOOR_T
from combred.experiments.labelled import label
from combred.surrogates.dataset.schema import StateFileError
from combred.surrogates.sampling.sample import check_labels


@pytest.fixture(scope="module")
def block(mechanism, path, solver_of):
    dt = np.geomspace(1e-8, 1e-5, len(path.T))
    return label(solver_of(mechanism), path.T, path.p, path.Y, dt)


def test_labels_agree_with_cvode(block, mechanism, tmp_path):
    found = check_labels(mechanism, block, tmp_path)
    assert found["checked_rows"] == len(block)
    assert 0.0 < found["largest_difference"] < 5e-6


def test_wrong_labels_are_refused_with_the_size_of_the_error(block, mechanism, tmp_path):
    wrong = block.rows(np.arange(len(block)))
    wrong.T_next[3] += 0.02 * (abs(wrong.T_next[3] - wrong.T[3]) + FLOOR_T)
    with pytest.raises(StateFileError, match=r"by up to 0\.02 of the change.*report"):
        check_labels(mechanism, wrong, tmp_path / "states.h5")


def test_no_labelled_rows_have_no_difference(block, mechanism, tmp_path):
    nothing = block.rows(np.zeros(len(block), bool))
    assert check_labels(mechanism, nothing, tmp_path) == {
        "checked_rows": 0,
        "largest_difference": 0.0,
    }

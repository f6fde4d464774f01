"""The schema of the state file, and blocks of its rows in memory."""

import numpy as np
from random_blocks import ROWS, block

from combred.dataset.schema import Block


def test_joined_blocks_have_all_rows_in_order():
    joined = Block.join([block(i) for i in range(3)])
    assert len(joined) == sum(ROWS)
    for name, column in joined.columns().items():
        assert np.array_equal(column, np.concatenate([block(i).columns()[name] for i in range(3)]))


def test_chosen_rows_are_those_of_a_mask_in_order():
    whole, mask = block(1), np.array([True, False, False, True, True])
    chosen = whole.rows(mask)
    assert len(chosen) == 3
    for name, column in whole.columns().items():
        assert np.array_equal(chosen.columns()[name], column[[0, 3, 4]])

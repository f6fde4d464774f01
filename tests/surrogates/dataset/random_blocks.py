"""State files of random rows for h2o2 (10 species), in three blocks."""

import h5py
import numpy as np

from combred.experiments.labelled import Block
from combred.surrogates.dataset.schema import UNITS
from combred.surrogates.dataset.writer import write_states

ROWS = [3, 5, 2]  # rows of each block


def block(index: int, failed: int = 0) -> Block:
    """Block `index` of random rows for h2o2 (10 species); the first `failed` have no label."""
    n, rng = ROWS[index], np.random.default_rng(index)
    T, p = rng.uniform(1e3, 2e3, n), rng.uniform(9e4, 1.1e5, n)
    Y, Y_next = rng.dirichlet(np.ones(10), n), rng.dirichlet(np.ones(10), n)
    T_next, dt = T + 1.0, 10 ** rng.uniform(-8, -5, n)
    T_next[:failed], Y_next[:failed] = np.nan, np.nan
    return Block(T, p, Y, dt, T_next, Y_next, np.full(n, index, "i4"), np.full(n, index, "u1"))


def written(path, attributes, failed=(0, 0, 0)):
    write_states(path, attributes, (block(i, failed[i]) for i in range(3)))
    return path


def all_columns(path) -> dict[str, np.ndarray]:
    with h5py.File(path, "r") as stored:
        return {name: stored[name][...] for name in [*UNITS, "failed"]}

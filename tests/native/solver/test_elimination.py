"""The list of operations of the elimination, run in numpy: an LU factorisation."""

import numpy as np
import pytest

from combred import load_mechanism
from combred.native.solver.elimination import elimination
from combred.native.solver.layout import lay_out, pattern


def run(blocks, A: np.ndarray) -> np.ndarray:
    """The matrix after all operations on registers w; NaN where nothing was stored."""
    a = np.full(A.shape, np.nan)
    for parts in blocks:
        w = {}
        for part in parts:
            w |= {entry: A[entry] for entry in part.entries}
            for i, k, j in part.operations:
                if i == k:
                    a[k, j] = 1.0 / w[k, k] if j == k else w[k, j]
                elif j == k:
                    a[i, k] = w[i, k] = w[i, k] * a[k, k]
                else:
                    w[i, j] -= w[i, k] * a[k, j]
    return a


@pytest.mark.parametrize("exact", [False, True], ids=["float", "double"])
@pytest.mark.parametrize("name", ["h2o2.yaml", "drm19.yaml", "gri30.yaml"])
def test_operations_are_an_LU_factorisation(name, exact):
    found = pattern(lay_out(load_mechanism(name)), exact)
    places = np.array(list(found.places))
    A = np.zeros((found.size, found.size))
    A[places[:, 0], places[:, 1]] = np.random.default_rng(0).normal(size=len(places))
    A += np.diag(1.0 + np.abs(A).sum(axis=1))
    blocks = elimination(found)
    assert max(map(len, blocks)) > 1  # in parts
    a = run(blocks, A)
    assert np.array_equal(np.argwhere(~np.isnan(a)), places)  # all entries, and no others
    L, U = np.tril(np.nan_to_num(a), -1), np.triu(np.nan_to_num(a), 1)
    product = (L + np.eye(found.size)) @ (U + np.diag(1.0 / np.diag(a)))
    assert np.allclose(product, A, rtol=0.0, atol=1e-13 * np.abs(A).max())

"""The interpolative decomposition against scipy's pivoted QR of the activations themselves."""

import itertools

import numpy as np
import pytest
import scipy.linalg
import torch
from reducible import units_of

from combred.reduction import interpolative


def activations(n: int, m: int, rank: int, seed: int = 0):
    """A (n, m) with deviations of a given rank from means that are not zero, and U (m, 3)."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, m))
    return A + rng.normal(size=m), rng.normal(size=(m, 3))


def read_through(merge, A):
    """The activations A, read through those of the kept units."""
    return A[:, merge.kept.numpy()] @ merge.mixing.numpy() + merge.offset.numpy()


@pytest.mark.parametrize("asymmetric", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("keep", [1, 5, 13, 14])
def test_pivots_and_mixing_are_those_of_pivoted_qr(keep, intercept, asymmetric):
    A, U = activations(200, 14, rank=14)
    B = A + 0.1 * np.random.default_rng(1).normal(size=A.shape) if asymmetric else A
    merge = interpolative(units_of(A, B, U, intercept), keep=keep)
    seen = B - B.mean(0) if intercept else B
    weights = np.linalg.norm(U, axis=1)
    _, R, pivots = scipy.linalg.qr(seen * weights, pivoting=True, mode="economic")
    assert merge.kept.tolist() == sorted(pivots[:keep].tolist())
    mixing = np.zeros((14, 14))
    mixing[pivots[:keep], pivots[:keep]] = 1.0
    solved = np.linalg.solve(R[:keep, :keep], R[:keep, keep:])
    solved = np.diag(weights[pivots[:keep]]) @ solved @ np.diag(1 / weights[pivots[keep:]])
    mixing[np.ix_(pivots[:keep], pivots[keep:])] = solved
    # R comes from the Gram matrix: the square of a condition of 1e2, in float64.
    assert np.allclose(merge.mixing, mixing[merge.kept.numpy()], rtol=0, atol=1e-10)
    offset = np.zeros(14)
    if intercept:
        offset = A.mean(0) - merge.mixing.numpy().T @ B.mean(0)[merge.kept.numpy()]
        offset[merge.kept.numpy()] = 0.0
    assert np.allclose(merge.offset, offset, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "rank, keep, intercept", [*itertools.product((1, 4), (4, 6, 10), (True,)), (3, 8, False)]
)
def test_activations_of_low_rank_are_read_exactly(rank, keep, intercept):
    A, U = activations(300, 10, rank)
    merge = interpolative(units_of(A, A, U, intercept), keep=keep)
    # More would divide rounding by rounding. Without an offset the mean adds one to the rank.
    assert len(merge.kept) == (rank if intercept else rank + 1)
    assert intercept or not merge.offset.any()
    again = read_through(merge, A)
    # Rounding of the Gram matrix in float64, times its condition of 1e2.
    assert np.abs(again - A).max() < 1e-12 * np.abs(A).max()


def test_constant_units_become_an_offset():
    A = np.tile([0.0, 3.0, 0.5], (40, 1))
    merge = interpolative(units_of(A, A, np.ones((3, 2)), True), keep=2)
    again = read_through(merge, A)
    assert len(merge.kept) == 1 and np.allclose(again, A, rtol=1e-15)


def test_units_that_are_not_read_are_not_kept():
    A, U = activations(100, 8, rank=8)
    U[[0, 3]] = 0.0
    merge = interpolative(units_of(A, A, U, True), keep=6)
    assert merge.kept.tolist() == [1, 2, 4, 5, 6, 7]
    assert torch.isfinite(merge.mixing).all()

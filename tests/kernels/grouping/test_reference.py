"""Greedy grouping against the sequential loop of the paper, written out."""

import itertools

import numpy as np
import pytest
import torch
from weight_rows import KINDS

from combred import kernels
from combred.kernels.grouping.reference import group

SIZES = [1, 2, 3, 31, 64]
THRESHOLDS = [-1.0, 0.0, 0.5, 0.8, 0.9, 0.999, 1.0]


def brute_force(weights: np.ndarray, threshold: float) -> tuple[list[int], list[int]]:
    """Labels and main rows by Chen & Xu 2024, section 2.2.3, one step after another."""
    rows = weights.astype(float)
    norm = np.sqrt((rows**2).sum(axis=1))
    similar = np.eye(len(rows), dtype=bool)
    for i, j in itertools.combinations(np.flatnonzero(norm), 2):
        cosine = rows[i] @ rows[j] / (norm[i] * norm[j])
        similar[i, j] = similar[j, i] = cosine >= threshold - 1e-12  # rounding
    labels, mains = [-1] * len(rows), []
    ungrouped = list(range(len(rows)))
    while ungrouped:
        counts = similar[np.ix_(ungrouped, ungrouped)].sum(axis=1)
        main = ungrouped[int(np.argmax(counts))]  # the first of equals: the lowest index
        for k in ungrouped:
            if similar[main, k]:
                labels[k] = len(mains)
        mains.append(main)
        ungrouped = [k for k in ungrouped if labels[k] < 0]
    return labels, mains


def assert_as_brute_force(rows: np.ndarray, threshold: float) -> None:
    labels, mains = group(torch.tensor(rows), threshold)
    assert (labels.tolist(), mains.tolist()) == brute_force(rows, threshold), threshold


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_groups_are_those_of_the_sequential_loop(kind, size):
    rows = kind(np.random.default_rng(size), size, 8)
    for threshold in THRESHOLDS:
        assert_as_brute_force(rows, threshold)


def test_a_float32_multiple_of_a_row_has_a_cosine_of_one():
    row = torch.randn(1, 50, generator=torch.Generator().manual_seed(0))
    labels, _ = group(torch.cat([row, 3.7 * row, row / 7.3, -row]), 1.0)
    assert labels.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("shape", [(5,), (2, 3, 4)])
def test_weights_that_are_no_matrix_are_refused(shape):
    with pytest.raises(ValueError, match=r"rows \(m, d\)"):
        kernels.group(torch.ones(shape), 0.9)


@pytest.mark.parametrize("threshold", [-1.1, 1.1, float("nan")])
def test_a_threshold_is_a_cosine(threshold):
    with pytest.raises(ValueError, match=r"\[-1, 1\]"):
        kernels.group(torch.ones(2, 2), threshold)

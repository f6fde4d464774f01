"""Greedy grouping against the sequential loop of the paper, written out."""

import numpy as np
import pytest
import torch

from combred.kernels.grouping.reference import group

SIZES = [1, 2, 31, 32, 33, 64, 127, 300]
THRESHOLDS = [0.0, 0.5, 0.8, 0.9, 0.999, 1.0]


def literal(weights: np.ndarray, threshold: float) -> tuple[list[int], list[int]]:
    """Chen & Xu 2024, section 2.2.3, one step after another."""
    m = len(weights)
    norm = np.sqrt((weights.astype(float) ** 2).sum(axis=1))
    similar = np.eye(m, dtype=bool)
    for i in range(m):
        for j in range(i):
            if norm[i] > 0 and norm[j] > 0:
                cosine = weights[i].astype(float) @ weights[j].astype(float) / (norm[i] * norm[j])
                similar[i, j] = similar[j, i] = cosine >= threshold - 1e-12  # rounding
    labels, mains = [-1] * m, []
    ungrouped = list(range(m))
    while ungrouped:
        counts = similar[np.ix_(ungrouped, ungrouped)].sum(axis=1)
        main = ungrouped[int(np.argmax(counts))]  # the first of equals: the lowest index
        for k in ungrouped:
            if similar[main, k]:
                labels[k] = len(mains)
        mains.append(main)
        ungrouped = [k for k in ungrouped if labels[k] < 0]
    return labels, mains


def random(rng, m):
    return rng.standard_normal((m, 8))


def clustered(rng, m):
    centres = rng.standard_normal((5, 12))
    return centres[rng.integers(0, 5, m)] + 0.3 * rng.standard_normal((m, 12))


def duplicated(rng, m):
    """Positive multiples of a third as many rows."""
    rows = rng.standard_normal((m // 3 + 1, 6))
    return rows[rng.integers(0, len(rows), m)] * rng.uniform(0.1, 10.0, (m, 1))


def zeroed(rng, m):
    """Clusters in which every third row is zero."""
    rows = clustered(rng, m)
    rows[::3] = 0.0
    return rows


def negated(rng, m):
    """Every row of the second half is the opposite of one of the first."""
    rows = random(rng, m)
    rows[m - m // 2 :] = -rows[: m // 2]
    return rows


def orthogonal(rng, m):
    """Rows along few axes: many ties, many cosines of exactly 0 and 1."""
    return np.eye(4)[rng.integers(0, 4, m)] * rng.choice([-2.0, -1.0, 1.0, 2.0], (m, 1))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "kind", [random, clustered, duplicated, zeroed, negated, orthogonal], ids=lambda k: k.__name__
)
def test_groups_are_those_of_the_sequential_loop(kind, size):
    rows = kind(np.random.default_rng(size), size)
    for threshold in THRESHOLDS:
        labels, mains = group(torch.tensor(rows), threshold)
        assert (labels.tolist(), mains.tolist()) == literal(rows, threshold), threshold


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("threshold", [-1.0, 0.7])
def test_groups_do_not_depend_on_dtype_and_layout(dtype, threshold):
    rows = clustered(np.random.default_rng(0), 100).astype("f4")
    expected = literal(rows, threshold)
    weights = torch.tensor(rows).to(dtype)
    strided = torch.empty(100, 24, dtype=dtype)[:, ::2].copy_(weights)
    for given in (weights, strided, weights.clone().requires_grad_()):
        labels, mains = group(given, threshold)
        assert (labels.tolist(), mains.tolist()) == expected
        assert labels.dtype == mains.dtype == torch.int64


def test_a_float32_multiple_of_a_row_has_a_cosine_of_one():
    row = torch.randn(1, 50, generator=torch.Generator().manual_seed(0))
    labels, _ = group(torch.cat([row, 3.7 * row, row / 7.3, -row]), 1.0)
    assert labels.tolist() == [0, 0, 0, 1]


def test_every_row_is_in_one_group_and_like_its_main():
    rows = torch.tensor(clustered(np.random.default_rng(3), 200))
    labels, mains = group(rows, 0.8)
    cosine = torch.nn.functional.cosine_similarity(rows, rows[mains[labels]])
    assert labels.min() == 0 and labels.max() == len(mains) - 1
    assert (cosine >= 0.8 - 1e-12).all()  # float64 rounding
    assert torch.equal(labels[mains], torch.arange(len(mains)))


def test_ties_go_to_the_lowest_index():
    # Two pairs and a chain of three whose middle row is alone in having two neighbours.
    angles = torch.tensor([0.0, 5.0, 100.0, 130.0, 160.0, 200.0, 205.0], dtype=torch.float64)
    rows = torch.stack([angles.deg2rad().cos(), angles.deg2rad().sin()], dim=1)
    labels, mains = group(rows, np.cos(np.deg2rad(31.0)))
    assert mains.tolist() == [3, 0, 5]
    assert labels.tolist() == [1, 1, 0, 0, 0, 2, 2]


def test_zero_rows_are_like_nothing():
    for threshold in (-1.0, 0.0):
        labels, mains = group(torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), threshold)
        assert labels.tolist() == [0, 1, 2] and mains.tolist() == [0, 1, 2]


def test_no_rows_make_no_groups():
    labels, mains = group(torch.empty(0, 5), 0.9)
    assert labels.shape == mains.shape == (0,)


@pytest.mark.parametrize("shape", [(5,), (2, 3, 4)])
def test_what_is_not_rows_is_refused(shape):
    with pytest.raises(ValueError, match=r"rows \(m, d\)"):
        group(torch.ones(shape), 0.9)


@pytest.mark.parametrize("threshold", [-1.1, 1.1, float("nan")])
def test_a_threshold_is_a_cosine(threshold):
    with pytest.raises(ValueError, match=r"\[-1, 1\]"):
        group(torch.ones(2, 2), threshold)

"""Greedy grouping against its definition: labels are equal, one by one."""

import numpy as np
import pytest
import torch

from combred.reduction import group
from combred.reduction.methods import grouping

SIZES = [1, 2, 31, 32, 33, 64, 127, 300, 1000]
LENGTHS = [1, 24, 1601]
THRESHOLDS = [-1.0, 0.0, 0.5, 0.8, 0.9, 0.999, 1.0]

# Kinds of rows: functions of a numpy generator, the number of rows m and their length d, which give
# (m, d) float64.


def random(rng, m, d):
    return rng.standard_normal((m, d))


def clustered(rng, m, d):
    """Rows around five directions."""
    centres = rng.standard_normal((5, d))
    return centres[rng.integers(0, 5, m)] + 0.3 * rng.standard_normal((m, d))


def duplicated(rng, m, d):
    """Positive multiples of a third as many rows."""
    rows = rng.standard_normal((m // 3 + 1, d))
    return rows[rng.integers(0, len(rows), m)] * rng.uniform(0.1, 10.0, (m, 1))


def zeroed(rng, m, d):
    """Clusters in which every third row is zero."""
    rows = clustered(rng, m, d)
    rows[::3] = 0.0
    return rows


def negated(rng, m, d):
    """Every row of the second half is the opposite of one of the first."""
    rows = random(rng, m, d)
    rows[m - m // 2 :] = -rows[: m // 2]
    return rows


def axes(rng, m, d):
    """Rows along few axes: many ties, many cosines of exactly 0 and 1."""
    return np.eye(d)[rng.integers(0, min(4, d), m)] * rng.choice([-2.0, -1.0, 1.0, 2.0], (m, 1))


KINDS = [random, clustered, duplicated, zeroed, negated, axes]


def mixed(sizes: list[int], thresholds: list[float], lengths: list[int]) -> list[tuple]:
    """Cases (kind, length, size, threshold): every size with every threshold, and with each of
    them every kind and length at least once, instead of all combinations."""
    return [
        (KINDS[(i + j) % len(KINDS)], lengths[(i + 2 * j) % len(lengths)], size, threshold)
        for i, size in enumerate(sizes)
        for j, threshold in enumerate(thresholds)
    ]


def near_pairs(threshold: float, gaps: list[float], d: int, seed: int = 0) -> np.ndarray:
    """For every gap two rows, (2 gaps, d), with the cosine threshold + gap; pairs orthogonal."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((d, 2 * len(gaps))))[0].T
    rows = []
    for i, gap in enumerate(gaps):
        a, b = basis[2 * i], basis[2 * i + 1]
        cosine = threshold + gap
        # 1 - cos^2 without cancellation near a cosine of 1
        rows += [a, rng.uniform(0.1, 10) * (cosine * a + ((1 - cosine) * (1 + cosine)) ** 0.5 * b)]
    return np.array(rows)


def definition(rows: np.ndarray, threshold: float) -> tuple[list[int], list[int]]:
    """Labels and main rows by Chen & Xu 2024, section 2.2.3, one step after another, in float64."""
    rows = rows.astype(float)
    norm = np.sqrt((rows**2).sum(axis=1))
    unit = rows / np.maximum(norm, 1e-300)[:, None]
    similar = unit @ unit.T >= threshold - 1e-12  # rounding
    similar[norm == 0] = similar[:, norm == 0] = False
    np.fill_diagonal(similar, True)
    labels, mains, ungrouped = np.full(len(rows), -1), [], np.arange(len(rows))
    while len(ungrouped):
        counts = similar[np.ix_(ungrouped, ungrouped)].sum(axis=1)
        main = ungrouped[int(np.argmax(counts))]  # the first of equals: the lowest index
        labels[ungrouped[similar[main, ungrouped]]] = len(mains)
        mains.append(int(main))
        ungrouped = np.flatnonzero(labels < 0)
    return labels.tolist(), mains


def assert_as_defined(rows: np.ndarray, threshold: float) -> torch.Tensor:
    """Sizes of the groups, which are those of the definition."""
    labels, mains = group(torch.tensor(rows), threshold)
    assert labels.dtype == mains.dtype == torch.int64
    assert (labels.tolist(), mains.tolist()) == definition(rows, threshold), threshold
    return torch.bincount(labels)


@pytest.mark.parametrize("size", SIZES)
def test_groups_are_those_of_the_definition(size):
    for kind, d, m, threshold in mixed(SIZES, THRESHOLDS, LENGTHS):
        if m == size:
            assert_as_defined(kind(np.random.default_rng(m + d), m, d), threshold)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_at_every_threshold(kind):
    rows = kind(np.random.default_rng(127), 127, 24)
    for threshold in THRESHOLDS:
        assert_as_defined(rows, threshold)


@pytest.mark.parametrize("block", [1, 7, 32, 127])
def test_blocks_do_not_matter(block, monkeypatch):
    monkeypatch.setattr(grouping, "BLOCK", block)
    for kind in KINDS:
        rows = kind(np.random.default_rng(block), 127, 24)
        for threshold in (-1.0, 0.5, 1.0):
            assert_as_defined(rows, threshold)


@pytest.mark.parametrize("kind", [clustered, duplicated], ids=lambda kind: kind.__name__)
def test_more_rows_than_a_block(kind):
    m = grouping.BLOCK + 277
    rows = kind(np.random.default_rng(0), m, 24)
    sizes = assert_as_defined(rows, 0.9)
    assert 1 < len(sizes) < m


@pytest.mark.parametrize("size", [254, 255, 256, 257, 508, 509, 600])
def test_groups_larger_than_a_byte_counts(size):
    # On a circle: rows of later groups have more than 255 neighbours in the first group.
    rng = np.random.default_rng(size)
    angle = np.concatenate([rng.uniform(-0.5, 0.5, size), rng.uniform(0.6, 2.0, size // 2)])
    rows = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    sizes = assert_as_defined(rows, np.cos(0.8))
    assert sizes.max() > 254 or size == 254
    same = np.ones((size, 3))  # one group of exactly this size
    assert assert_as_defined(np.concatenate([same, np.diag([1.0, 2.0, 3.0])]), 0.99).tolist() == [
        size,
        1,
        1,
        1,
    ]


@pytest.mark.parametrize("many", [250, 255, 256, 257, 300, 512, 600])
def test_a_row_far_from_the_main_row_of_a_large_group_loses_its_neighbours(many):
    # The row at 45 degrees is similar to the many rows at 20 degrees, which are in the group of the
    # rows at 0, but not to their main row, and to the row at 70 degrees. Once that group is formed,
    # the rows at 45 and 70 degrees are a pair; the three rows at 180 degrees form a group before.
    def at(degrees, count=1):
        angle = np.deg2rad(np.full(count, degrees))
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)

    rows = np.concatenate([at(0, 5), at(20, many), at(-25, 10), at(45), at(70), at(180, 3)])
    labels, mains = group(torch.from_numpy(rows), np.cos(np.deg2rad(30.0)))
    assert mains.tolist() == [0, many + 17, many + 15]
    assert labels[-5:].tolist() == [2, 2, 1, 1, 1]
    assert_as_defined(rows, np.cos(np.deg2rad(30.0)))


@pytest.mark.parametrize("d", [24, 1601])
@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.9, 0.999])
@pytest.mark.parametrize("pair", [0, 1 << 22])
def test_pairs_near_the_threshold_are_classified_exactly(threshold, d, pair, monkeypatch):
    monkeypatch.setattr(grouping, "PAIR", pair)  # whether one by one, or all in one matrix product
    # float32 resolves cosines to 6e-8 at best; the tolerance of the definition is 1e-12, and the
    # float64 rounding error of a cosine is below 1e-14.
    gaps = [0.0, 1e-13, 1e-10, 1e-8, 1e-7, 1e-5, -1e-11, -1e-10, -1e-8, -1e-7, -1e-6, -1e-4]
    rows = near_pairs(threshold, gaps, d)
    labels, _ = group(torch.from_numpy(rows), threshold)
    same_group = [int(labels[2 * i]) == int(labels[2 * i + 1]) for i in range(len(gaps))]
    assert same_group == [gap >= 0 for gap in gaps]
    assert_as_defined(rows, threshold)


def test_negated_rows_are_similar_at_minus_one_alone():
    rows = np.array([[3.0, 4.0], [-0.3, -0.4]])
    assert assert_as_defined(rows, -1.0).tolist() == [2]
    assert assert_as_defined(rows, -1.0 + 1e-11).tolist() == [1, 1]


@pytest.mark.parametrize("products", [1, 64, 1 << 22])
@pytest.mark.parametrize("pair", [0, 64, 1 << 22])
def test_many_pairs_at_the_threshold(products, pair, monkeypatch):
    # All are within the rounding error of float32: computed again a few at a time, or all at once.
    monkeypatch.setattr(grouping, "PRODUCTS", products)
    monkeypatch.setattr(grouping, "PAIR", pair)
    rng = np.random.default_rng(0)
    rows = np.tile(rng.standard_normal((3, 50)), (20, 1)) * rng.uniform(0.1, 10.0, (60, 1))
    assert assert_as_defined(rows, 1.0).tolist() == [20, 20, 20]


@pytest.mark.parametrize("scale", [1e-38, 1e-20, 1e38])
def test_the_length_of_rows_does_not_matter(scale):  # within what float32 holds
    rows = clustered(np.random.default_rng(0), 50, 8)
    expected = group(torch.from_numpy(rows), 0.8)
    found = group(torch.from_numpy(rows * scale), 0.8)
    assert torch.equal(found[0], expected[0]) and torch.equal(found[1], expected[1])


@pytest.mark.parametrize("kind", [random, negated], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    ("size", "d", "threshold"), [(300, 8, 0.5), (300, 8, 0.9), (60, 1601, 0.0)]
)
def test_many_rows_and_long_rows(kind, size, d, threshold):
    assert_as_defined(kind(np.random.default_rng(size), size, d), threshold)


def test_mains_lose_neighbours_to_groups_in_between():
    # In the plane groups overlap and often tie.
    rng = np.random.default_rng(0)
    for _ in range(20):
        size, d = int(rng.integers(2, 60)), int(rng.integers(2, 4))
        assert_as_defined(rng.standard_normal((size, d)), rng.uniform(0.3, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("threshold", [-1.0, 0.7])
def test_groups_do_not_depend_on_dtype_and_layout(dtype, threshold):
    rows = clustered(np.random.default_rng(0), 100, 12).astype("f4")
    expected = definition(rows, threshold)
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


def test_every_row_is_in_one_group_and_similar_to_its_main_row():
    rows = torch.tensor(clustered(np.random.default_rng(3), 200, 12))
    labels, mains = group(rows, 0.8)
    cosine = torch.nn.functional.cosine_similarity(rows, rows[mains[labels]])
    assert labels.min() == 0 and labels.max() == len(mains) - 1
    assert (cosine >= 0.8 - 1e-12).all()  # float64 rounding
    assert torch.equal(labels[mains], torch.arange(len(mains)))


def test_ties_go_to_the_lowest_index():
    # Two pairs, and a chain of three in which only the middle row has two neighbours.
    angles = torch.tensor([0.0, 5.0, 100.0, 130.0, 160.0, 200.0, 205.0], dtype=torch.float64)
    rows = torch.stack([angles.deg2rad().cos(), angles.deg2rad().sin()], dim=1)
    labels, mains = group(rows, np.cos(np.deg2rad(31.0)))
    assert mains.tolist() == [3, 0, 5]
    assert labels.tolist() == [1, 1, 0, 0, 0, 2, 2]


def test_zero_rows_are_similar_to_no_other():
    for threshold in (-1.0, 0.0):
        labels, mains = group(torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), threshold)
        assert labels.tolist() == [0, 1, 2] and mains.tolist() == [0, 1, 2]


def test_no_rows_make_no_groups():
    labels, mains = group(torch.empty(0, 5), 0.9)
    assert labels.shape == mains.shape == (0,)


@pytest.mark.parametrize("shape", [(5,), (2, 3, 4)])
def test_weights_that_are_no_matrix_are_refused(shape):
    with pytest.raises(ValueError, match=r"rows \(m, d\)"):
        group(torch.ones(shape), 0.9)


@pytest.mark.parametrize("threshold", [-1.1, 1.1, float("nan")])
def test_a_threshold_is_a_cosine(threshold):
    with pytest.raises(ValueError, match=r"\[-1, 1\]"):
        group(torch.ones(2, 2), threshold)

"""Grouping on the CPU: label for label what the reference gives."""

import numpy as np
import pytest
import torch
from weight_rows import KINDS, clustered, duplicated, mixed, require_any_layout, require_exact_pairs

from combred import kernels
from combred.kernels.grouping import cpu, reference

SIZES = [1, 2, 31, 32, 33, 64, 127, 300, 1000]
LENGTHS = [1, 24, 1601]
THRESHOLDS = [-1.0, 0.0, 0.5, 0.8, 0.9, 0.999, 1.0]


def assert_same(rows: np.ndarray, threshold: float) -> torch.Tensor:
    """Sizes of the groups, which are those of the reference."""
    weights = torch.from_numpy(rows)
    labels, mains = cpu.group(weights, threshold)
    for side in (labels, mains):
        assert side.dtype == torch.int64 and side.device == weights.device
    expected = reference.group(weights, threshold)
    assert torch.equal(labels, expected[0]) and torch.equal(mains, expected[1]), threshold
    return torch.bincount(labels)


def test_the_public_operation_uses_this_one_for_rows_on_a_cpu(monkeypatch):
    monkeypatch.setattr(cpu, "group", lambda *given: given)
    rows = torch.eye(2)
    assert kernels.group(rows, 0.5) == (rows, 0.5)


@pytest.mark.parametrize("size", SIZES)
def test_groups_are_those_of_the_reference(size):
    for kind, d, m, threshold in mixed(SIZES, THRESHOLDS, LENGTHS):
        if m == size:
            assert_same(kind(np.random.default_rng(m + d), m, d), threshold)


@pytest.mark.parametrize("block", [1, 7, 32, 127])
def test_blocks_do_not_matter(block, monkeypatch):
    monkeypatch.setattr(cpu, "BLOCK", block)
    for kind in KINDS:
        rows = kind(np.random.default_rng(block), 127, 24)
        for threshold in (-1.0, 0.5, 1.0):
            assert_same(rows, threshold)


@pytest.mark.parametrize("kind", [clustered, duplicated], ids=lambda kind: kind.__name__)
def test_more_rows_than_a_block(kind):
    m = cpu.BLOCK + 277
    rows = kind(np.random.default_rng(0), m, 24)
    sizes = assert_same(rows, 0.9)
    assert 1 < len(sizes) < m


@pytest.mark.parametrize("many", [250, 255, 256, 257, 300, 512, 600])
def test_a_row_far_from_the_main_row_of_a_large_group_loses_its_neighbours(many):
    # The row at 45 degrees is similar to the many rows at 20 degrees, which are in the group of the
    # rows at 0, but not to their main row, and to the row at 70 degrees. Once that group is formed,
    # the rows at 45 and 70 degrees are a pair; the three rows at 180 degrees form a group before.
    def at(degrees, count=1):
        angle = np.deg2rad(np.full(count, degrees))
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)

    rows = np.concatenate([at(0, 5), at(20, many), at(-25, 10), at(45), at(70), at(180, 3)])
    labels, mains = cpu.group(torch.from_numpy(rows), np.cos(np.deg2rad(30.0)))
    assert mains.tolist() == [0, many + 17, many + 15]
    assert labels[-5:].tolist() == [2, 2, 1, 1, 1]
    assert_same(rows, np.cos(np.deg2rad(30.0)))


@pytest.mark.parametrize("d", [24, 1601])
@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.9, 0.999])
@pytest.mark.parametrize("pair", [0, 1 << 22])
def test_pairs_near_the_threshold_are_classified_exactly(threshold, d, pair, monkeypatch):
    monkeypatch.setattr(cpu, "PAIR", pair)  # whether one by one, or all in one matrix product
    assert_same(require_exact_pairs(cpu.group, threshold, d), threshold)


def test_negated_rows_are_similar_at_minus_one_alone():
    rows = np.array([[3.0, 4.0], [-0.3, -0.4]])
    assert assert_same(rows, -1.0).tolist() == [2]
    assert assert_same(rows, -1.0 + 1e-11).tolist() == [1, 1]


@pytest.mark.parametrize("products", [1, 64, 1 << 22])
@pytest.mark.parametrize("pair", [0, 64, 1 << 22])
def test_many_pairs_at_the_threshold(products, pair, monkeypatch):
    # All are within the rounding error of float32: computed again a few at a time, or all at once.
    monkeypatch.setattr(cpu, "PRODUCTS", products)
    monkeypatch.setattr(cpu, "PAIR", pair)
    rng = np.random.default_rng(0)
    rows = np.tile(rng.standard_normal((3, 50)), (20, 1)) * rng.uniform(0.1, 10.0, (60, 1))
    assert assert_same(rows, 1.0).tolist() == [20, 20, 20]


@pytest.mark.parametrize("scale", [1e-38, 1e-20, 1e38])
def test_the_length_of_rows_does_not_matter(scale):  # within what float32 holds
    rows = clustered(np.random.default_rng(0), 50, 8)
    expected = cpu.group(torch.from_numpy(rows), 0.8)
    found = cpu.group(torch.from_numpy(rows * scale), 0.8)
    assert torch.equal(found[0], expected[0]) and torch.equal(found[1], expected[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_layout_and_gradients_do_not_matter(dtype):
    require_any_layout(cpu.group, dtype)

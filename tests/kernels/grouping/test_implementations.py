"""Grouping on the CPU and in Triton: label for label what the reference gives.

Triton runs on the GPU where there is one, else interpreted, where time goes with the number of
blocks: so these are as large as they may be, except in `test_the_sizes_that_are_launched`.
"""

import numpy as np
import pytest
import torch
from weight_rows import (
    KINDS,
    clustered,
    duplicated,
    mixed,
    negated,
    require_any_layout,
    require_exact_pairs,
    zeroed,
)  # fmt: skip

from combred.kernels.grouping import cpu, reference

SIZES = [1, 2, 31, 32, 33, 64, 127]
LENGTHS = [1, 24, 1601]
THRESHOLDS = [-1.0, 0.0, 0.5, 0.8, 0.9, 0.999, 1.0]


@pytest.fixture(scope="module")
def shipped(triton):
    """The module of the GPU implementation, with its own block sizes."""
    return triton("combred.kernels.grouping.gpu")


@pytest.fixture
def gpu(shipped, triton, device, monkeypatch):
    """The same module, with larger blocks where it is interpreted."""
    if device.type != "cuda":
        adjacency = triton("combred.kernels.grouping.adjacency")
        monkeypatch.setattr(adjacency, "TILE", 128)
        monkeypatch.setattr(adjacency, "DEPTH", 512)
        monkeypatch.setattr(shipped.rounds, "ROWS", 128)
    return shipped


@pytest.fixture(params=["cpu", "gpu"])
def group(request, device):
    """`group` of each implementation, with the device of its rows."""
    if request.param == "cpu":
        return cpu.group, torch.device("cpu")
    return request.getfixturevalue("gpu").group, device


def assert_same(group, device, rows: np.ndarray, threshold: float) -> torch.Tensor:
    """Sizes of the groups, which are those of the reference."""
    weights = torch.from_numpy(rows).to(device)
    expected = reference.group(torch.from_numpy(rows), threshold)
    for found, side in zip(group(weights, threshold), expected, strict=True):
        assert found.dtype == torch.int64 and found.device == weights.device
        assert torch.equal(found.cpu(), side), threshold
    return torch.bincount(expected[0])


@pytest.mark.parametrize("size", SIZES)
def test_groups_are_those_of_the_reference(group, size):
    for kind, d, m, threshold in mixed(SIZES, THRESHOLDS, LENGTHS):
        if m == size:
            assert_same(*group, kind(np.random.default_rng(m + d), m, d), threshold)


@pytest.mark.parametrize(
    ("kind", "size", "d", "threshold"),
    [(clustered, 1000, 24, 0.8), (negated, 300, 1601, 0.0), (duplicated, 300, 24, 1.0)],
)
def test_many_rows(group, kind, size, d, threshold):
    assert_same(*group, kind(np.random.default_rng(d), size, d), threshold)


def test_the_order_is_that_of_the_reference(group):
    # In the plane groups overlap: mains lose neighbours to others in between, and often tie.
    rng = np.random.default_rng(0)
    groups = 0
    for _ in range(20):
        size, d = int(rng.integers(2, 120)), int(rng.integers(2, 4))
        rows = rng.standard_normal((size, d))
        groups += len(assert_same(*group, rows, rng.uniform(0.3, 1)))
    assert groups > 150


@pytest.mark.parametrize("d", [24, 1601])
@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.999])
def test_pairs_near_the_threshold_are_classified_exactly(group, threshold, d):
    assert_same(*group, require_exact_pairs(group[0], threshold, d, group[1]), threshold)


def test_opposite_zero_and_undefined_rows(group):
    rows = np.array([[3.0, 4.0], [-0.3, -0.4], [0.0, 0.0], [6.0, 8.0], [np.nan, 1.0], [0.0, 0.0]])
    for threshold, groups in ((-1.0, 4), (-1.0 + 1e-11, 5), (0.0, 5), (1.0, 5)):
        assert len(assert_same(*group, rows, threshold)) == groups


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_layout_and_gradients_do_not_matter(group, dtype):
    require_any_layout(group[0], dtype, group[1])


def test_no_rows_make_no_groups_and_rows_without_components_are_alone(group):
    group, device = group
    for m, threshold in ((0, 0.9), (3, -1.0)):
        labels, mains = group(torch.empty(m, 5 if m == 0 else 0, device=device), threshold)
        assert labels.tolist() == mains.tolist() == list(range(m))


@pytest.mark.parametrize("block", [1, 7, 32, 127])
def test_blocks_do_not_matter(block, monkeypatch):
    monkeypatch.setattr(cpu, "BLOCK", block)
    for kind in KINDS:
        for threshold in (-1.0, 0.5, 1.0):
            rows = kind(np.random.default_rng(block), 127, 24)
            assert_same(cpu.group, "cpu", rows, threshold)


@pytest.mark.parametrize("many", [250, 255, 256, 257, 300, 512, 600])
def test_a_row_far_from_the_main_row_of_a_large_group_loses_its_neighbours(many):
    # The row at 45 degrees is similar to the many rows at 20 degrees, which are in the group of the
    # rows at 0, but not to their main row, and to the row at 70 degrees. Once that group is formed,
    # the rows at 45 and 70 degrees are a pair; the three rows at 180 degrees form a group before.
    counts = {0: 5, 20: many, -25: 10, 45: 1, 70: 1, 180: 3}
    angle = np.deg2rad(np.repeat(list(counts), list(counts.values())).astype(float))
    rows, threshold = np.stack([np.cos(angle), np.sin(angle)], axis=1), np.cos(np.deg2rad(30.0))
    labels, mains = cpu.group(torch.from_numpy(rows), threshold)
    assert mains.tolist() == [0, many + 17, many + 15]
    assert labels[-5:].tolist() == [2, 2, 1, 1, 1]
    assert_same(cpu.group, "cpu", rows, threshold)


@pytest.mark.parametrize("products", [1, 64, 1 << 22])
@pytest.mark.parametrize("pair", [0, 64, 1 << 22])
def test_pairs_within_rounding_are_computed_again_a_few_at_a_time_or_all_at_once(
    products, pair, monkeypatch
):
    monkeypatch.setattr(cpu, "PRODUCTS", products)
    monkeypatch.setattr(cpu, "PAIR", pair)
    rng = np.random.default_rng(0)
    rows = np.tile(rng.standard_normal((3, 50)), (20, 1)) * rng.uniform(0.1, 10.0, (60, 1))
    assert assert_same(cpu.group, "cpu", rows, 1.0).tolist() == [20, 20, 20]
    assert_same(cpu.group, "cpu", require_exact_pairs(cpu.group, 0.9, 24), 0.9)


@pytest.mark.parametrize(("kind", "size"), [(duplicated, 33), (zeroed, 200)])
def test_the_sizes_that_are_launched(shipped, device, kind, size):
    assert_same(shipped.group, device, kind(np.random.default_rng(size), size, 40), 0.8)


@pytest.mark.cuda
@pytest.mark.parametrize("d", [24, 1024])
@pytest.mark.parametrize("size", [3200, 20_000])
def test_sizes_that_fill_the_device(shipped, device, size, d):
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(size // 10, d, generator=generator)
    chosen = torch.randint(0, len(centres), (size,), generator=generator)
    weights = centres[chosen] + 0.2 * torch.randn(size, d, generator=generator)
    torch.cuda.reset_peak_memory_stats()
    for threshold in (0.5, 0.9, 0.96):
        expected = cpu.group(weights, threshold)
        found = shipped.group(weights.to(device), threshold)
        assert torch.equal(found[0].cpu(), expected[0])
        assert torch.equal(found[1].cpu(), expected[1])
    rows = 8 * size * d  # in float64: the rows over their norms, what they are made of, float32
    assert torch.cuda.max_memory_allocated() < 1.1 * size * size // 8 + 6 * rows + (1 << 20)

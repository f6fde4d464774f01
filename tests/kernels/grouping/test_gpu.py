"""Grouping in Triton: label for label what the reference gives.

On the GPU where there is one, else interpreted, where time goes with the number of blocks: so these
are as large as they may be, except in `test_the_sizes_that_are_launched`.
"""

import numpy as np
import pytest
import torch
from weight_rows import (
    clustered,
    duplicated,
    mixed,
    negated,
    random,
    require_any_layout,
    require_exact_pairs,
    zeroed,
)  # fmt: skip

from combred.kernels.grouping import cpu, reference

SIZES = [1, 2, 31, 32, 33, 64, 127]
LENGTHS = [1, 24, 1601]
THRESHOLDS = [0.0, 0.5, 0.8, 0.9, 0.999, 1.0]


@pytest.fixture(scope="module")
def shipped(triton):
    """The module of the GPU implementation, with its own block sizes."""
    return triton("combred.kernels.grouping.gpu")


@pytest.fixture
def grouping(shipped, triton, device, monkeypatch):
    """The same module, with larger blocks where it is interpreted."""
    if device.type != "cuda":
        adjacency = triton("combred.kernels.grouping.adjacency")
        monkeypatch.setattr(adjacency, "TILE", 128)
        monkeypatch.setattr(adjacency, "DEPTH", 512)
        monkeypatch.setattr(shipped.rounds, "ROWS", 128)
    return shipped


def assert_same(grouping, device, rows: np.ndarray, threshold: float) -> torch.Tensor:
    weights = torch.from_numpy(rows).to(device)
    labels, mains = grouping.group(weights, threshold)
    for side in (labels, mains):
        assert side.dtype == torch.int64 and side.device == weights.device
    expected = reference.group(torch.from_numpy(rows), threshold)
    assert torch.equal(labels.cpu(), expected[0]), threshold
    assert torch.equal(mains.cpu(), expected[1]), threshold
    return torch.bincount(labels.cpu())


@pytest.mark.parametrize("size", SIZES)
def test_groups_are_those_of_the_reference(grouping, device, size):
    for kind, d, m, threshold in mixed(SIZES, THRESHOLDS, LENGTHS):
        if m == size:
            assert_same(grouping, device, kind(np.random.default_rng(m + d), m, d), threshold)


@pytest.mark.parametrize(
    ("kind", "size", "d", "threshold"),
    [(clustered, 1000, 24, 0.8), (negated, 300, 1601, 0.0), (duplicated, 300, 24, 1.0)],
)
def test_many_rows(grouping, device, kind, size, d, threshold):
    assert_same(grouping, device, kind(np.random.default_rng(d), size, d), threshold)


@pytest.mark.parametrize(("kind", "size"), [(duplicated, 33), (zeroed, 200)])
def test_the_sizes_that_are_launched(shipped, device, kind, size):
    assert_same(shipped, device, kind(np.random.default_rng(size), size, 40), 0.8)


def test_the_order_is_that_of_the_reference(grouping, device):
    # In the plane groups overlap: mains lose neighbours to others in between, and often tie.
    rng = np.random.default_rng(0)
    groups = 0
    for _ in range(20):
        size, d = int(rng.integers(2, 120)), int(rng.integers(2, 4))
        sizes = assert_same(grouping, device, rng.standard_normal((size, d)), rng.uniform(0.3, 1))
        groups += len(sizes)
    assert groups > 150


@pytest.mark.parametrize("d", [24, 1601])
@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.999])
def test_pairs_near_the_threshold_are_classified_exactly(grouping, device, threshold, d):
    rows = require_exact_pairs(grouping.group, threshold, d, device)
    assert_same(grouping, device, rows, threshold)


def test_opposite_zero_and_undefined_rows(grouping, device):
    rows = np.array([[3.0, 4.0], [-0.3, -0.4], [0.0, 0.0], [6.0, 8.0], [np.nan, 1.0], [0.0, 0.0]])
    for threshold, groups in ((-1.0, 4), (-1.0 + 1e-11, 5), (0.0, 5), (1.0, 5)):
        weights = torch.from_numpy(rows).to(device)
        labels, mains = grouping.group(weights, threshold)
        expected = reference.group(torch.from_numpy(rows), threshold)
        assert torch.equal(labels.cpu(), expected[0]) and torch.equal(mains.cpu(), expected[1])
        assert len(mains) == groups


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_layout_and_gradients_do_not_matter(grouping, device, dtype):
    require_any_layout(grouping.group, dtype, device)


@pytest.mark.parametrize("size", [1, 33, 127, 330])
def test_bits_and_degrees(grouping, triton, device, size, monkeypatch):
    adjacency = triton("combred.kernels.grouping.adjacency")
    monkeypatch.setattr(adjacency, "TILE", 64)
    monkeypatch.setattr(adjacency, "SWATH", 4)  # 384 rows have one and a half
    rows = zeroed(np.random.default_rng(size), size, 24)
    unit, dead = reference.unit_rows(torch.from_numpy(rows))
    similar = ((unit @ unit.T) >= 0.5 - reference.EXACT).numpy()
    similar[dead.numpy()] = similar[:, dead.numpy()] = False
    np.fill_diagonal(similar, True)

    whole = adjacency.padded(unit.to(device), dead.to(device))
    n = len(whole)
    limit = whole.new_full((1,), 0.5 - reference.EXACT)
    opened = grouping.first_bits(size, n, device)
    compared = adjacency.Rows(whole, whole.float(), limit, opened)
    expected = np.packbits(np.arange(n) < size, bitorder="little").view("i4")
    assert np.array_equal(opened.cpu().numpy(), expected)

    degree = torch.zeros(n, dtype=torch.int32, device=device)
    bits = torch.zeros(n, n // 32, dtype=torch.int32, device=device)
    adjacency.write_adjacency(compared, bits, degree)
    expected = np.zeros((n, n), dtype=bool)
    expected[:size, :size] = similar
    expected = np.packbits(expected, axis=1, bitorder="little").view("i4")
    assert np.array_equal(bits.cpu().numpy()[:size], expected[:size])
    assert degree.tolist() == [*similar.sum(axis=1).tolist(), *[0] * (n - size)]


def test_few_rounds_are_needed(grouping, device, monkeypatch):
    # The definition forms one group after another. Programs wait three times in each round.
    run, waits = grouping.rounds.run, []

    class Counted:
        def __getitem__(self, grid):
            def launch(*arguments, **given):
                run[grid](*arguments, **given)
                waits.append(int(arguments[7]) / grid[0])

            return launch

    monkeypatch.setattr(grouping.rounds, "run", Counted())
    for kind in (clustered, random):
        rows = kind(np.random.default_rng(2), 128, 6)
        groups = len(assert_same(grouping, device, rows, 0.9))
        rounds = waits.pop() / 3
        assert 1 <= rounds <= 14 and rounds < groups / 4


def test_no_rows_make_no_groups(grouping, device):
    labels, mains = grouping.group(torch.empty(0, 5, device=device), 0.9)
    assert labels.shape == mains.shape == (0,)


def test_rows_without_components_are_alone(grouping, device):
    labels, mains = grouping.group(torch.empty(3, 0, device=device), -1.0)
    assert labels.tolist() == mains.tolist() == [0, 1, 2]


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

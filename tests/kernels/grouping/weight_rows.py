"""Rows of weights for tests of the grouping.

A kind of rows is a function of a numpy generator, the number of rows m and their length d; it gives
(m, d) float64. `mixed` says which kind and length a test of many sizes and thresholds takes.
"""

import numpy as np
import torch

from combred.kernels.grouping import reference


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


# Over the threshold of a pair: float32 resolves cosines to 6e-8 at best; the tolerance of the
# definition is 1e-12, and the float64 rounding error of a cosine is below 1e-14.
GAPS = [0.0, 1e-13, 1e-10, 1e-8, 1e-7, 1e-5, -1e-11, -1e-10, -1e-8, -1e-7, -1e-6, -1e-4]


def near_pairs(threshold: float, d: int, seed: int = 0) -> np.ndarray:
    """For every one of `GAPS` two rows, (2 gaps, d), with the cosine threshold + gap; pairs
    orthogonal."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((d, 2 * len(GAPS))))[0].T
    rows = []
    for i, gap in enumerate(GAPS):
        a, b = basis[2 * i], basis[2 * i + 1]
        cosine = threshold + gap
        # 1 - cos^2 without cancellation near a cosine of 1
        rows += [a, rng.uniform(0.1, 10) * (cosine * a + ((1 - cosine) * (1 + cosine)) ** 0.5 * b)]
    return np.array(rows)


def require_exact_pairs(group, threshold: float, d: int, device="cpu") -> np.ndarray:
    """Asserts that `group` pairs the rows of `near_pairs` by the signs of their gaps; the rows."""
    rows = near_pairs(threshold, d)
    labels, _ = group(torch.from_numpy(rows).to(device), threshold)
    same_group = [int(labels[2 * i]) == int(labels[2 * i + 1]) for i in range(len(GAPS))]
    assert same_group == [gap >= 0 for gap in GAPS]
    return rows


def require_any_layout(group, dtype: torch.dtype, device="cpu") -> None:
    """Asserts that the groups do not depend on layout and gradients, and rows are not changed."""
    weights = torch.from_numpy(clustered(np.random.default_rng(0), 100, 12)).to(device, dtype)
    strided = torch.empty(100, 24, dtype=dtype, device=device)[:, ::2].copy_(weights)
    expected = [side.tolist() for side in reference.group(weights, 0.7)]
    for given in (weights, strided, weights.clone().requires_grad_(), weights.T.contiguous().T):
        before = given.detach().clone()
        labels, mains = group(given, 0.7)
        assert [labels.tolist(), mains.tolist()] == expected
        assert torch.equal(given, before)

"""Rows of weights for tests of the grouping, and a literal brute force."""

import numpy as np


def brute_force(weights: np.ndarray, threshold: float) -> tuple[list[int], list[int]]:
    """The groups of the definition, float64, rows counted anew for every group."""
    rows = weights.astype(np.float64)
    norm = np.sqrt((rows**2).sum(axis=1))
    unit = rows / np.where(norm > 0, norm, 1.0)[:, None]
    similar = unit @ unit.T >= threshold - 1e-12  # rounding must not part a row from its multiple
    similar[norm == 0] = similar[:, norm == 0] = False
    similar |= np.eye(len(rows), dtype=bool)
    labels, mains = np.full(len(rows), -1), []
    while (ungrouped := np.flatnonzero(labels < 0)).size:
        counts = similar[np.ix_(ungrouped, ungrouped)].sum(axis=1)
        main = ungrouped[np.argmax(counts)]  # the first of equals: the lowest index
        labels[ungrouped[similar[main, ungrouped]]] = len(mains)
        mains.append(int(main))
    return labels.tolist(), mains


def random(rng, m, d):
    return rng.standard_normal((m, d))


def clustered(rng, m, d):
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

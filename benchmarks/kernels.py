"""How fast are the kernels? Grouping of units by direction, on one CPU thread.

    python -m benchmarks.kernels

For random and clustered rows (m, 24), as those of a first layer: `kernels.group`, its definition in
torch (`kernels.reference`), and, at 3200 rows, the loop of Chen & Xu 2024 (section 2.2.3) literally
in Python with numpy rows. Labels are compared before anything is timed. Prints a table, then one
JSON line.
"""

import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from combred import kernels, timing
from combred.kernels import reference

SIZES = (800, 3200, 20_000)
THRESHOLDS = (0.5, 0.8, 0.9, 0.999)
REFERENCE_UP_TO = 3200  # a dense float64 matrix and a step of O(m^2) for every group


def rows(m: int, kind: str) -> Tensor:
    """(m, 24) directions: without structure, or ten around each of m / 10 centres."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(m, 24, generator=generator)
    if kind == "random":
        return noise
    centres = torch.randn(m // 10, 24, generator=generator)
    return centres[torch.randint(0, m // 10, (m,), generator=generator)] + 0.2 * noise


def literal(weights: Tensor, threshold: float) -> list[int]:
    """Labels by the paper's words, a unit at a time."""
    v = weights.double().numpy()
    norm = np.sqrt((v * v).sum(axis=1))
    labels = [-1] * len(v)
    similar = [(v @ v[i]) / (norm * norm[i]) >= threshold - reference.EXACT for i in range(len(v))]
    group = 0
    while -1 in labels:
        counts = [
            sum(1 for k in range(len(v)) if labels[k] < 0 and similar[i][k])
            if labels[i] < 0
            else -1
            for i in range(len(v))
        ]
        main = counts.index(max(counts))
        for k in range(len(v)):
            if labels[k] < 0 and similar[main][k]:
                labels[k] = group
        group += 1
        if max(counts) == 1:  # all that are left are alone
            for k in range(len(v)):
                if labels[k] < 0:
                    labels[k] = group
                    group += 1
    return labels


def seconds(call: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Median and slowest time of a call."""
    taken = []
    for _ in range(repeats):
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken), max(taken)


def measure(m: int, kind: str, threshold: float) -> dict:
    """One line of the table."""
    weights = rows(m, kind)
    labels, mains = kernels.group(weights, threshold)
    median, slowest = seconds(lambda: kernels.group(weights, threshold), 5 if m < 10_000 else 3)
    line = {
        "m": m, "kind": kind, "threshold": threshold, "groups": len(mains),
        "seconds": median, "slowest": slowest,
    }  # fmt: skip
    if m <= REFERENCE_UP_TO:
        assert torch.equal(labels, reference.group(weights, threshold)[0])
        line["reference_seconds"] = seconds(lambda: reference.group(weights, threshold), 1)[0]
    if m == 3200 and kind == "clustered" and threshold == 0.9:
        begun = time.perf_counter()
        assert literal(weights, threshold) == labels.tolist()
        line["literal_seconds"] = time.perf_counter() - begun
    return line


def main() -> None:
    print(f"{timing.machine()}; one thread; torch {torch.__version__}")
    print(f"{'m':>7} {'rows':10} {'threshold':>9} {'groups':>7} {'median':>10} {'slowest':>10} "
          f"{'reference':>10} {'literal':>10}")  # fmt: skip
    lines = []
    with timing.one_thread():
        for m in SIZES:
            for kind in ("random", "clustered"):
                for threshold in THRESHOLDS:
                    line = measure(m, kind, threshold)
                    lines.append(line)
                    shown = [line.get(k) for k in ("seconds", "slowest", "reference_seconds")]
                    shown = [*shown, line.get("literal_seconds")]
                    print(f"{m:7} {kind:10} {threshold:9} {line['groups']:7} "
                          + " ".join(f"{t:9.4f}s" if t else f"{'':10}" for t in shown),
                          flush=True)  # fmt: skip
    print(json.dumps({"machine": timing.machine(), "threads": 1, "lines": lines}))


if __name__ == "__main__":
    main()

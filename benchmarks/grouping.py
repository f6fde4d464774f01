"""How much time does the grouping of units by direction take?

    python -m benchmarks.grouping

One CPU thread, random and clustered rows (m, 24) as in a first layer. Times of
`combred.reduction.group` and, for 3200 rows, of the loop of Chen & Xu 2024 (section 2.2.3) in plain
Python, whose labels are compared. Prints a table, then one JSON line.
"""

import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from benchmarks.command_line import words
from combred.processes.threads import one_thread
from combred.reduction import group
from combred.reduction.methods.grouping import EXACT
from combred.validation import timing

SIZES = (800, 3200, 20_000)
THRESHOLDS = (0.5, 0.8, 0.9, 0.999)


def rows(m: int, kind: str, d: int = 24) -> Tensor:
    """(m, d) rows: random, or clustered, ten around each of m / 10 centres."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(m, d, generator=generator)
    if kind == "random":
        return noise
    centres = torch.randn(m // 10, d, generator=generator)
    return centres[torch.randint(0, m // 10, (m,), generator=generator)] + 0.2 * noise


def literal(weights: Tensor, threshold: float) -> list[int]:
    """Labels by the loop of the paper, one unit at a time."""
    v = weights.double().numpy()
    norm = np.sqrt((v * v).sum(axis=1))
    labels = [-1] * len(v)
    similar = [(v @ v[i]) / (norm * norm[i]) >= threshold - EXACT for i in range(len(v))]
    number = 0
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
                labels[k] = number
        number += 1
        if max(counts) == 1:  # each of the others is a group of one
            for k in range(len(v)):
                if labels[k] < 0:
                    labels[k] = number
                    number += 1
    return labels


def seconds(call: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Median and slowest time of a call [s]."""
    taken = []
    for _ in range(repeats):
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken), max(taken)


def measure(m: int, kind: str, threshold: float) -> dict:
    """One line of the table."""
    weights = rows(m, kind)
    labels, mains = group(weights, threshold)
    median, slowest = seconds(lambda: group(weights, threshold), 5 if m < 10_000 else 3)
    line = {
        "m": m, "kind": kind, "threshold": threshold, "groups": len(mains),
        "seconds": median, "slowest": slowest,
    }  # fmt: skip
    if m == 3200 and kind == "clustered" and threshold == 0.9:
        begun = time.perf_counter()
        assert literal(weights, threshold) == labels.tolist()
        line["literal_seconds"] = time.perf_counter() - begun
    return line


def on_cpu() -> dict:
    """The table of a CPU thread, printed; returns it."""
    print(f"{timing.machine()}; one thread; torch {torch.__version__}")
    print(f"{'m':>7} {'rows':10} {'threshold':>9} {'groups':>7} {'median':>10} {'slowest':>10} "
          f"{'literal':>10}")  # fmt: skip
    lines = []
    with one_thread():
        for m in SIZES:
            for kind in ("random", "clustered"):
                for threshold in THRESHOLDS:
                    line = measure(m, kind, threshold)
                    lines.append(line)
                    shown = [line.get(k) for k in ("seconds", "slowest", "literal_seconds")]
                    print(f"{m:7} {kind:10} {threshold:9} {line['groups']:7} "
                          + " ".join(f"{t:9.4f}s" if t else f"{'':10}" for t in shown),
                          flush=True)  # fmt: skip
    return {"machine": timing.machine(), "threads": 1, "lines": lines}


def main() -> None:
    words(__doc__)
    print(json.dumps(on_cpu()))


if __name__ == "__main__":
    main()

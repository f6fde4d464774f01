"""How much time does the grouping of units by direction take?

    python -m benchmarks.kernels

Without a GPU: one CPU thread, random and clustered rows (m, 24) as in a first layer. Times of
`kernels.group`, of its definition in torch (`kernels.grouping.reference`) and, for 3200 rows, of
the loop of Chen & Xu 2024 (section 2.2.3) in plain Python.

With a GPU: clustered rows of length 24 and 1024. Times of `kernels.group`, of its definition in
torch where its dense matrix fits, and two lower limits, both measured: writing the bits at the
copying speed of the device, and half the matrix product at float32 accuracy, in three passes of
tf32, at its speed in torch.

Labels are compared before a time is taken. Prints a table, then one JSON line.
"""

import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from benchmarks.command_line import words
from combred import kernels
from combred.kernels.grouping import cpu, reference
from combred.processes.machine import machine
from combred.processes.threads import one_thread

SIZES = (800, 3200, 20_000)
THRESHOLDS = (0.5, 0.8, 0.9, 0.999)
REFERENCE_UP_TO = 3200  # a dense float64 matrix and a step of O(m^2) for every group
GPU_SIZES = (3200, 16_384, 65_536, 131_072)
GPU_DEPTHS = (24, 1024)
GPU_THRESHOLD = 0.9
REFERENCE_BYTES = 10  # per pair: its cosine in float64, a comparison, and a margin


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
        if max(counts) == 1:  # each of the others is a group of one
            for k in range(len(v)):
                if labels[k] < 0:
                    labels[k] = group
                    group += 1
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


def on_cpu() -> dict:
    """The table of a CPU thread, printed; returns it."""
    print(f"{machine()}; one thread; torch {torch.__version__}")
    print(f"{'m':>7} {'rows':10} {'threshold':>9} {'groups':>7} {'median':>10} {'slowest':>10} "
          f"{'reference':>10} {'literal':>10}")  # fmt: skip
    lines = []
    with one_thread():
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
    return {"machine": machine(), "threads": 1, "lines": lines}


def device_seconds(call: Callable[[], object], repeats: int) -> tuple[float, float, float]:
    """Fastest, median and slowest time [s] of a call on the GPU, after two for warming up."""

    def complete() -> None:
        call()
        torch.cuda.synchronize()

    for _ in range(2):
        complete()
    taken = []
    for _ in range(repeats):
        begun = time.perf_counter()
        complete()
        taken.append(time.perf_counter() - begun)
    return min(taken), statistics.median(taken), max(taken)


def speeds() -> dict[str, float]:
    """Speeds of this GPU in torch: bytes written per second by a copy, tf32 operations per
    second."""
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    written = len(source) / device_seconds(lambda: target.copy_(source), 10)[1]
    n = 8192
    a, b = torch.randn(2, n, n, device="cuda")
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    operations = 2 * n**3 / device_seconds(lambda: a @ b, 10)[1]
    torch.set_float32_matmul_precision(before)
    return {"bytes": written, "tf32": operations}


def measure_on_gpu(m: int, d: int, speed: dict[str, float]) -> dict:
    """One line of the GPU's table."""
    weights = rows(m, "clustered", d)
    there = weights.cuda()
    labels, mains = kernels.group(there, GPU_THRESHOLD, implementation="triton")
    fits = REFERENCE_BYTES * m * m < torch.cuda.mem_get_info()[0]
    defined = reference.group(there, GPU_THRESHOLD) if fits else cpu.group(weights, GPU_THRESHOLD)
    assert torch.equal(labels.cpu(), defined[0].cpu())
    assert torch.equal(mains.cpu(), defined[1].cpu())
    fastest, median, slowest = device_seconds(lambda: kernels.group(there, GPU_THRESHOLD), 20)
    line = {
        "m": m, "d": d, "threshold": GPU_THRESHOLD, "groups": len(mains),
        "fastest": fastest, "seconds": median, "slowest": slowest,
        "bits_seconds": m * m / 8 / speed["bytes"],
        "matrix_seconds": 3 * m * m * d / speed["tf32"],
    }  # fmt: skip
    if fits:
        begun = time.perf_counter()
        reference.group(there, GPU_THRESHOLD)
        torch.cuda.synchronize()
        line["reference_seconds"] = time.perf_counter() - begun
    return line


def on_gpu() -> dict:
    """The table of the GPU, printed; returns it."""
    name = torch.cuda.get_device_name()
    print(f"{name}; clustered rows, threshold {GPU_THRESHOLD}; torch {torch.__version__}")
    speed = speeds()
    print(f"{'m':>7} {'d':>5} {'groups':>7} {'median':>10} {'fastest':>10} {'slowest':>10} "
          f"{'reference':>10} {'bits':>10} {'matrix':>10}  (ms)")  # fmt: skip
    lines = []
    for m in GPU_SIZES:
        for d in GPU_DEPTHS:
            line = measure_on_gpu(m, d, speed)
            lines.append(line)
            torch.cuda.empty_cache()
            keys = ("seconds", "fastest", "slowest", "reference_seconds", "bits_seconds",
                    "matrix_seconds")  # fmt: skip
            times = [f"{1e3 * line[key]:10.3f}" if key in line else " " * 10 for key in keys]
            print(f"{m:7} {d:5} {line['groups']:7} " + " ".join(times), flush=True)
    return {"device": name, "speed": speed, "lines": lines}


def main() -> None:
    words(__doc__)
    print(json.dumps(on_gpu() if torch.cuda.is_available() else on_cpu()))


if __name__ == "__main__":
    main()

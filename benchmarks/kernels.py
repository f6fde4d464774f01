"""How much time does the grouping of units by direction take on a GPU?

    python -m benchmarks.kernels

Clustered rows of length 24 and 1024. Times of `kernels.group`, of its definition in torch where its
dense matrix fits, and two lower limits, both measured: writing the bits at the copying speed of the
device, and half the matrix product at float32 accuracy, in three passes of tf32, at its speed in
torch. Labels are compared before a time is taken. Prints a table, then one JSON line.
"""

import json
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.command_line import words
from combred import kernels
from combred.kernels.grouping import cpu, reference

GPU_SIZES = (3200, 16_384, 65_536, 131_072)
GPU_DEPTHS = (24, 1024)
GPU_THRESHOLD = 0.9
REFERENCE_BYTES = 10  # per pair: its cosine in float64, a comparison, and a margin


def rows(m: int, d: int) -> Tensor:
    """(m, d) rows, ten around each of m / 10 centres."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(m, d, generator=generator)
    centres = torch.randn(m // 10, d, generator=generator)
    return centres[torch.randint(0, m // 10, (m,), generator=generator)] + 0.2 * noise


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
    weights = rows(m, d)
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
    if not torch.cuda.is_available():
        raise SystemExit("benchmarks.kernels needs a GPU that torch can use")
    print(json.dumps(on_gpu()))


if __name__ == "__main__":
    main()

"""How many states per second do CVODE and a surrogate advance, in up to eight implementations?

    python -m benchmarks.inference [--quick] [--largest N]

Networks: untrained ones of the state alone with the widths of a reduction of the paper's network
(23-1105-1309-800-400-23) and of two that the fused kernel takes (`UNTRAINED`), and all models that
combred ships. Implementations: eager torch, TorchScript, torch.compile, eager in a CUDA graph, and
the fused kernel in three precisions, one of them also in a graph. Networks that correct reaction
rates choose the number of their steps by the states, and run in eager torch and TorchScript alone.
Batches: 1 to 4 million states of two ignitions by CVODE, over 1 us. CVODE runs on all cores.
Without a GPU: CVODE, eager, TorchScript and torch.compile on one CPU thread with smaller batches.
--quick: shipped models alone, two repeats.

Before an implementation is timed, its results are compared with those of eager torch in float32
(`AGREEMENT`). Prints a table with medians and ranges, then one JSON line. Roofline: the minimum
time of the device for the products of the network's weights or for reading and writing the states,
whichever is longer, by the data sheet of the H200 without sparsity. Of a network that corrects
reaction rates it includes neither the rates, which take most of the time, nor further steps.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator

import cantera as ct
import numpy as np
import torch
from torch import Tensor

import combred
from combred import kernels
from combred.chemistry.reactor import CVODE
from combred.config import ChemistrySettings
from combred.kernels.inference.packing import obstacle
from combred.simulation import ignition
from combred.surrogate.network import Network
from combred.surrogate.surrogate import Surrogate
from combred.threads import one_thread
from combred.validation import timing
from combred.workers import open_pool

DT = 1e-6  # s
UNTRAINED = {  # of the state alone
    "paper, reduced": [23, 1105, 1309, 800, 400, 23],
    "untrained-338k": [23, 400, 400, 400, 23],
    "untrained-39k": [23, 207, 114, 72, 23],
}
BATCHES = (1, 1024, 32_768, 1 << 20, 1 << 22)
CPU_BATCHES = (1, 1024, 16_384)
RATES = 30_000  # bytes of intermediate results of the reaction rates per state
MEMORY = 1 << 36  # bytes of intermediate results of eager torch; it skips larger batches
PRECISIONS = ("bf16x3", "tf32", "bf16")
# Largest errors of Y and of T [K] of one step against eager float32. A step changes Y by at most
# 0.02 and T by at most 100 K; products in tf32 or bf16 round every activation.
AGREEMENT = {
    "eager": (2e-6, 3e-2),
    "bf16x3": (2e-5, 0.1),
    "tf32": (2e-4, 1.0),
    "bf16": (5e-3, 20.0),
}
# H200 SXM, NVIDIA's data sheet: FLOP/s of matrix products (bf16x3 takes three), bytes/s of memory.
PEAK = {"bf16x3": 989e12 / 3, "tf32": 495e12, "bf16": 989e12, "ieee": 67e12}
BANDWIDTH = 4.8e12


def states() -> Tensor:
    """(n, 23) states [T, p, Y] of two ignitions by CVODE."""
    mechanism, parts = combred.load_mechanism("drm19.yaml"), []
    cases = [ignition.Case(1700.0, 101325.0, phi) for phi in (0.8, 1.2)]
    Y0 = ignition.mixtures(mechanism, cases, "CH4:1", "O2:1, N2:3.76")
    for case, fresh in zip(cases, Y0, strict=True):
        found = ignition.integrate(mechanism, case, fresh, DT, 400, ChemistrySettings())
        parts.append(np.column_stack([found.T, np.full(len(found.T), case.p), found.Y]))
    return torch.tensor(np.concatenate(parts))


def steps(batch: Tensor) -> Tensor:
    """The time step [s] of each state of a batch."""
    return batch.new_full((len(batch),), DT)


def networks(quick: bool) -> dict[str, Surrogate]:
    """The surrogates by name: untrained ones, and then all that combred ships."""
    found = {}
    for name, widths in UNTRAINED.items() if not quick else ():
        surrogate = combred.load("drm19-full")
        torch.manual_seed(0)
        surrogate.network = Network(widths)
        found[name] = surrogate
    found |= {name: combred.load(name) for name in combred.models()}
    return {name: s.eval().requires_grad_(False) for name, s in found.items()}


# -- implementations
# --------------------------------------------------------------------------------------


def ways(surrogate: Surrogate, batch: Tensor) -> Iterator[tuple[str, str, Callable[[], Tensor]]]:
    """Name, precision of the matrix products and call of each implementation for `batch`."""
    on_gpu, dt = batch.is_cuda, steps(batch)
    # Bytes of intermediate results: the widest layer in float32, the closure in float64.
    each = 4 * max(surrogate.network.widths) + 2500
    each += RATES if surrogate.corrects_rates else 0
    if len(batch) * each < MEMORY:
        yield "eager", "eager", lambda: surrogate(batch, dt)
        scripted = torch.jit.freeze(torch.jit.script(surrogate))
        yield "TorchScript", "eager", lambda: scripted(batch, dt)
    if len(batch) * each < MEMORY and not surrogate.corrects_rates:
        compiled = torch.compile(surrogate, dynamic=False)
        yield "torch.compile", "eager", lambda: compiled(batch, dt)
        if on_gpu:
            yield "CUDA graph", "eager", graphed(lambda: surrogate(batch, dt))
    if on_gpu and obstacle(surrogate) is None:
        out = torch.empty_like(batch)
        for precision in PRECISIONS:
            fused = kernels.advance(surrogate, "triton", precision)
            yield f"fused, {precision}", precision, lambda fused=fused: fused(batch, out=out)
            if precision == "bf16x3":
                replayed = graphed(lambda fused=fused: fused(batch, out=out))
                yield "fused, graph", precision, replayed


def graphed(call: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """The call, captured in a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = call()

    def replay() -> Tensor:
        graph.replay()
        return out

    return replay


# -- times -----------------------------------------------------------------------------------------


def seconds(call: Callable[[], Tensor], repeats: int, on_gpu: bool) -> list[float]:
    """Times [s] of a call after a warm-up; on a GPU the mean of as many calls as take some 20
    ms."""
    for _ in range(3):
        call()
    if not on_gpu:
        return [_host_seconds(call) for _ in range(repeats)]
    torch.cuda.synchronize()
    once = _host_seconds(lambda: (call(), torch.cuda.synchronize()))
    many, taken = max(1, min(1000, int(0.02 / once))), []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(many):
            call()
        end.record()
        end.synchronize()
        taken.append(begin.elapsed_time(end) / 1e3 / many)
    return taken


def _host_seconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def roofline(surrogate: Surrogate, n: int, precision: str) -> float:
    """Minimum time [s] of an H200 for n states."""
    products = 2 * surrogate.network.n_weights * n / PEAK[precision]
    return max(products, 2 * 8 * surrogate.n * n / BANDWIDTH)


def require_agreement(name: str, precision: str, out: Tensor, expected: Tensor) -> None:
    """Raise AssertionError unless the results agree with those of eager torch."""
    error = (out - expected).abs()
    Y, T = error[:, 2:].max().item(), error[:, 0].max().item()
    assert Y < AGREEMENT[precision][0] and T < AGREEMENT[precision][1], (name, Y, T)


def lines(name: str, surrogate: Surrogate, some: Tensor, sizes, repeats: int) -> Iterator[dict]:
    """The lines of the table for one network."""
    for n in sizes:
        batch = some.repeat(-(-n // len(some)), 1)[:n].contiguous()
        first = batch[: len(some)]
        expected = surrogate(first, steps(first))
        for way, precision, call in ways(surrogate, batch):
            line = {"network": name, "way": way, "batch": n}
            try:
                found = call()[: len(some)].clone()
            except (RuntimeError, ImportError) as error:  # no compiler for torch.compile, say
                yield line | {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
                continue
            if name not in UNTRAINED or way.startswith("fused"):
                require_agreement(way, precision, found, expected)
            taken = seconds(call, repeats, batch.is_cuda)
            median = statistics.median(taken)
            line |= {"median": median, "fastest": min(taken), "slowest": max(taken)}
            line |= {"states_per_second": n / median}
            if batch.is_cuda:
                kind = "ieee" if precision == "eager" else precision
                line["of_roofline"] = roofline(surrogate, n, kind) / median
            yield line


# -- CVODE -----------------------------------------------------------------------------------------


def cvode_seconds(rows: np.ndarray) -> float:
    """Time [s] of CVODE for some states at the tolerance of the training data."""
    cvode = CVODE(combred.load_mechanism("drm19.yaml"))
    cvode.advance(rows[:2, 0], rows[:2, 1], rows[:2, 2:], DT)
    return _host_seconds(lambda: cvode.advance(rows[:, 0], rows[:, 1], rows[:, 2:], DT))


def cvode_line(some: Tensor, repeats: int) -> dict:
    """States per second of CVODE with one process per core, each with 200 states."""
    cores = len(os.sched_getaffinity(0))
    rows = timing.spread(some.cpu().numpy(), 200)
    with open_pool(cores, ct.suppress_thermo_warnings) as pool:
        rates = [
            sum(len(rows) / taken for taken in pool.map(cvode_seconds, [rows] * cores))
            for _ in range(repeats)
        ]
    rate = statistics.median(rates)
    return {
        "network": "-", "way": f"CVODE, cores: {cores}", "batch": len(rows) * cores,
        "median": len(rows) * cores / rate, "fastest": len(rows) * cores / max(rates),
        "slowest": len(rows) * cores / min(rates), "states_per_second": rate,
    }  # fmt: skip


def show(line: dict) -> None:
    """Print a line of the table."""
    start = f"{line['network']:19} {line['way']:16} {line['batch']:9}"
    if "failed" in line:
        print(start, line["failed"], flush=True)
        return
    share = f"{line['of_roofline']:9.1%}" if "of_roofline" in line else ""
    print(f"{start} {line['states_per_second']:14.4g} {1e3 * line['median']:11.4f} "
          f"{1e3 * line['fastest']:11.4f} {1e3 * line['slowest']:11.4f} {share}",
          flush=True)  # fmt: skip


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.inference", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="shipped models alone, two repeats")
    parser.add_argument("--largest", type=int, default=max(BATCHES), help="largest batch")
    asked = parser.parse_args()
    on_gpu = torch.cuda.is_available()
    where = torch.cuda.get_device_name() if on_gpu else "no GPU: CPU alone"
    torch.backends.cuda.matmul.allow_tf32 = False
    repeats = 2 if asked.quick else 9
    print(f"{timing.machine()}; {where}; torch {torch.__version__}")
    print(f"{'network':19} {'way':16} {'batch':>9} {'states/s':>14} {'median ms':>11} "
          f"{'fastest':>11} {'slowest':>11} {'of roofline':>9}")  # fmt: skip
    some = states()
    table = [cvode_line(some, repeats)]
    show(table[0])
    sizes = [n for n in (BATCHES if on_gpu else CPU_BATCHES) if n <= asked.largest]
    some = some.to("cuda" if on_gpu else "cpu")
    with one_thread():
        for name, surrogate in networks(asked.quick).items():
            for line in lines(name, surrogate.to(some.device), some, sizes, repeats):
                table.append(line)
                show(line)
            torch.compiler.reset()
    gpu = torch.cuda.get_device_name() if on_gpu else None
    print(json.dumps({"machine": timing.machine(), "gpu": gpu, "lines": table}))


if __name__ == "__main__":
    main()

"""How many states a second does a surrogate advance on a GPU?

    python -m benchmarks.inference --states FILE [MODEL ...]

For every shipped model that corrects QSS steps (or those named): the time of a call of
`combred.native.compile_cuda` on 1000 to a million states, over 1 us at the default tolerance, and
the largest difference from the library on a CPU, in T [K] and Y. The states are the busy ones of
benchmarks/times.py, of FILE. Writes benchmarks/results/inference.json; prints a table, then one
JSON line. Needs a CUDA device.
"""

import json
import time
from pathlib import Path

import numpy as np
import torch

import combred
from benchmarks.accuracy import DT
from benchmarks.command_line import general_models, states_and_models
from benchmarks.times import busy_states
from combred import native
from combred.files.records import write_json
from combred.validation.timing import share_solved

RESULTS = Path(__file__).parent / "results" / "inference.json"
BATCHES, REPEATS = (1000, 10_000, 100_000, 1_000_000), 9


def seconds(surrogate: native.CudaLibrary, states: torch.Tensor) -> list[float]:
    """Seconds of each of REPEATS calls, after one that is not counted."""
    took = []
    for _ in range(REPEATS + 1):
        torch.cuda.synchronize()
        began = time.perf_counter()
        surrogate(states, DT)
        torch.cuda.synchronize()
        took.append(time.perf_counter() - began)
    return took[1:]


def main(file: Path, models: list[str]) -> None:
    if not torch.cuda.is_available():
        raise SystemExit("torch finds no CUDA device, which this benchmark is about")
    states = busy_states(file, 4096)
    found: dict = {"machine": torch.cuda.get_device_name(), "dt": DT, "models": {}}
    print(f"{'':20}{'states':>9}{'ms a call':>11}{'ns a state':>12}")
    for model in models or general_models():
        surrogate = combred.load(model)
        compiled, on_device = native.compile(surrogate), native.compile_cuda(surrogate)
        T, Y = compiled.advance(states[:, 0], states[:, 1], states[:, 2:], DT)
        later = on_device(torch.tensor(states, device="cuda"), DT)[0].cpu().numpy()
        row: dict = {
            "difference": [float(abs(later[:, 0] - T).max()), float(abs(later[:, 2:] - Y).max())],
            "solved": share_solved(compiled, states, DT),
            "seconds": {},
        }
        for n in BATCHES:
            many = torch.tensor(states, device="cuda").repeat(-(-n // len(states)), 1)[:n]
            took = float(np.median(seconds(on_device, many)))
            row["seconds"][n] = took
            print(f"{model:20}{n:9}{1e3 * took:11.3f}{1e9 * took / n:12.2f}", flush=True)
        found["models"][model] = row
    write_json(RESULTS, found)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*states_and_models(__doc__))

"""How many states a second does a surrogate advance on a GPU?

    python -m benchmarks.inference [MODEL ...]

For every shipped model that corrects QSS steps (or those named), with products in float32 and
of bf16: time a call of `combred.native.compile_cuda` on 1000 to a million states, over 1 us at the
default tolerance, and the largest difference from the library on a CPU, in T [K] and Y. The states
are those of benchmarks/native.py. Writes benchmarks/results/inference.json; prints a table, then
one JSON line. Needs a CUDA device.
"""

import json
import time
from pathlib import Path

import numpy as np
import torch

import combred
from benchmarks.command_line import words
from benchmarks.native import DT, ignition_states
from combred import native
from combred.config import ChemistrySettings
from combred.records import write_json

RESULTS = Path(__file__).parent / "results" / "inference.json"
BATCHES, REPEATS = (1000, 10_000, 100_000, 1_000_000), 9


def seconds(surrogate: native.CudaLibrary, states: torch.Tensor) -> list[float]:
    """Seconds of each of REPEATS calls, after one that is not counted."""
    took = []
    for _ in range(REPEATS + 1):
        torch.cuda.synchronize()
        began = time.perf_counter()
        surrogate.integrate(states, DT)
        torch.cuda.synchronize()
        took.append(time.perf_counter() - began)
    return took[1:]


def main(models: list[str]) -> None:
    if not torch.cuda.is_available():
        raise SystemExit("torch finds no CUDA device, which this benchmark is about")
    mechanism, tight = combred.load_mechanism("drm19.yaml"), ChemistrySettings()
    models = models or [name for name in combred.models() if combred.load(name).corrects_rates]
    states = ignition_states(mechanism, 4096, tight.rtol, tight.atol)
    found: dict = {"machine": torch.cuda.get_device_name(), "dt": DT, "models": {}}
    print(f"{'':20}{'states':>9}{'ms a call':>11}{'ns a state':>12}")
    for model, bf16 in [(model, bf16) for model in models for bf16 in (False, True)]:
        surrogate = combred.load(model)
        known = native.compile(surrogate, bf16=bf16).integrate(states, DT)[0]
        on_device = native.compile_cuda(surrogate, mechanism, bf16)
        later = on_device.integrate(torch.tensor(states, device="cuda"), DT)[0].cpu().numpy()
        off = np.abs(later - known)
        name = model + ", bf16" * bf16
        row = {"difference": [float(off[:, 0].max()), float(off[:, 2:].max())], "seconds": {}}
        for n in BATCHES:
            many = torch.tensor(states, device="cuda").repeat(-(-n // len(states)), 1)[:n]
            took = float(np.median(seconds(on_device, many)))
            row["seconds"][n] = took
            print(f"{name:20}{n:9}{1e3 * took:11.3f}{1e9 * took / n:12.2f}", flush=True)
        found["models"][name] = row
    write_json(RESULTS, found)
    print(json.dumps(found))


if __name__ == "__main__":
    main(words(__doc__))

#!/bin/bash
# Question: does numba's CUDA simulator (NUMBA_ENABLE_CUDASIM=1) show what a float32 kernel does with exponentials and logarithms?
# Guess (75 %): exp is computed in double. (65 %): a division by zero gives inf; the same was expected of the functions.
# What happens: math.exp, log, sqrt and pow are Python's own. exp(88.9) of a float32 is 4.06e38 in the simulator (inf in float32), and
#   exp of 1000, log of 0 and sqrt of -1e-20 end the kernel with OverflowError or ValueError, where IEEE gives inf, -inf and NaN. Division
#   by zero does give inf. So a kernel that guards against inf or NaN afterwards fails in the simulator, and one that overflows in float32 passes.
# Version: numba-cuda 0.30.4 (simulator), numba 0.68.1, numpy 2.4.6.
# Who meets it: who tests rate kernels, exp(-E/RT) and log10 of falloff, in CI without a GPU.
# Instead: the same function through numba.njit in float32 on the CPU for numbers; the simulator for indices only.
# Date: 2026-11-29
set -eu
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder/site" numpy==2.4.6 numba==0.68.1 numba-cuda==0.30.4 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
NUMBA_ENABLE_CUDASIM=1 PYTHONPATH="$folder/site" python3 -W ignore - <<'PYTHON'
import importlib.metadata
import math

import numba
import numpy as np
from numba import cuda

print(*(f"{name} {importlib.metadata.version(name)}" for name in ("numba-cuda", "numba", "numpy")))


@cuda.jit
def exponential(x, y):
    y[0] = math.exp(x[0])


@cuda.jit
def logarithm(x, y):
    y[0] = math.log(x[0])


@cuda.jit
def root(x, y):
    y[0] = math.sqrt(x[0])


@cuda.jit
def inverse(x, y):
    y[0] = 1 / x[0]


def simulated(kernel, x):
    result = np.zeros(1)
    try:
        kernel[1, 1](np.float32([x]), result)
    except (ValueError, OverflowError) as error:
        return type(error).__name__
    return float(result[0])


@numba.njit
def on_cpu(x):
    return np.exp(x)


results = {
    "exp(88.9)": (simulated(exponential, 88.9), on_cpu(np.float32(88.9))),
    "exp(1000)": (simulated(exponential, 1000), np.exp(np.float32(1000))),
    "log(0)": (simulated(logarithm, 0), np.log(np.float32(0))),
    "sqrt(-1e-20)": (simulated(root, -1e-20), np.sqrt(np.float32(-1e-20))),
    "1/0": (simulated(inverse, 0), np.float32(1) / np.float32(0)),
}
for name, (simulator, single) in results.items():
    print(f"{name}: simulator {simulator}, float32 on the CPU {single}")
assert 4e38 < results["exp(88.9)"][0] < 4.1e38 and np.isinf(results["exp(88.9)"][1])
assert [results[name][0] for name in ("exp(1000)", "log(0)", "sqrt(-1e-20)")] == ["OverflowError", "ValueError", "ValueError"]
assert results["1/0"][0] == np.inf
print("PASS")
PYTHON

#!/bin/bash
# Question: do np.sum, np.mean and np.var in a numba function give what numpy gives for float32 arrays?
# Guess (65 %): the sum of ten million numbers is more than 1 % off. None was written for the variance; numpy's value was expected.
# What happens: all of them add one number after the other in float32. Ten million times 0.1 sum to 1087937 (numpy: 1000000), and the
#   variance of a million temperatures between 1500 and 1501 K is 0.388 K2 (numpy and float64: 0.0833 K2). np.cumsum is naive in
#   both. With fastmath=True the sum is 997298, which another processor may change. There is no warning.
# Version: numba 0.68.1, numpy 2.4.6.
# Who meets it: who post-processes fields of a simulation (float32) in numba: integrals, means, r.m.s. fluctuations.
# Instead: a.astype(np.float64) inside the function, np.sum(a, dtype=np.float64) where numba takes it, or numpy outside.
# Date: 2026-11-29
set -eu
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder/site" numpy==2.4.6 numba==0.68.1 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
PYTHONPATH="$folder/site" python3 - <<'PYTHON'
import numba
import numpy as np

print("numba", numba.__version__, "numpy", np.__version__)


@numba.njit
def total(a):
    return a.sum()


@numba.njit
def variance(a):
    return np.var(a)


@numba.njit
def variance_in_double(a):
    return np.var(a.astype(np.float64))


tenths = np.full(10_000_000, 0.1, np.float32)
T = (1500 + np.linspace(0, 1, 1_000_001)).astype(np.float32)
print("sum of ten million times 0.1: numba", total(tenths), "numpy", tenths.sum())
print("variance of 1500 to 1501 K: numba", variance(T), "numpy", T.var(), "numba in float64", variance_in_double(T))
assert total(tenths) > 1.05e6 and abs(tenths.sum() / 1e6 - 1) < 1e-5
assert variance(T) > 0.2 and abs(T.var() * 12 - 1) < 1e-3 and abs(variance_in_double(T) * 12 - 1) < 1e-3
print("PASS")
PYTHON

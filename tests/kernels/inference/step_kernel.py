"""A kernel of `fused_quasi_steady` alone, for its test."""

import triton
import triton.language as tl

from combred.kernels.inference.fused_quasi_steady import qss_prediction


@triton.jit
def step_kernel(
    state, scale, change, inputs, n, MODEL: tl.constexpr, N: tl.constexpr, B: tl.constexpr
):
    """From states (N, n): change (m, n) and inputs (2 m - 1, n), float32, of the m columns that
    change."""
    rows = tl.arange(0, B)
    there = rows < n
    columns = ()
    for k in tl.static_range(N):
        columns = columns + (tl.load(state + k * n + rows, mask=there, other=1.0),)
    qss_change, features = qss_prediction(columns, scale, MODEL, N)
    for k in tl.static_range(len(qss_change)):
        tl.store(change + k * n + rows, qss_change[k], mask=there)
    for k in tl.static_range(len(features)):
        tl.store(inputs + k * n + rows, features[k], mask=there)

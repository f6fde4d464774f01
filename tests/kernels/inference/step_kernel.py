"""What `fused_quasi_steady` foretells, alone, for a test to look at."""

import triton
import triton.language as tl

from combred.kernels.inference.fused_quasi_steady import qss_prediction


@triton.jit
def step_kernel(
    state, scale, change, seen, n, MODEL: tl.constexpr, N: tl.constexpr, B: tl.constexpr
):
    """Of states (N, n): change (m, n) and seen (2 m - 1, n), float32, of m columns that change."""
    rows = tl.arange(0, B)
    there = rows < n
    columns = ()
    for k in tl.static_range(N):
        columns = columns + (tl.load(state + k * n + rows, mask=there, other=1.0),)
    told, shown = qss_prediction(columns, scale, MODEL, N)
    for k in tl.static_range(len(told)):
        tl.store(change + k * n + rows, told[k], mask=there)
    for k in tl.static_range(len(shown)):
        tl.store(seen + k * n + rows, shown[k], mask=there)

"""A kernel of `fused_quasi_steady` alone, for its test."""

import triton
import triton.language as tl

from combred.kernels.inference.fused_quasi_steady import qss_changes


@triton.jit
def step_kernel(
    T, p, Y, dt, corrector, predictor, stiffness, n, EVALUATIONS: tl.constexpr,
    MODEL: tl.constexpr, RATES: tl.constexpr, N: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """Of states T, p, dt (n,) and Y (N, n): corrector, predictor (m, n) and stiffness (m - 1, n) of
    the m variables of [T, F(Y)] that change, float32."""
    rows = tl.arange(0, B)
    there = rows < n
    columns = ()
    for k in tl.static_range(N):
        columns = columns + (tl.load(Y + k * n + rows, mask=there, other=1.0),)
    T, p = tl.load(T + rows, mask=there, other=1000.0), tl.load(p + rows, mask=there, other=1e5)
    dt = tl.load(dt + rows, mask=there, other=1e-6)
    found = qss_changes((T, p, dt), columns, EVALUATIONS, MODEL, RATES)
    for k in tl.static_range(len(found[0])):
        tl.store(corrector + k * n + rows, found[0][k], mask=there)
        tl.store(predictor + k * n + rows, found[1][k], mask=there)
    for k in tl.static_range(len(found[2])):
        tl.store(stiffness + k * n + rows, found[2][k], mask=there)

"""A kernel of the reaction rates of `fused_kinetics` alone, for their test."""

import triton
import triton.language as tl

from combred.kernels.inference.fused_kinetics import production


@triton.jit
def rates_kernel(
    T, p, Y, net, destruction, n, RATES: tl.constexpr, N: tl.constexpr, B: tl.constexpr
):
    """Of states T, p (n,) and Y (N, n); net and destruction (N, n), float32."""
    rows = tl.arange(0, B)
    there = rows < n
    columns = ()
    for k in tl.static_range(N):
        columns = columns + (tl.load(Y + k * n + rows, mask=there, other=1.0),)
    here = tl.load(T + rows, mask=there, other=1000.0), tl.load(p + rows, mask=there, other=1e5)
    made, gone = production(here[0], here[1], columns, RATES)
    for k in tl.static_range(N):
        tl.store(net + k * n + rows, made[k], mask=there)
        tl.store(destruction + k * n + rows, gone[k], mask=there)

"""The two operations that take most of the time, each with a fast implementation for GPUs.

`group` finds the groups of condensed units in the rows of a weight matrix; `combred.reduction`
calls it. `advance` prepares a surrogate of the state alone for many calls: one kernel maps a batch
of states to the states one time step later, the surrogate's own. Networks that correct reaction
rates take any dt, with step size control, and have no kernel.

The folder `grouping` holds the definition in torch (`reference`), the implementation for CPUs
(`cpu`) and that in Triton (`gpu`); `inference` holds the fused surrogate in Triton and its eager
fallback. Triton is imported only when an operation needs it: `loading` says whether it can run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from combred.kernels.grouping import cpu, reference
from combred.kernels.loading import fall_back, unavailable

if TYPE_CHECKING:
    from combred.kernels.inference.eager import EagerSurrogate
    from combred.kernels.inference.fused_surrogate import FusedSurrogate
    from combred.surrogate.surrogate import Surrogate

__all__ = ["advance", "group"]


def group(
    weights: Tensor, threshold: float, implementation: str | None = None
) -> tuple[Tensor, Tensor]:
    """Greedy grouping of rows by cosine similarity (Chen & Xu 2024, section 2.2.3).

    weights: (m, d), of any floating type. threshold: the least cosine of a row with the main row of
    its group, in [-1, 1]. Returns labels (m,) int64, the group of each row, and mains (n_groups,)
    int64, the main row of each group, on the device of `weights`. All implementations give the
    labels of `reference.group`, in the same order of groups.

    implementation, with its cost for m rows:

    - "reference": the definition in torch; m^2 float64 numbers, and O(m^2) work for every group;
    - "cpu": on one CPU, whatever the device of the rows; m^2 bytes, one float32 matrix product;
    - "triton": in parallel, m^2 / 8 bytes; for rows on a CUDA device of compute capability 8.0 or
      more (in tests also on a CPU, under Triton's interpreter, which is slow);
    - None: "triton" for rows on a CUDA device that can run it, otherwise "cpu". If a CUDA device
      cannot run Triton, the reason is logged once.

    Raises ValueError if `weights` is not a matrix, `threshold` not a cosine or `implementation`
    unknown; RuntimeError, with the cause, if "triton" is asked for and cannot run.
    """
    reference.require_rows(weights, threshold)
    if implementation not in (None, "reference", "cpu", "triton"):
        raise ValueError(
            f"group has the implementations reference, cpu and triton, not {implementation!r}"
        )
    if implementation == "reference":
        return reference.group(weights, threshold)
    if implementation == "triton" or (implementation is None and weights.is_cuda):
        reason = unavailable(weights.device)
        if reason is None:
            from combred.kernels.grouping import gpu  # imports Triton

            return gpu.group(weights, threshold)
        if implementation == "triton":
            raise RuntimeError(f"group cannot run in Triton: {reason}")
        fall_back("group", reason)
    return cpu.group(weights, threshold)


def advance(
    surrogate: Surrogate, implementation: str | None = None, precision: str = "bf16x3"
) -> FusedSurrogate | EagerSurrogate:
    """Prepare a surrogate whose network sees the state alone for many calls:
    `advance(surrogate)(state)` equals `surrogate(state, dt)` with dt the surrogate's own.

    The result also has `next_state_and_closure(state)`, which adds the closure error, the error
    estimate of `Surrogate.step` over the default tolerance; and `advance(T, p, Y, dt)`, which makes
    it an `Advance` of arrays (see `combred.chemistry.reactor`) and raises ValueError for another
    dt. It stays on the device of the surrogate.

    implementation:

    - "triton": a single kernel reads each state once and writes it once. It needs a CUDA device of
      compute capability 8.0 or more (in tests also a CPU, under Triton's interpreter, which is
      slow), and hidden layers of at most 512 units (256 on capability 8.x);
    - "eager": `surrogate` itself, in torch;
    - None: "triton" where it can run, otherwise "eager". If the surrogate cannot be fused or a CUDA
      device cannot run Triton, the reason is logged once.

    precision, of the matrix products of "triton": "bf16x3" represents each number by the sum of two
    bf16 numbers, some 16 bits, in all layers. "tf32" and "bf16" round to 10 and 7 bits in the
    hidden layers; their first and last layers are computed as by "tf32x3" and "bf16x3". "tf32x3"
    and "ieee" have the accuracy of float32 in all layers. Over nine ignitions of each of three
    networks of 39,000 to 338,000 weights, which combred 0.2 shipped, delays differed from those in
    float32 by at most 2e-5 with bf16x3, 1.4e-3 with tf32 and 3.8e-3 with bf16, and burnt
    temperatures by 0.4, 9 and 9 K.

    Raises ValueError if the implementation or the precision is unknown, if the network corrects
    reaction rates, or if "triton" is asked for and cannot take this surrogate; RuntimeError, with
    the cause, if "triton" is asked for and cannot run.
    """
    from combred.kernels.inference import eager, packing

    if implementation not in (None, "eager", "triton"):
        raise ValueError(
            f"advance has the implementations eager and triton, not {implementation!r}"
        )
    packing.require_precision(precision)
    packing.require_one_dt(surrogate)
    device = surrogate.max_mahalanobis.device
    if implementation == "eager":
        return eager.EagerSurrogate(surrogate)
    reason = unavailable(device)
    if implementation == "triton" and reason:
        raise RuntimeError(f"advance cannot run in Triton: {reason}")
    if implementation is None:
        obstacle = packing.obstacle(surrogate)
        if obstacle or (reason and device.type == "cuda"):
            fall_back("advance", obstacle or reason, "eager torch")
        if obstacle or reason:
            return eager.EagerSurrogate(surrogate)
    from combred.kernels.inference.fused_surrogate import FusedSurrogate  # imports Triton

    return FusedSurrogate(surrogate, precision)

"""The hot operations, behind a thin door. `group` finds the groups of condensed units; `advance`
makes a surrogate ready for many calls.

`reference` defines them; `cpu` is the same, fast; `grouping` the same in Triton, for CUDA devices.
Nothing of Triton is imported before an operation needs it: `loading` says whether it can run.
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

    weights (m, d), of any floating type; threshold in [-1, 1]. Returns labels (m,) int64, each
    row's group, and mains (n_groups,) int64, each group's main row, on the device of `weights`;
    groups in the order in which `reference.group` makes them, and labels equal to its own.

    implementation, with its cost for m rows:

    - "reference": the definition in torch; m^2 float64, and O(m^2) for every group;
    - "cpu": on one CPU, wherever the rows are; m^2 bytes, one float32 matrix product;
    - "triton": m^2 / 8 bytes, in parallel; rows on a CUDA device of compute capability 8.0 or
      more (or on a CPU under Triton's interpreter, for tests: slow);
    - None: "triton" for rows on a CUDA device that can run it, else "cpu"; logs why, once, if a
      CUDA device cannot.

    ValueError for what is not rows, not a cosine or not an implementation; RuntimeError if "triton"
    is asked for and cannot run, with the cause.
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
    """A surrogate made ready for many calls: `advance(surrogate)(state)` is `surrogate(state)`.

    Besides, `next_state_and_closure(state)` gives also what the closure moved, and `advance(T, p, Y)` is an
    `Advance` of arrays (see `combred.chemistry.reactor`). It stays on the surrogate's device.

    implementation:

    - "triton": one launch, which reads a state once and writes it once; CUDA devices of compute
      capability 8.0 or more (or a CPU under Triton's interpreter, for tests: slow), hidden layers
      of 512 units at most (256 on capability 8.x), 400 reactions;
    - "eager": `surrogate` itself, in torch;
    - None: "triton" where it can run, else "eager"; logs why, once, if the surrogate cannot be
      fused or a CUDA device is unfit.

    precision, of "triton": "bf16x3" takes each number as a sum of two bf16, some 16 bits, in all
    products. "tf32" and "bf16" round to 10 and 7 bits in the hidden layers, and take the first and
    the last as "tf32x3" and "bf16x3" do; "tf32x3" and "ieee" are float32 everywhere. Over nine
    ignitions of each model that combred ships, delays differed from those in float32 by at most
    2e-5 with bf16x3, 1.4e-3 with tf32 and 3.8e-3 with bf16, burnt temperatures by 0.4, 9 and 9 K;
    of models that correct reaction rates, which are float32 whatever the precision, by 2e-6, 1e-4
    and 1.3e-4 (5e-3 with 4,000 weights), burnt temperatures by 0.01, 0.03 and 0.1 (0.7) K.

    ValueError for what is not an implementation or a precision, or what "triton" cannot take;
    RuntimeError if "triton" is asked for and cannot run, with the cause.
    """
    from combred.kernels.inference import eager, packing

    if implementation not in (None, "eager", "triton"):
        raise ValueError(
            f"advance has the implementations eager and triton, not {implementation!r}"
        )
    packing.require_precision(precision)
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

"""Grouping of condensed units, with a fast implementation for GPUs.

`group` finds the groups of condensed units in the rows of a weight matrix; `combred.reduction`
calls it. (A surrogate on a GPU is `combred.native.compile_cuda`.)

The folder `grouping` holds the definition in torch (`reference`), the implementation for CPUs
(`cpu`) and that in Triton (`gpu`). Triton is imported only when it is needed: `loading` says
whether it can run.
"""

from torch import Tensor

from combred.kernels.grouping import cpu, reference
from combred.kernels.loading import fall_back, unavailable

__all__ = ["group"]


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
    if weights.ndim != 2:
        raise ValueError(f"group wants rows (m, d), not shape {tuple(weights.shape)}")
    if not -1.0 <= threshold <= 1.0:
        raise ValueError(f"a cosine threshold lies in [-1, 1]; {threshold} was given")
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

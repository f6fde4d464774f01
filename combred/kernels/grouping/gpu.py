"""Grouping on a GPU: an implementation of `reference.group` in Triton with equal labels.

`combred.kernels.group` imports it when it is needed. `adjacency` writes which rows are similar, one
bit per pair: 2.1 GB for 131,072 rows; `rounds` forms the groups from these bits. No matrix of
floats exists.
"""

import torch
from torch import Tensor

from combred.kernels.grouping import rounds
from combred.kernels.grouping.adjacency import Rows, padded, write_adjacency
from combred.kernels.grouping.reference import EXACT, unit_rows
from combred.kernels.loading import interpreted


def group(weights: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Greedy grouping of rows by cosine similarity: see `reference.group`."""
    with torch.no_grad(), torch.cuda.device_of(weights):  # kernels are launched on this device
        unit, dead = unit_rows(weights)
        m = len(unit)
        if m == 0:
            none = torch.empty(0, dtype=torch.int64, device=unit.device)
            return none, none.clone()
        exact = padded(unit, dead)
        n, limit = len(exact), exact.new_full((1,), threshold - EXACT)
        rows = Rows(exact, exact.float(), limit, first_bits(m, n, exact.device))
        main, degree = in_rounds(rows, m)
        return in_order(main[:m], degree[:m])


def first_bits(m: int, n: int, device: torch.device) -> Tensor:
    """(n / 32,) int32 words of which the first m bits are set."""
    in_word = (m - 32 * torch.arange(n // 32, device=device)).clamp(0, 32)
    return ((1 << in_word) - 1).to(torch.int32)  # keeps the low 32 bits


def in_rounds(rows: Rows, m: int) -> tuple[Tensor, Tensor]:
    """The main row of each row (n,), and the degree (n,) of main rows when their group formed.

    m: the number of rows before padding.
    """
    n, device = len(rows.exact), rows.exact.device
    bits = torch.empty(n, n // 32, dtype=torch.int32, device=device)
    degree, best, votes, main = torch.zeros(4, n, dtype=torch.int32, device=device)
    left = torch.full((1,), m, dtype=torch.int32, device=device)
    write_adjacency(rows, bits, degree)
    rounds.run[(programs(n, device),)](
        bits, rows.opened, degree, best, votes, main, left, torch.zeros_like(left), n, n // 32,
        ROWS=rounds.ROWS, WORDS=rounds.WORDS, COUNTED=rounds.COUNTED, CLAIMED=rounds.CLAIMED,
        num_warps=rounds.WARPS, maxnreg=rounds.REGISTERS, launch_cooperative_grid=True,
        enable_fp_fusion=True,
    )  # fmt: skip
    assert int(left) == 0, f"{int(left)} rows are in no group: similarity is not symmetric"
    return main, degree


def programs(n: int, device: torch.device) -> int:
    """Number of programs that run the rounds: all that can be resident at once and have rows."""
    if interpreted() or device.type != "cuda":
        return 1  # the interpreter runs one after another: none may wait for a later one
    resident = torch.cuda.get_device_properties(device).multi_processor_count * rounds.PROGRAMS
    return min(resident, n // rounds.ROWS)


def in_order(main: Tensor, degree: Tensor) -> tuple[Tensor, Tensor]:
    """Labels (m,) and mains (n_groups,) of the groups in the order of the sequential definition.

    Groups are sorted by the degree of their main row when they formed, the largest first, ties by
    the lowest index: see `rounds`.
    """
    index = torch.arange(len(main), device=main.device)
    mains = (main == index).nonzero()[:, 0]
    mains = mains[torch.sort(degree[mains], descending=True, stable=True).indices]
    place = torch.empty_like(index)
    place[mains] = index[: len(mains)]
    return place[main.long()], mains

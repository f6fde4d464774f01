"""Which rows are similar, on a GPU: one bit per pair of rows, and the degree of every row.

Takes rows of norm one from `gpu` and gives it the bits. Each program computes a tile of TILE x TILE
cosines, keeps it in registers and writes only its bits, TILE / 32 words a row.

Cosines have the accuracy of float32: three passes of tf32 on the tensor cores ("tf32x3"). One pass
would leave errors of 1e-3 and could not distinguish cosines of 0.999 and 1. A tile with a pair
whose cosine is within the rounding error of the threshold, which is rare, is computed again in
float64.
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

TILE = 64  # rows and columns of a tile; 128 leave no registers for the three passes
DEPTH = 16  # components multiplied at once; rows are padded with zeros to a multiple
WARPS = 4
STAGES = 3
SWATH = 16  # tile rows that share their columns in the second-level cache
WHOLE = 128  # rows are padded to a multiple: 16 bytes of bits


def padded(unit: Tensor, dead: Tensor) -> Tensor:
    """Unit rows (m, d) padded to whole tiles (n, depth); `dead` (m,) and added rows are NaN.

    Comparisons with NaN are false, also at thresholds of 0 and -1: such a row is similar to no
    other.
    """
    m, d = unit.shape
    more = -m % WHOLE
    depth = max(DEPTH, -(-d // DEPTH) * DEPTH)
    whole = torch.nn.functional.pad(unit, (0, depth - d, 0, more))
    absent = torch.nn.functional.pad(dead, (0, more), value=True)
    return whole.masked_fill_(absent[:, None], torch.nan)


def rounding_error(d: int) -> float:
    """Upper bound on the error of a cosine of two unit rows of d components in float32.

    Rounding of the entries: 2 ulp of 2^-24. tf32x3 drops the product of the low parts and rounds
    these: 2^-21 together. Tensor cores add 4 products at a time and truncate, with an error of 5
    ulp of 2^-23 at most: 20 for the 4 steps of one DEPTH, weighted by its part of
    sum_k |a_k b_k| <= 1. The d / DEPTH partial sums are added in float32. Plain float32 sums, as
    under the interpreter, are off by d ulp of 2^-24 at most.
    """
    return (d + 64) * 2.0**-23


@dataclass(frozen=True)
class Rows:
    """Unit rows, as they are compared.

    exact, single: (n, depth), `padded` rows in float64, and the same in float32. limit: (1,)
    float64, the least cosine of similar rows. opened: (n / 32,) int32, a bit for each row that was
    not added.
    """

    exact: Tensor
    single: Tensor
    limit: Tensor
    opened: Tensor


def write_adjacency(rows: Rows, bits: Tensor, degree: Tensor) -> None:
    """Write to `bits` which rows are similar, and add to `degree` the degree of each row.

    bits: (n, n / 32) int32; word w of a row holds its columns 32 w to 32 w + 31, the lowest in bit
    0; those of added rows may be left unwritten. degree: (n,) int32. Half the tiles are computed,
    and each is written twice.
    """
    n, depth = rows.single.shape
    write_tiles[(n // TILE, n // TILE)](
        rows.single, rows.exact, rows.limit, rows.opened, bits, degree, n // 32, depth,
        rounding_error(depth), TILE=TILE, DEPTH=DEPTH, SWATH=SWATH,
        num_warps=WARPS, num_stages=STAGES, enable_fp_fusion=True,
    )  # fmt: skip


@triton.jit
def bit(words, index):
    """Bit `index` of packed words, 0 or 1."""
    return (tl.load(words + index // 32) >> (index % 32)) & 1


@triton.jit
def write_tiles(
    single, exact, limit, opened, bits, degree, n_words, depth, rounding,
    TILE: tl.constexpr, DEPTH: tl.constexpr, SWATH: tl.constexpr,
):  # fmt: skip
    """One tile of `write_adjacency`."""
    across, down = tl.num_programs(0), tl.num_programs(1)
    i, j = tl.swizzle2d(tl.program_id(1), tl.program_id(0), down, across, SWATH)
    rows = i * TILE + tl.arange(0, TILE)
    columns = j * TILE + tl.arange(0, TILE)
    open_row, open_column = bit(opened, rows), bit(opened, columns)
    # The lower triangle is the mirror image of the upper one. Tiles of added rows are skipped.
    if (tl.max(open_row) > 0) & (tl.max(open_column) > 0) & (j >= i):
        near = similar(single, exact, limit, rows, columns, depth, rounding, TILE, DEPTH)
        lane = tl.arange(0, 32)
        word = tl.arange(0, TILE // 32)

        packed = tl.sum(near.reshape(TILE, TILE // 32, 32) << lane[None, None, :], axis=2)
        line = rows.to(tl.int64) * n_words + j * (TILE // 32)
        tl.store(bits + line[:, None] + word[None, :], packed)
        counted = tl.sum(near & open_column[None, :], axis=1)
        tl.atomic_add(degree + rows, counted, mask=open_row > 0, sem="relaxed")
        if i != j:
            upright = tl.sum(near.reshape(TILE // 32, 32, TILE) << lane[None, :, None], axis=1)
            mirror = columns.to(tl.int64) * n_words + i * (TILE // 32)
            tl.store(bits + mirror[None, :] + word[:, None], upright)
            below = tl.sum(near & open_row[:, None], axis=0)
            tl.atomic_add(degree + columns, below, mask=open_column > 0, sem="relaxed")


@triton.jit
def similar(
    single, exact, limit, rows, columns, depth, rounding, TILE: tl.constexpr, DEPTH: tl.constexpr
):
    """(TILE, TILE) int32: 1 where the cosine is at least the limit, and for a row with itself."""
    left = rows.to(tl.int64)[:, None] * depth + tl.arange(0, DEPTH)[None, :]
    right = columns.to(tl.int64)[None, :] * depth + tl.arange(0, DEPTH)[:, None]
    cosine = tl.full((TILE, TILE), 0.0, tl.float32)
    for k in range(0, depth, DEPTH):
        a, b = tl.load(single + left + k), tl.load(single + right + k)
        cosine = tl.dot(a, b, cosine, input_precision="tf32x3")
    least = tl.load(limit)
    distance = cosine - least.to(tl.float32)
    same = rows[:, None] == columns[None, :]
    near = ((distance >= 0) | same).to(tl.int32)
    if tl.max(((tl.abs(distance) < rounding) & ~same).to(tl.int32)) > 0:
        exactly = tl.full((TILE, TILE), 0.0, tl.float64)
        for k in range(0, depth, DEPTH):
            a, b = tl.load(exact + left + k), tl.load(exact + right + k)
            exactly = tl.dot(a, b, exactly, out_dtype=tl.float64)
        near = ((exactly >= least) | same).to(tl.int32)
    return near

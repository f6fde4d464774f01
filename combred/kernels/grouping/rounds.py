"""Greedy grouping in rounds, on a GPU, over the bits of `adjacency`.

A row is open while it is in no group. Its neighbours are the open rows that are similar to it,
itself included; its degree is their number; its key is (degree, lowest index). In each round every
open row points to its neighbour of largest key. A row to which all its neighbours point has the
largest key within two hops: it forms its group with them.

This gives the groups of the sequential definition. Let row i have the largest key within two hops.
A row that the sequential algorithm picks before i has a larger key, so it is not within two hops of
i and removes no neighbour of i. Row i therefore keeps its degree and its neighbours until it is
picked. Removing the group of i early lowers only the degrees of rows within two hops of i, and none
of these is picked before i. So every group, and the degree of its main row when it forms, is that
of the sequential definition. In the sequential algorithm keys only decrease, and the largest is
picked each time, so its groups come in the order of their main rows' keys: the groups are sorted by
these keys in the end.

`run` does all rounds in one launch. Its programs wait for each other between passes, so all must be
resident at once, which a cooperative launch guarantees.
"""

import triton
import triton.language as tl

from combred.kernels.grouping.adjacency import bit

ROWS = 4  # rows that a program handles together; they share the loads of degrees
WORDS = 32  # words of bits of a row at once when keys are compared
COUNTED = 256  # words of bits of a row at once when bits are counted
CLAIMED = 128  # rows that a program claims at once: whole words of bits
WARPS = 4
REGISTERS = 128  # of a thread of `run`, at most; none is spilled
PROGRAMS = 4  # of `run` on a multiprocessor, whose 65,536 registers are enough for 4 * 4 warps


@triton.jit
def run(
    bits, opened, degree, best, votes, main, left, arrived, n, n_words,
    ROWS: tl.constexpr, WORDS: tl.constexpr, COUNTED: tl.constexpr, CLAIMED: tl.constexpr,
):  # fmt: skip
    """All rounds; every argument is int32.

    Takes bits (n, n_words), opened (n_words,), degree (n,), the number of open rows in `left` (1,),
    and zeros in votes (n,) and arrived (1,). Writes the main row of each row to main (n,); `degree`
    ends as the degree of each main row when it formed its group.
    """
    me, programs = tl.program_id(0), tl.num_programs(0)
    target = programs
    remaining = tl.load(left)
    before = remaining + 1
    # Every round forms at least the group of the largest key. This is checked all the same, because
    # a GPU would wait for ever.
    while (remaining > 0) & (remaining < before):
        before = remaining
        for block in range(me, n // ROWS, programs):
            point(bits, opened, degree, best, votes, block, n_words, ROWS, WORDS)
        wait(arrived, target)
        for block in range(me, n // CLAIMED, programs):
            claim(opened, degree, best, votes, main, left, block, CLAIMED)
        wait(arrived, target + programs)
        remaining = tl.load(left)
        for block in range(me, n // ROWS, programs):
            count(bits, opened, degree, votes, block, n_words, ROWS, COUNTED)
        wait(arrived, target + 2 * programs)
        target += 3 * programs


@triton.jit
def point(
    bits, opened, degree, best, votes, block, n_words, ROWS: tl.constexpr, WORDS: tl.constexpr
):
    """Every open row of a block votes for its neighbour of the largest key."""
    rows = block * ROWS + tl.arange(0, ROWS)
    open_row = bit(opened, rows) > 0
    if tl.max(open_row.to(tl.int32)) > 0:
        start = rows.to(tl.int64) * n_words
        lane = tl.arange(0, 32)
        largest = tl.full((ROWS,), -1, tl.int64)
        for begin in range(0, n_words, WORDS):
            word = begin + tl.arange(0, WORDS)
            inside = word < n_words
            both = open_row[:, None] & inside[None, :]
            near = tl.load(bits + start[:, None] + word[None, :], mask=both, other=0)
            near &= tl.load(opened + word, mask=inside, other=0)[None, :]
            if tl.max((near != 0).to(tl.int32)) > 0:
                column = word[:, None] * 32 + lane[None, :]
                size = tl.load(degree + column, mask=inside[:, None], other=0).to(tl.int64)
                key = (size << 32) - column  # of equal degrees the lowest index is the largest key
                hit = ((near[:, :, None] >> lane[None, None, :]) & 1) > 0
                reached = tl.max(tl.where(hit, key[None, :, :], -1), axis=2)
                largest = tl.maximum(largest, tl.max(reached, axis=1))
        chosen = (-largest).to(tl.int32)  # the low half
        tl.store(best + rows, chosen, mask=open_row)
        tl.atomic_add(votes + chosen, 1, mask=open_row, sem="relaxed")


@triton.jit
def claim(opened, degree, best, votes, main, left, block, CLAIMED: tl.constexpr):
    """Rows of a block join the group of the row they chose, if all its neighbours chose it too."""
    rows = block * CLAIMED + tl.arange(0, CLAIMED)
    open_row = bit(opened, rows) > 0
    if tl.max(open_row.to(tl.int32)) > 0:
        chosen = tl.load(best + rows, mask=open_row, other=0)
        agreed = tl.load(votes + chosen) == tl.load(degree + chosen)
        joins = open_row & agreed
        tl.store(main + rows, chosen, mask=joins)
        stays = (open_row & ~agreed).to(tl.int32).reshape(CLAIMED // 32, 32)
        packed = tl.sum(stays << tl.arange(0, 32)[None, :], axis=1)
        tl.debug_barrier()  # all threads have read the words that are replaced now
        tl.store(opened + block * (CLAIMED // 32) + tl.arange(0, CLAIMED // 32), packed)
        tl.atomic_add(left, -tl.sum(joins.to(tl.int32)), sem="relaxed")


@triton.jit
def count(bits, opened, degree, votes, block, n_words, ROWS: tl.constexpr, COUNTED: tl.constexpr):
    """Count the neighbours of every open row of a block. Grouped rows keep their degree."""
    rows = block * ROWS + tl.arange(0, ROWS)
    open_row = bit(opened, rows) > 0
    if tl.max(open_row.to(tl.int32)) > 0:
        start = rows.to(tl.int64) * n_words
        total = tl.full((ROWS,), 0, tl.int32)
        for begin in range(0, n_words, COUNTED):
            word = begin + tl.arange(0, COUNTED)
            inside = word < n_words
            both = open_row[:, None] & inside[None, :]
            near = tl.load(bits + start[:, None] + word[None, :], mask=both, other=0)
            near &= tl.load(opened + word, mask=inside, other=0)[None, :]
            total += tl.sum(ones(near), axis=1)
        tl.store(degree + rows, total, mask=open_row)
        tl.store(votes + rows, 0, mask=open_row)


@triton.jit
def ones(word):
    """Number of set bits of int32 words: sums over pairs, nibbles and bytes in turn.

    Masks clear the bits that an arithmetic shift fills with the sign.
    """
    word -= (word >> 1) & 0x55555555
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    return (((word + (word >> 4)) & 0x0F0F0F0F) * 0x01010101) >> 24


@triton.jit
def wait(arrived, target):
    """Wait until all programs have arrived, and what each wrote before is visible to all."""
    tl.debug_barrier()
    tl.atomic_add(arrived, 1, sem="release")
    while tl.atomic_add(arrived, 0, sem="acquire") < target:
        pass
    tl.debug_barrier()

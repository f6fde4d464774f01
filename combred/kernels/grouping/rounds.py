"""Greedy grouping in rounds, on a GPU, over the bits of `adjacency`.

In a round every open (not yet grouped) row points to the open row it is like, itself included,
that has the largest key: (degree, lowest index), its degree being how many open rows it is like. A
row to which all of these point is the largest within two hops: it forms its group with them.

Why this is what the sequential definition does. Let i be the largest within two hops. What is
picked before i has a larger key, so it is not within two hops of i, so it takes away none of the
rows that i is like: i keeps its degree until it is picked, and its members. And taking i's group
out early lowers only degrees of rows within two hops of i, none of which is picked before i. So
every group, and its main row's degree when it forms, is that of the sequential definition. There
keys only fall as rows are grouped and the largest is picked, so groups come in the order of their
main rows' keys, and that is how they are sorted in the end.

`run` does all rounds in one launch, its programs waiting for each other between passes: all must be
resident, which a cooperative launch guarantees. Where bits are not kept, `point_once` and
`claim_once` are one pass each.
"""

import triton
import triton.language as tl

from combred.kernels.grouping.adjacency import bit

ROWS = 4  # rows that a program looks at together; they share the loads of degrees
WORDS = 32  # words of bits of a row at once when keys are compared
COUNTED = 256  # when bits are counted
CLAIMED = 128  # rows a program claims at once: whole words
WARPS = 4
REGISTERS = 128  # at most, of a thread of `run`; none is spilled
PROGRAMS = 4  # of `run` per multiprocessor: its 65,536 registers are enough for 4 * 4 warps


@triton.jit
def run(
    bits, opened, degree, best, votes, main, left, arrived, n, n_words,
    ROWS: tl.constexpr, WORDS: tl.constexpr, COUNTED: tl.constexpr, CLAIMED: tl.constexpr,
):  # fmt: skip
    """All rounds. bits (n, n_words), opened (n_words,), degree (n,), the open rows' number at left;
    votes (n,) and arrived zero. Leaves main (n,): each row's main row; and its degree when it
    formed its group in `degree`. All int32.
    """
    me, programs = tl.program_id(0), tl.num_programs(0)
    target = programs
    remaining = tl.load(left)
    before = remaining + 1
    # Every round forms a group, if only of the largest key. That it did is checked all the same:
    # a device would wait for ever.
    while (remaining > 0) & (remaining < before):
        before = remaining
        for block in range(me, n // ROWS, programs):
            point(bits, opened, degree, best, votes, 0, block, n_words, ROWS, WORDS)
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
def point_once(
    bits, opened, degree, best, votes, first, n_words, ROWS: tl.constexpr, WORDS: tl.constexpr
):
    """`point` for the rows from `first` on, of which alone `bits` holds the bits."""
    point(bits, opened, degree, best, votes, first, tl.program_id(0), n_words, ROWS, WORDS)


@triton.jit
def claim_once(opened, degree, best, votes, main, left, CLAIMED: tl.constexpr):
    """`claim` for all rows."""
    claim(opened, degree, best, votes, main, left, tl.program_id(0), CLAIMED)


@triton.jit
def point(
    bits, opened, degree, best, votes, first, block, n_words,
    ROWS: tl.constexpr, WORDS: tl.constexpr,
):  # fmt: skip
    """Every open row of a block votes for the open row of the largest key that it is like."""
    line = block * ROWS + tl.arange(0, ROWS)
    rows = first + line
    open_row = bit(opened, rows) > 0
    if tl.max(open_row.to(tl.int32)) > 0:
        start = line.to(tl.int64) * n_words
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
                key = (size << 32) - column  # of equal degrees the lowest index is the largest
                hit = ((near[:, :, None] >> lane[None, None, :]) & 1) > 0
                reached = tl.max(tl.where(hit, key[None, :, :], -1), axis=2)
                largest = tl.maximum(largest, tl.max(reached, axis=1))
        chosen = (-largest).to(tl.int32)  # the low half
        tl.store(best + rows, chosen, mask=open_row)
        tl.atomic_add(votes + chosen, 1, mask=open_row, sem="relaxed")


@triton.jit
def claim(opened, degree, best, votes, main, left, block, CLAIMED: tl.constexpr):
    """Rows of a block whose choice was chosen by all that it is like join its group."""
    rows = block * CLAIMED + tl.arange(0, CLAIMED)
    open_row = bit(opened, rows) > 0
    if tl.max(open_row.to(tl.int32)) > 0:
        chosen = tl.load(best + rows, mask=open_row, other=0)
        agreed = tl.load(votes + chosen) == tl.load(degree + chosen)
        joins = open_row & agreed
        tl.store(main + rows, chosen, mask=joins)
        stays = (open_row & ~agreed).to(tl.int32).reshape(CLAIMED // 32, 32)
        packed = tl.sum(stays << tl.arange(0, 32)[None, :], axis=1)
        tl.debug_barrier()  # all have read the words that are now replaced
        tl.store(opened + block * (CLAIMED // 32) + tl.arange(0, CLAIMED // 32), packed)
        tl.atomic_add(left, -tl.sum(joins.to(tl.int32)), sem="relaxed")


@triton.jit
def count(bits, opened, degree, votes, block, n_words, ROWS: tl.constexpr, COUNTED: tl.constexpr):
    """How many open rows every open row of a block is like. Of grouped rows the degree remains."""
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
    """The number of set bits of int32 words: of pairs, of nibbles, of bytes, and these summed.

    Masks clear what an arithmetic shift drags in.
    """
    word -= (word >> 1) & 0x55555555
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    return (((word + (word >> 4)) & 0x0F0F0F0F) * 0x01010101) >> 24


@triton.jit
def wait(arrived, target):
    """Until all programs have come here, and what they wrote before is seen by all."""
    tl.debug_barrier()
    tl.atomic_add(arrived, 1, sem="release")
    while tl.atomic_add(arrived, 0, sem="acquire") < target:
        pass
    tl.debug_barrier()

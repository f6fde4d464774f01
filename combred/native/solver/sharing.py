"""States of one call shared by threads, each of which advances blocks of them.

Takes a `Stepper` that threads may share, and states; gives the `Solution` that it gives alone, bit
for bit: the result of a state does not depend on the other states of a call.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from combred.chemistry.states import Real, Rows, steps_of
from combred.chemistry.stepper import Solution, Stepper
from combred.native.library import block_of

PARTS = 4  # blocks of each thread, so that those with easy states take more of them


def blocks_of(n: int, parts: int) -> list[slice]:
    """About `parts` blocks of n rows, one at least, as `block_of` cuts them."""
    blocks, first = [slice(0, 0)] * (n == 0), 0
    while first < n:
        blocks.append(slice(first, first + block_of(n - first, -(-n // parts))))
        first = blocks[-1].stop
    return blocks


def attempt_on(threads: int, solver: Stepper, states: Rows, dt: Real, *how) -> Solution:
    """As `solver.attempt`, of states [T, p, Y] (n, 2 + n_species); how: its other arguments. Raises
    ValueError for fewer threads than 1."""
    if not isinstance(threads, int | np.integer) or threads < 1:
        raise ValueError(f"threads={threads!r}: give a whole number of at least 1")
    n = len(states)
    steps = steps_of(dt, n)

    def advance(rows: slice) -> Solution:
        T, p, Y = states[rows, 0], states[rows, 1], states[rows, 2:]
        return solver.attempt(T, p, Y, steps[rows], *how)

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(advance, rows) for rows in blocks_of(n, PARTS * threads)]
        try:
            found = [future.result() for future in futures]
        except BaseException:  # KeyboardInterrupt, too: blocks that have not begun do not
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    columns = ("T", "p", "Y", "error", "steps")
    return Solution(*(np.concatenate([getattr(one, c) for one in found]) for c in columns))

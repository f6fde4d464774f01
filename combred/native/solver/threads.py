"""States that several threads of Python share: a call of a library holds no lock of Python."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from combred.chemistry.states import Real, Rows, Tolerance, steps_of
from combred.chemistry.stepper import Solution
from combred.native.solver.library import Integrator

PARTS = 4  # blocks of each thread, so that those with easy states take more of them


def shared(
    solver: Integrator, threads: int, states: Rows, dt: Real, tolerance: Tolerance
) -> Solution:
    """`solver.attempt` of states [T, p, Y] (n, 2 + n_species), each thread some blocks of them.
    Raises ValueError for less than 1 thread, and for a solver with sources."""
    if threads < 1:
        raise ValueError(f"threads={threads}: give at least 1")
    if solver.sources:
        raise ValueError("threads do not share sources: give threads=1")
    steps = steps_of(dt, len(states))
    # At least one, for no states.
    blocks = np.array_split(np.arange(len(states)), max(1, min(len(states), PARTS * threads)))
    attempt = partial(solver.attempt, tolerance=tolerance)
    with ThreadPoolExecutor(threads) as pool:
        futures = [
            pool.submit(attempt, states[i, 0], states[i, 1], states[i, 2:], steps[i])
            for i in blocks
        ]
        try:
            found = [future.result() for future in futures]
        except BaseException:  # KeyboardInterrupt, too: blocks that have not begun do not
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    columns = ("T", "p", "Y", "error", "steps")
    return Solution(*(np.concatenate([getattr(one, c) for one in found]) for c in columns))

"""Time per state of any `Advance`s on the same states and cores: ratios, from one run."""

import time
from collections.abc import Callable

import numpy as np

from combred.reactor import Advance


def time_per_state(
    advances: dict[str, tuple[Advance, int]],
    states: np.ndarray,
    repeats: int = 7,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> dict[str, dict[str, float]]:
    """Median and spread of the time per state [s] of each `Advance`.

    advances: name -> (advance, how many of the `states` (n, 2 + n_species) it is given each time).
    The repeats are interleaved, so that a slow moment of the machine falls on all of them.
    """
    T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    seconds: dict[str, list[float]] = {name: [] for name in advances}
    for repeat in range(repeats + 1):
        for name, (advance, n) in advances.items():
            started = time.perf_counter()
            advance(T[:n], p[:n], Y[:n])
            if repeat > 0:  # the first round warms up
                seconds[name].append((time.perf_counter() - started) / n)
        on_progress(repeat + 1, repeats + 1)
    return {
        name: {
            "median": float(np.median(values)),
            "fastest": min(values),
            "slowest": max(values),
            "states": advances[name][1],
            "repeats": repeats,
        }
        for name, values in seconds.items()
    }

"""Mixtures: two or three streams mixed in mass and enthalpy, as they are and after a reaction.

Takes streams; gives states for `flow.states`.
"""

import numpy as np

from combred.experiments.flow.streams import DIRICHLET, Streams, apart, normalized, within_range

ROWS = 3.6  # states of a mixture, about
PERTURBED, WIDTH = 0.6, (1e-2, 0.6)  # share of mixtures perturbed; range of the width, log-uniform
# Share of mixtures without their minor species, and range of the mass fraction below which a
# species is one, log-uniform: a flow that starts from major species has no radicals.
WITHOUT_MINOR, MINOR = 0.04, (1e-4, 3e-2)
RELAXATION = 1e-8, 1e-3  # s, range of the time of reaction, log-uniform
TIMES = 5  # of states of a mixture, the first t = 0; some are left out (`apart`)


def mixtures(streams: Streams, count: int) -> tuple[np.ndarray, np.ndarray]:
    """States [T, p, Y] (n, 2 + n_species), about `count` of them, and their time steps dt (n,) [s]:
    mixtures, most of them perturbed (`perturbed`), at t = 0 and later."""
    n = int(np.ceil(count / ROWS))
    initial = perturbed(streams, mixed(streams, streams.log_uniform(streams.settings.p, n)))
    initial = initial[within_range(initial)]
    shape = len(initial), TIMES
    times, dt = (
        streams.log_uniform(RELAXATION, shape),
        streams.log_uniform(streams.settings.dt, shape),
    )
    times.sort(axis=1)
    times[:, 0] = 0.0
    row, j = np.nonzero(apart(times, dt))
    states, late = initial[row], j > 0
    states[late] = streams.react(states[late], times[row, j][late])
    return states, dt[row, j]


def mixed(streams: Streams, p: np.ndarray) -> np.ndarray:
    """States [T, p, Y] (n, 2 + n_species) of two or three random streams each, at p (n,) [Pa]."""
    weights = streams.rng.gamma(DIRICHLET, size=(len(p), 3))
    weights[streams.rng.random(len(p)) < 0.5, 2] = 0.0
    weights /= weights.sum(1, keepdims=True)
    row, stream = np.nonzero(weights)
    share, (h, Y) = weights[row, stream], streams.draw(p[row])
    mixed_Y = np.zeros((len(p), Y.shape[1]))
    np.add.at(mixed_Y, row, share[:, None] * Y)
    return streams.states(np.bincount(row, share * h, len(p)), p, mixed_Y)


def perturbed(streams: Streams, states: np.ndarray) -> np.ndarray:
    """States [T, p, Y] (n, 2 + n_species), most of them perturbed: Y^(1 + s u) and T (1 + 0.3 s u),
    with the width s and u uniform in [-1, 1]. Some others lose their minor species."""
    rng, (n, width) = streams.rng, states.shape
    T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    kind, s = rng.random(n), streams.log_uniform(WIDTH, n)
    s[kind > PERTURBED] = 0.0
    exponent = 1 + s[:, None] * rng.uniform(-1, 1, (n, width - 2))
    floor = streams.log_uniform(MINOR, n)
    floor[(kind < PERTURBED) | (kind > PERTURBED + WITHOUT_MINOR)] = 0.0
    raw = np.where(Y > floor[:, None], Y, 1.0) ** exponent * (Y > floor[:, None])
    return np.column_stack([T * (1 + 0.3 * s * rng.uniform(-1, 1, n)), p, normalized(raw)])

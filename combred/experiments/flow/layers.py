"""Mixing layers: lines of particles between two streams, which mix with their neighbours and react.

Takes streams; gives states for `flow.states`. Mixing and reaction balance in them,
as transport and reaction do in a flame.
"""

import numpy as np

from combred.experiments.flow.streams import DIRICHLET, Streams, within_range

PARTICLES, STEPS = 8, 12  # of a mixing layer
KEPT = 0.9  # share of its states that become rows: those of one line resemble each other
ROWS = 76.0  # states of a layer, about
ORDERED = 0.6  # probability that the particles go from one stream to the other in order
BURNT = 0.8  # probability that a particle begins at equilibrium, where all can
MIXING = 1e-6, 1e-3  # s, range of its mixing time, log-uniform
RESIDENCE = 3.0, 300.0  # its residence time over its mixing time, log-uniform
STEP = 0.05, 0.5  # its step over its mixing time, log-uniform


def layers(streams: Streams, count: int) -> tuple[np.ndarray, np.ndarray]:
    """States [T, p, Y] (n, 2 + n_species) of mixing layers, about `count` of them, and their time
    steps dt (n,) [s].

    In every step, each of the particles, of equal mass, approaches the mean of its neighbours, and
    reacts. Some are replaced by a stream, at the rate of the residence time. The states are those
    before the reaction. A layer ends where a temperature leaves the range.
    """
    rng, n = streams.rng, int(np.ceil(count / ROWS))
    shape, p = (n, PARTICLES), streams.log_uniform(streams.settings.p, n)
    mixing = streams.log_uniform(MIXING, n)
    residence = mixing * streams.log_uniform(RESIDENCE, n)
    inflow_h, inflow_Y = streams.draw(np.repeat(p, 2))
    inflow_h, inflow_Y = inflow_h.reshape(n, 2), inflow_Y.reshape(n, 2, -1)
    h, Y = _lines(streams, inflow_h, inflow_Y, p)
    p, layer, alive = np.repeat(p, PARTICLES), np.arange(n)[:, None], np.ones(n, bool)
    kept_states, kept_dt = [], []
    for k in range(STEPS):
        step = mixing * streams.log_uniform(STEP, n)
        share = 1.0 - np.exp(-step / mixing)[:, None]
        replaced, stream = (
            rng.random(shape) < (step / residence)[:, None],
            rng.integers(2, size=shape),
        )
        h = (1 - share) * np.where(replaced, inflow_h[layer, stream], h) + share * _neighbours(h)
        new_Y = np.where(replaced[..., None], inflow_Y[layer, stream], Y)
        Y = (1 - share[..., None]) * new_Y + share[..., None] * _neighbours(Y)
        states = streams.states(h.ravel(), p, Y.reshape(n * PARTICLES, -1))
        alive &= within_range(states).reshape(shape).all(1)
        states[~np.repeat(alive, PARTICLES), 0] = np.nan
        if k > 0:
            keep = (rng.random(shape) < KEPT) & alive[:, None]
            kept_states.append(states[keep.ravel()])
            kept_dt.append(streams.log_uniform(streams.settings.dt, keep.sum()))
        Y = streams.react(states, np.repeat(step, PARTICLES))[:, 2:].reshape(Y.shape)
    return np.concatenate(kept_states), np.concatenate(kept_dt)


def _neighbours(values: np.ndarray) -> np.ndarray:
    """The mean of both neighbours of each particle, values (n, particles, ...); at an end, the
    particle itself is one of them."""
    first, last = values[:, :1], values[:, -1:]
    left, right = values[:, :-1], values[:, 1:]
    return (np.concatenate([first, left], axis=1) + np.concatenate([right, last], axis=1)) / 2


def _lines(
    streams: Streams, inflow_h: np.ndarray, inflow_Y: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Specific enthalpy (n, particles) [J/kg] and mass fractions (n, particles, n_species) at the
    beginning: mixtures of both streams (n, 2) and (n, 2, n_species) at p (n,) [Pa], from one to the
    other or in random order, some of them at equilibrium: all on one side of a random place, or
    each with the probability `BURNT`."""
    rng, n = streams.rng, len(p)
    share = rng.beta(DIRICHLET, DIRICHLET, (n, PARTICLES))
    share = np.where(rng.random(n)[:, None] < ORDERED, np.sort(share, axis=1), share)
    front = np.arange(PARTICLES) >= rng.integers(PARTICLES, size=n)[:, None]
    is_burnt = rng.random((n, PARTICLES)) < BURNT
    burnt = np.where(rng.random(n)[:, None] < 0.5, front, is_burnt).ravel()
    weights = np.stack([share, 1 - share], axis=2)
    h = np.einsum("nps,ns->np", weights, inflow_h)
    Y = np.einsum("nps,nsk->npk", weights, inflow_Y)
    states = streams.states(h.ravel(), np.repeat(p, PARTICLES), Y.reshape(n * PARTICLES, -1))
    burning = states[burnt]
    states[burnt, 2:] = streams.equilibrium(burning[:, 0], burning[:, 1], burning[:, 2:])[1]
    return h, states[:, 2:].reshape(Y.shape)

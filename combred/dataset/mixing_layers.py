"""Mixing layers: lines of particles between two streams, which mix with their neighbours and react.

Takes streams; gives labelled states for `combred.dataset.flow_states`. Mixing and reaction balance
in them, as transport and reaction do in a flame.
"""

from collections.abc import Iterator

import numpy as np

from combred.config import SamplingSettings
from combred.dataset.flow_streams import DIRICHLET, T_RANGE, FlowStreams, Labelled

PARTICLES, LAYER_STEPS = 8, 12  # of a mixing layer
KEPT = 0.9  # share of its states that become rows: those of one line resemble each other
BURNT = 0.8  # probability that a particle begins at equilibrium
MIXING = 1e-6, 1e-3  # s, range of its mixing time, log-uniform
RESIDENCE = 3.0, 300.0  # its residence time over its mixing time, log-uniform
STEP = 0.05, 0.5  # its step over its mixing time, log-uniform


def layer_states(streams: FlowStreams, settings: SamplingSettings) -> Iterator[Labelled]:
    """Most states of a line of particles of equal mass between two streams. In every step, each
    approaches the mean of its neighbours, and reacts. Some are replaced by a stream, at the rate of
    the residence time. settings: the ranges `p` [Pa] and `dt` [s]."""
    rng, p = streams.rng, streams.log_uniform(*settings.p)
    mixing = streams.log_uniform(*MIXING)
    residence = mixing * streams.log_uniform(*RESIDENCE)
    inflow = [streams.draw(p) for _ in range(2)]
    particles = _line(streams, inflow, p)
    for k in range(LAYER_STEPS):
        step, before = mixing * streams.log_uniform(*STEP), list(particles)
        share = 1.0 - np.exp(-step / mixing)
        for i, (h, Y) in enumerate(before):
            h_left, Y_left = before[max(i - 1, 0)]
            h_right, Y_right = before[min(i + 1, PARTICLES - 1)]
            mean = (h_left + h_right) / 2, (Y_left + Y_right) / 2
            if rng.random() < step / residence:
                h, Y = inflow[rng.integers(2)]
            state = streams.mixed([(h, Y), mean], np.array([1 - share, share]), p)
            if not T_RANGE[0] < state[0] < T_RANGE[1]:
                return
            h, dt = streams.reactor.gas.h, streams.log_uniform(*settings.dt)
            keep = k > 0 and rng.random() < KEPT
            streams.reactor.start(state[0], state[1], state[2:])
            if keep and dt <= step:
                streams.reactor.advance(dt)
                yield state, streams.now(), dt
            streams.reactor.advance(step)
            particles[i] = h, streams.reactor.gas.Y
            if keep and dt > step:
                streams.reactor.advance(dt)
                yield state, streams.now(), dt


def _line(
    streams: FlowStreams, inflow: list[tuple[float, np.ndarray]], p: float
) -> list[tuple[float, np.ndarray]]:
    """Specific enthalpy [J/kg] and mass fractions of the particles at the beginning: mixtures
    of both streams, from one to the other or in random order, some of them at equilibrium: all
    on one side of a random place, or each with the probability `BURNT`."""
    rng = streams.rng
    weights = rng.dirichlet(np.full(2, DIRICHLET), PARTICLES)
    if rng.random() < 0.6:
        weights = weights[np.argsort(weights[:, 0])]
    burnt = rng.random(PARTICLES) < BURNT
    if rng.random() < 0.5:
        burnt = np.arange(PARTICLES) >= rng.integers(PARTICLES)
    particles = []
    for at_equilibrium, pair in zip(burnt, weights, strict=True):
        streams.mixed(inflow, pair, p)
        if at_equilibrium:
            streams.equilibrate()
        particles.append((streams.reactor.gas.h, streams.reactor.gas.Y))
    return particles

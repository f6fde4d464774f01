"""Ignitions that are disturbed on the way: the truth for sensitivities of a delay."""

import cantera as ct
import numpy as np

from combred.chemistry.reactor import Reactor
from combred.surrogates.sensitivity.delay import Ignition


def moved_delay(reactor: Reactor, found: Ignition, Y: np.ndarray, change: np.ndarray) -> float:
    """The time [s] by which a change of the mass fractions Y (n_species,), of a state on the way,
    moves the end of an ignition; a difference of second order."""
    end = ct.Solution(thermo="ideal-gas", species=reactor.gas.species())
    end.HPY = found.h, found.case.p, found.Y[-1]
    start = ct.Solution(thermo="ideal-gas", species=reactor.gas.species())
    times = []
    for sign in (1, -1):
        start.HPY = found.h, found.case.p, Y + sign * change
        reactor.start(start.T, found.case.p, start.Y)
        before, (t, T) = (0.0, 0.0), reactor.step()
        while end.T > T:
            before = t, T
            t, T = reactor.step()
        times.append(float(np.interp(end.T, [before[1], T], [before[0], t])))
    return 0.5 * (times[0] - times[1])


def random_change(rng: np.random.Generator, Y: np.ndarray, s: np.ndarray, size: float):
    """A change of Y (n_species,) of all species, of sum zero, with |s . change| = size."""
    change = Y * rng.normal(size=len(Y))
    change -= Y * change.sum()
    return change * size / abs(s @ change)

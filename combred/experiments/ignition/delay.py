"""The ignition delay of a rollout: the time at which T has reached half of its rise.

A rollout may take a dozen steps to ignite, and its T then jumps from step to step by hundreds of
kelvin. Interpolation between the steps makes an error of .2 % one of .03 to 1 %. So CVODE continues
the rollout from the last state before half the rise.
"""

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import FIRST, IntegrationError, Reactor
from combred.experiments.ignition.rollout import Rollout

RTOL, ATOL = 1e-8, 1e-16  # of CVODE


def ignition_delay(mechanism: Mechanism, rollout: Rollout, burnt_T: float) -> float:
    """The delay [s] of a rollout: T is then the mean of its initial value and of burnt_T [K].

    NaN where T does not get there. The end of the rollout's own step where CVODE gets there later,
    or not at all: a rollout may jump from cold gas to burnt gas.
    """
    half = 0.5 * (rollout.T[0] + burnt_T)
    above = np.flatnonzero(rollout.T > half)
    if len(above) == 0 or above[0] == 0:
        return float("nan")
    last = int(above[0]) - 1
    begin, end = float(rollout.t[last]), float(rollout.t[last + 1])
    reactor = Reactor(mechanism, RTOL, ATOL)
    try:
        now = rollout.T[last], rollout.case.p, rollout.Y[last]
        return begin + time_to(reactor, *now, half, end - begin)
    except IntegrationError:
        return end


def time_to(
    reactor: Reactor, T: float, p: float, Y: np.ndarray, wanted: float, longest: float
) -> float:
    """The time [s] after which CVODE's T exceeds `wanted` [K], from the state T [K], p [Pa], Y
    (n_species,); `longest` where it takes longer. Between CVODE's steps by a parabola t(T) through
    three of them, where T rises. Raises IntegrationError where CVODE fails."""
    reactor.start(T, p, Y)
    steps = [(0.0, T), (FIRST, reactor.advance(FIRST)[0])]
    while steps[-1][1] <= wanted:
        if steps[-1][0] > longest:
            return longest
        steps.append(reactor.step())
    t, rising = np.array(steps[-3:]).T
    if len(t) == 3 and np.all(np.diff(rising) > 0):
        found = float(np.polyval(np.polyfit(rising - wanted, t, 2), 0.0))
        if t[-2] <= found <= t[-1]:
            return min(found, longest)
    return min(float(np.interp(wanted, rising[-2:], t[-2:])), longest)

"""States of an ignition, each with the sensitivity of the delay.

Takes a `Mechanism`, settings and a random generator; gives `SensitiveStates`.
"""

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError, Reactor, Tolerances
from combred.config.data import SamplingSettings
from combred.experiments.flow.streams import log_uniform
from combred.experiments.ignition.rollout import Case
from combred.surrogates.sensitivity.delay import delay_sensitivity, ignite
from combred.surrogates.sensitivity.rows import SensitiveStates

STATES = 80  # of an ignition
LONGEST = 0.05  # s, longest delay; slower mixtures are drawn again
OF_DELAY = 0.25  # largest dt, a share of the delay


def ignition_states(
    mechanism: Mechanism,
    sampling: SamplingSettings,
    tolerances: Tolerances,
    rng: np.random.Generator,
) -> SensitiveStates:
    """States of an ignition, with a dt each: those that a march with that dt from the fresh gas
    meets, the fresh gas itself one of them, all with the same probability. dt is the larger of two
    log-uniform draws: one-step errors, and what they add up to, grow with dt.

    sampling: `fuel`, `oxidizer` as compositions in moles; ranges of p, phi, T0 and dt. Raises
    IntegrationError where the ignition takes longer than `LONGEST`, or is too fast for the smallest
    dt.
    """
    s = sampling
    case = Case(rng.uniform(s.T0[0], s.T0[1]), log_uniform(rng, *s.p), log_uniform(rng, *s.phi))
    Y0 = mechanism.mixture(s.fuel, s.oxidizer, case.phi)
    reactor = Reactor(mechanism, *tolerances)
    ignition = ignite(reactor, case, Y0, LONGEST)
    low, high = s.dt
    if ignition is None or OF_DELAY * ignition.delay < low:
        raise IntegrationError(f"no delay between {low / OF_DELAY:g} and {LONGEST} s: {case}")
    phi = delay_sensitivity(mechanism, ignition)
    high = min(high, OF_DELAY * ignition.delay)
    dt = np.array([max(log_uniform(rng, low, high) for _ in range(2)) for _ in range(STATES)])
    t = dt * np.floor(rng.uniform(0.0, np.floor(ignition.delay / dt)))
    states = np.empty((2 * STATES, 1 + mechanism.n_species))
    times = np.concatenate([t, t + dt])
    reactor.start(case.T0, case.p, Y0)
    for i in np.argsort(times):
        states[i, 0], states[i, 1:] = reactor.advance(times[i])
    present, later = states[:STATES], states[STATES:]
    sensitivity = np.column_stack([np.interp(t + dt, ignition.t, column) for column in phi.T])
    p, trajectory = np.full(STATES, case.p), np.zeros(STATES, "i4")
    return SensitiveStates(
        present[:, 0], p, present[:, 1:], dt, later[:, 0], later[:, 1:], -sensitivity, trajectory
    )

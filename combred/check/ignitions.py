"""Ignition delays of the solver against CVODE.

Takes a `Mechanism` and `Conditions`; gives plain numbers for check.json. The ignitions are drawn at
random: T0 uniform, p and phi log-uniform, for each time step dt those with a delay that dt suits
(`combred.experiments.ignition.delay`).
"""

import copy

import numpy as np

from combred.check.conditions import Conditions
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.stepper import advance_each
from combred.experiments.ignition.delay import IgnitionDelays
from combred.experiments.ignition.rollout import Case
from combred.native.solver import Solver

STEPS = 1e-7, 1e-6, 1e-5, 1e-4  # s
SHORTEST, LONGEST = 2, 3500  # dt, of a delay
TOLERANCES = 0.01, 0.001  # of the solver
DRAWN, DRAWS = 512, 8  # cases of a draw, and how many draws at most
SEED = 301


def draw(
    mechanism: Mechanism, solver: Solver, of: Conditions, dt: float, count: int
) -> IgnitionDelays:
    """At most `count` ignitions with a delay of `SHORTEST` to `LONGEST` steps dt [s]. The solver
    tells which they are, and CVODE then how long."""
    rng, found = np.random.default_rng([SEED, round(1e9 * dt)]), []
    for _ in range(DRAWS):
        T0 = rng.uniform(*of.T0, DRAWN)
        p, phi = (low * (high / low) ** rng.random(DRAWN) for low, high in (of.p, of.phi))
        cases = [Case(*row) for row in zip(T0.tolist(), p.tolist(), phi.tolist(), strict=True)]
        T, p, Y, half = IgnitionDelays(mechanism, of.mixture, cases, dt, LONGEST).beginnings
        late, early = (
            advance_each(solver, T, p, Y, steps * dt)[0] > half for steps in (LONGEST, SHORTEST)
        )
        found += [cases[i] for i in np.flatnonzero(late & ~early)]
        if len(found) >= count:
            break
    return IgnitionDelays(mechanism, of.mixture, found[:count], dt, 2 * LONGEST)


def delays(
    mechanism: Mechanism, solver: Solver, of: Conditions, dt: float, count: int
) -> list[dict]:
    """Each of at most `count` ignitions: T0 [K], p [Pa], phi, CVODE's delay [s], NaN where it
    fails, and the relative error of the solver's for each of `TOLERANCES` ("errors"), infinite
    where it does not ignite."""
    drawn = draw(mechanism, solver, of, dt, count)
    if not drawn.cases:
        return []
    exact, errors = drawn.reference(), {}
    for tolerance in TOLERANCES:
        at = copy.copy(solver)
        at.tolerance = tolerance
        errors[f"{tolerance:g}"] = drawn.compare(drawn.follow(at, exact), exact)
    return [
        {**vars(case), "delay": exact[i], "errors": {name: off[i] for name, off in errors.items()}}
        for i, case in enumerate(drawn.cases)
    ]

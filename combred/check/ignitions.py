"""Ignition delays of the solver against CVODE.

Takes a `Mechanism` and `Conditions`; gives plain numbers for check.json. The ignitions are drawn at
random: T0 uniform, p and phi log-uniform, for each time step dt those with a delay that dt suits.
The delay is the time at half the rise of T to its equilibrium. The solver marches in steps of dt,
as in a flow code, and CVODE continues the last state before half the rise
(`combred.experiments.ignition.delay`); the reference is one integration by CVODE.
"""

import contextlib

import numpy as np

from combred.check.conditions import Conditions
from combred.chemistry.equilibrium import equilibrium
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError, Reactor
from combred.chemistry.states import states_of
from combred.experiments.ignition.delay import time_to
from combred.experiments.ignition.rollout import Case, mixtures
from combred.native.solver import Solver

STEPS = 1e-7, 1e-6, 1e-5, 1e-4  # s
SHORTEST, LONGEST = 2, 3500  # dt, of a delay
TOLERANCES = 0.01, 0.001  # of the solver
RTOL, ATOL = 1e-9, 1e-18  # of CVODE
DRAWN, DRAWS = 512, 8  # cases of a draw, and how many draws at most
SEED = 301


def draw(
    mechanism: Mechanism, solver: Solver, of: Conditions, dt: float, count: int
) -> tuple[list[Case], np.ndarray]:
    """At most `count` ignitions with a delay of `SHORTEST` to `LONGEST` steps dt [s], and their
    initial mass fractions (n, n_species). The solver tells which they are, and CVODE then how
    long."""
    rng, found = np.random.default_rng([SEED, round(1e9 * dt)]), []
    for _ in range(DRAWS):
        T0 = rng.uniform(*of.T0, DRAWN)
        p, phi = (low * (high / low) ** rng.random(DRAWN) for low, high in (of.p, of.phi))
        todo = [Case(*row) for row in zip(T0.tolist(), p.tolist(), phi.tolist(), strict=True)]
        Y = mixtures(mechanism, todo, of.fuel, of.oxidizer)
        half = half_rise(mechanism, todo, Y)
        late = solver.attempt(T0, p, Y, LONGEST * dt).T > half
        early = solver.attempt(T0, p, Y, SHORTEST * dt).T > half
        found += [(todo[i], Y[i]) for i in np.flatnonzero(late & ~early)]
        if len(found) >= count:
            break
    found = found[:count]
    return [case for case, _ in found], np.array([Y for _, Y in found])


def half_rise(mechanism: Mechanism, todo: list[Case], Y: np.ndarray) -> np.ndarray:
    """The mean (n,) [K] of the initial T of the cases and that at equilibrium; NaN where Cantera
    finds none."""
    T0, p = np.array([case.T0 for case in todo]), np.array([case.p for case in todo])
    return 0.5 * (T0 + equilibrium(mechanism.solution(transport=False), T0, p, Y)[0])


def delays(
    mechanism: Mechanism, solver: Solver, of: Conditions, dt: float, count: int
) -> list[dict]:
    """Each of `count` ignitions that CVODE can integrate: T0 [K], p [Pa], phi, CVODE's delay [s],
    and the relative error of the solver's for each of `TOLERANCES` ("errors"), infinite where it
    does not ignite."""
    todo, Y0 = draw(mechanism, solver, of, dt, count)
    if not todo:
        return []
    half = half_rise(mechanism, todo, Y0)
    reactor = Reactor(mechanism, RTOL, ATOL)
    longest = 2 * LONGEST * dt
    exact = np.full(len(todo), np.nan)
    for i, case in enumerate(todo):
        with contextlib.suppress(IntegrationError):
            exact[i] = time_to(reactor, case.T0, case.p, Y0[i], half[i], longest)
    kept = np.isfinite(exact)  # else CVODE has failed, and there is no reference
    todo = [case for case, keep in zip(todo, kept, strict=True) if keep]
    Y0, half = Y0[kept], half[kept]
    rows = [
        {**vars(case), "delay": float(delay), "errors": {}}
        for case, delay in zip(todo, exact[kept], strict=True)
    ]
    T, p = np.array([case.T0 for case in todo]), np.array([case.p for case in todo])
    for tolerance in TOLERANCES:
        found = marched(solver, reactor, states_of(T, p, Y0), half, dt, tolerance)
        for row, delay in zip(rows, found, strict=True):
            row["errors"][f"{tolerance:g}"] = float(delay / row["delay"] - 1.0)
    return rows


def marched(
    solver: Solver,
    reactor: Reactor,
    states: np.ndarray,
    half: np.ndarray,
    dt: float,
    tolerance: float,
) -> np.ndarray:
    """The delays (n,) [s] of the solver, marched in steps of dt [s] from states [T, p, Y];
    infinite where T does not reach half (n,) [K] within twice `LONGEST` steps, or a state cannot be
    advanced."""
    T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    live, delay = np.arange(len(states)), np.full(len(states), np.inf)
    for step in range(2 * LONGEST):
        found = solver.attempt(T, p, Y, dt, tolerance)
        passed = found.T > half[live]
        for i in np.flatnonzero(passed):
            rest = dt
            with contextlib.suppress(IntegrationError):
                rest = time_to(reactor, T[i], p[i], Y[i], half[live[i]], dt)
            delay[live[i]] = step * dt + rest
        going = ~passed & np.isfinite(found.error)
        live, T, p, Y = live[going], found.T[going], p[going], found.Y[going]
        if not len(live):
            break
    return delay

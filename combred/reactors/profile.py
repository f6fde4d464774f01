"""Closed reactors with a profile in time: rapid compression, engines, shock tubes.

Takes a solver, initial states and profiles of pressure or volume, and of temperature; gives the
states at the times of the profiles. Between two times pressure or density, and temperature, are
linear: the `Sources` of one time step.
"""

from dataclasses import dataclass, replace

import numpy as np

from combred.chemistry.states import (
    HIGHEST_T,
    LOWEST_T,
    Real,
    Rows,
    Tolerance,
    require_real,
)
from combred.native.solver.library import Integrator
from combred.native.solver.sources import Sources
from combred.reactors.wall import density, mechanism_of, reactor_solver, states_in


@dataclass(frozen=True, eq=False)
class History:
    """States of n reactors at m times: t (m,) [s], T (m, n) [K], p (m, n) [Pa], Y (m, n,
    n_species)."""

    t: Rows
    T: Rows
    p: Rows
    Y: Rows


def reactor(  # noqa: PLR0913
    solver: Integrator,
    T: Rows,
    p: Real,
    Y: Rows,
    t: Rows,
    pressure: Rows | None = None,
    volume: Rows | None = None,
    heat_transfer: Real = 0.0,
    T_wall: Real = 300.0,
    tolerance: Tolerance = None,
    temperature: Rows | None = None,
    isothermal: bool = False,
) -> History:
    """The states of closed reactors at the times t (m,) [s], of which the first is that of T (n,)
    [K], p [Pa], one for all or (n,), and Y (n, n_species).

    pressure [Pa]: at each t, (m,) or (m, n), with a solver at constant pressure; volume: at each t,
    (m,) or (m, n), in any unit, with `combred.solver(..., volume=True)`. Without either the solver
    keeps its own. The first pressure is p. temperature [K]: at each t, (m,) or (m, n), the first
    is T; isothermal: T is constant; in both cases without a balance of energy. Between two times
    pressure or density, and temperature, are linear in time: give as many as the profile needs.
    heat_transfer [W/(m3 K)] to a wall of T_wall [K], as of `combred.psr`. tolerance: as of
    `advance`.

    Raises ValueError for other shapes, for times that do not rise, for a profile that the solver
    cannot take or that is not positive, and as `solver.integrate`.
    """
    if solver.enthalpy:
        raise ValueError(
            "a closed reactor keeps its internal energy: take a solver without enthalpy"
        )
    solver = reactor_solver(solver, isothermal or temperature is not None, heat_transfer)
    state, mechanism = states_in(solver, T, p, Y), mechanism_of(solver)
    times, n = rising("t", t), len(state[0])
    if (pressure if solver.volume else volume) is not None:
        kept, given = ("volume", "a pressure") if solver.volume else ("pressure", "a volume")
        needed = f"combred.solver(..., volume={not solver.volume})"
        raise ValueError(f"a solver at constant {kept} takes no profile of {given}: give {needed}")
    name, profile = ("volume", volume) if solver.volume else ("pressure", pressure)
    along = None if profile is None else profile_of(name, profile, len(times), n)
    if along is not None and not solver.volume:
        require_first("pressure", along, "p", state[1])
    solver = solver.warned_of(state[1] if along is None or solver.volume else along)
    heated = temperatures_of(temperature, len(times), state[0])
    rho, history = density(mechanism, state), [state]
    for i, dt in enumerate(np.diff(times)):
        sources = Sources(heat_transfer=heat_transfer, T_wall=T_wall)
        if along is not None and solver.volume:
            next_rho = rho * along[0] / along[i + 1]
            sources = replace(sources, drho_dt=(next_rho - density(mechanism, state)) / dt)
        elif along is not None:
            sources = replace(sources, dp_dt=(along[i + 1] - state[1]) / dt)
        if heated is not None:
            sources = replace(sources, dT_dt=(heated[i + 1] - state[0]) / dt)
        solution = solver.with_sources(sources).integrate(*state, dt, tolerance)
        state = solution.T, solution.p, solution.Y
        history.append(state)
    return History(times, *(np.array(x) for x in zip(*history, strict=True)))


def temperatures_of(temperature: Rows | None, m: int, T: Rows) -> Rows | None:
    """A profile of temperature as (m, n), None without. Raises ValueError for another shape, for
    one out of the range of states, and for one that does not begin at T (n,)."""
    if temperature is None:
        return None
    profile = profile_of("temperature", temperature, m, len(T))
    require_first("temperature", profile, "T", T)
    if profile.min() < LOWEST_T or profile.max() > HIGHEST_T:
        raise ValueError(f"temperature has to be from {LOWEST_T:g} to {HIGHEST_T:g} K everywhere")
    return profile


def require_first(name: str, profile: Rows, initial: str, state: Rows) -> None:
    """ValueError where a profile (m, n) does not begin at the initial state (n,)."""
    wrong = np.flatnonzero(~np.isclose(profile[0], state, rtol=1e-6))
    if wrong.size:
        i = wrong[0]
        raise ValueError(
            f"the first {name} is {profile[0, i]:g}, and {initial} {state[i]:g} (row {i}): give "
            "profiles that begin at the initial state"
        )


def rising(name: str, values: Rows) -> Rows:
    """Coordinates (m,). Raises ValueError where they do not rise, or are fewer than 2."""
    found = require_real(name, values)
    if found.ndim != 1 or len(found) < 2 or not np.all(np.diff(found) > 0.0):
        raise ValueError(
            f"{name} has to be at least 2 numbers that rise, the first that of the given state"
        )
    if not np.isfinite(found).all():
        raise ValueError(f"{name} has to be finite everywhere")
    return found


def profile_of(name: str, values: Rows, m: int, n: int) -> Rows:
    """A profile as (m, n). Raises ValueError for another shape, or values that are not positive."""
    found = require_real(name, values)
    if found.shape not in ((m,), (m, n)):
        raise ValueError(f"{name} has the shape {found.shape}: give ({m},), or ({m}, {n})")
    if not ((found > 0.0) & np.isfinite(found)).all():
        raise ValueError(f"{name} has to be positive and finite everywhere")
    return np.broadcast_to(found.reshape(m, -1), (m, n))

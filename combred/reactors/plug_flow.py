"""Plug flow reactors: steady flow through a duct, in which the gas reacts on its way.

Takes a solver, the gas that flows in, and positions; gives the states there. With the mass flow
m = rho u A of the inlet, a parcel of gas moves by dx = u dt = m / (rho A) dt, and reacts over dt as
in a closed reactor at the pressure of the place.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.states import Real, Rows, Tolerance, require_real
from combred.native.solver.library import Integrator
from combred.native.solver.sources import Sources
from combred.reactors.profile import profile_of, require_first, rising, temperatures_of
from combred.reactors.wall import State, density, mechanism_of, reactor_solver, states_in

DILATION = 0.02  # largest change of ln rho in a step, in which 1 / rho is linear
CLOSE = 1e-5  # of the distance between two positions, how near a parcel comes
MOST = 100_000  # steps between two positions
FAST = 0.12  # rho u^2 / p, about 0.3^2 times the ratio of heat capacities


@dataclass(frozen=True, eq=False)
class PlugFlow:
    """States of n reactors at m positions: x (m,) [m], t (m, n) [s] since the inlet, velocity (m,
    n) [m/s], T (m, n) [K], p (m, n) [Pa], Y (m, n, n_species)."""

    x: Rows
    t: Rows
    velocity: Rows
    T: Rows
    p: Rows
    Y: Rows


@dataclass(frozen=True, eq=False)
class _Duct:
    """The ducts of n reactors: x (m,), area, pressure and, where it is given, temperature (m, n),
    mass flow (n,) [kg/s], walls."""

    mechanism: Mechanism
    x: Rows
    area: Rows
    pressure: Rows
    temperature: Rows | None
    flow: Rows
    wall: Sources

    def at(self, profile: Rows, i: int, x: Rows, rows: np.ndarray) -> Rows:
        """A profile of some reactors at their x in the cell i, in which it is linear."""
        share = np.clip((x - self.x[i]) / (self.x[i + 1] - self.x[i]), 0.0, 1.0)
        return profile[i, rows] + share * (profile[i + 1, rows] - profile[i, rows])

    def velocity(self, state: State, i: int, x: Rows, rows: np.ndarray) -> Rows:
        """u of some reactors at their x in the cell i."""
        rho = density(self.mechanism, state)
        return self.flow[rows] / (rho * self.at(self.area, i, x, rows))


def plug_flow(  # noqa: PLR0913
    solver: Integrator,
    T: Rows,
    p: Real,
    Y: Rows,
    x: Rows,
    velocity: Real,
    area: Rows | None = None,
    pressure: Rows | None = None,
    heat_transfer: Real = 0.0,
    T_wall: Real = 300.0,
    tolerance: Tolerance = None,
    temperature: Rows | None = None,
    isothermal: bool = False,
) -> PlugFlow:
    """The states in plug flow reactors at the positions x (m,) [m], of which the first is the
    inlet, with T (n,) [K], p [Pa] and Y (n, n_species), and the velocity [m/s] there; p, velocity,
    heat_transfer and T_wall: one for all, or (n,). solver: at constant pressure.

    area: of the duct at each x, (m,) or (m, n), in any unit, by default constant; pressure [Pa]:
    at each x, (m,) or (m, n), by default p; temperature [K]: the same, by default from the balance
    of energy; isothermal: T is constant. All are linear between two x. heat_transfer [W/(m3 K)]:
    heat transfer coefficient times circumference over cross section, to a wall of T_wall [K].
    Kinetic energy and friction are left out: a warning tells of a fast flow.
    For states by residence time take `combred.reactor`.

    Raises ValueError for other shapes, for positions that do not rise, for what is not positive,
    for a solver at constant volume, and as `solver.integrate`.
    """
    solver = reactor_solver(solver, isothermal or temperature is not None, heat_transfer)
    now, mechanism = states_in(solver, T, p, Y), mechanism_of(solver)
    x, n = rising("x", x), len(now[0])
    u = require_real("velocity", velocity)
    if solver.volume:
        raise ValueError("plug flow has a pressure at each place: take a solver with volume=False")
    if u.shape not in ((), (n,)) or not ((u > 0.0) & np.isfinite(u)).all():
        raise ValueError(f"velocity [m/s] is one positive number, or an array ({n},) of them")
    A = profile_of("area", np.ones(len(x)) if area is None else area, len(x), n)
    own = np.tile(now[1], (len(x), 1)) if pressure is None else pressure
    along = profile_of("pressure", own, len(x), n)
    require_first("pressure", along, "p", now[1])
    heated = temperatures_of(temperature, len(x), now[0])
    solver = solver.warned_of(along)
    flow = density(mechanism, now) * u * A[0]
    wall = Sources(heat_transfer=heat_transfer, T_wall=T_wall)
    duct = _Duct(mechanism, x, A, along, heated, flow, wall)
    t, at = np.zeros(n), np.full(n, x[0])
    found = [(t, now)]
    for i in range(len(x) - 1):
        t, at, now = _cell(duct, i, (t, at, now), solver, tolerance)
        found.append((t, now))
    ts, states_found = zip(*found, strict=True)
    T, p, Y = (np.array(column) for column in zip(*states_found, strict=True))
    rho = np.array([density(mechanism, one) for one in states_found])
    u = duct.flow / (rho * A)
    if (rho * u**2 > FAST * p).any():
        warnings.warn(
            f"the velocity, up to {u.max():g} m/s, is above 0.3 of the speed of sound: the kinetic "
            "energy, which is left out, counts",
            stacklevel=2,
        )
    return PlugFlow(x, np.array(ts), u, T, p, Y)


def _cell(
    duct: _Duct,
    i: int,
    begin: tuple[Rows, Rows, State],
    solver: Integrator,
    tolerance: Tolerance,
) -> tuple[Rows, Rows, State]:
    """Times, places and states after the cell i of a duct. A step that changes the density much, or
    passes the end of the cell, is tried again with a shorter one."""
    t, at, (T, p, Y) = begin[0].copy(), begin[1].copy(), (x.copy() for x in begin[2])
    end, live = duct.x[i + 1], np.arange(len(t))
    near = CLOSE * (end - duct.x[i])
    u = duct.velocity(begin[2], i, at, live)  # a mean over the next step
    dt = (end - at) / u
    for _ in range(MOST):
        x, before, step, speed = at[live], (T[live], p[live], Y[live]), dt[live], u[live]
        after_x = np.minimum(x + speed * step, end)
        dp_dt = (duct.at(duct.pressure, i, after_x, live) - before[1]) / step
        sources = replace(duct.wall.of(live), dp_dt=dp_dt)
        if duct.temperature is not None:
            dT = duct.at(duct.temperature, i, after_x, live) - before[0]
            sources = replace(sources, dT_dt=dT / step)
        solution = solver.with_sources(sources).integrate(*before, step, tolerance)
        after = solution.T, solution.p, solution.Y
        last = duct.velocity(after, i, after_x, live)
        moved = 0.5 * step * (duct.velocity(before, i, x, live) + last)
        rho, then = (density(duct.mechanism, one) for one in (before, after))
        error = np.maximum(np.abs(np.log(then / rho)) / DILATION, 1e-300)
        good = (error <= 1.0) & (x + moved <= end + near)
        some = live[good]
        for column, new in zip((T, p, Y), after, strict=True):
            column[some] = new[good]
        t[some] += step[good]
        at[some] += moved[good]
        shorter = step * np.minimum(np.clip(0.8 / error, 0.1, 1.0), (end - x) / moved)
        u[live] = np.where(good, last, moved / step)
        dt[live] = np.where(good, np.minimum(2.0 * step, (end - at[live]) / last), shorter)
        live = live[end - at[live] > near]
        if not len(live):
            return t, at, (T, p, Y)
    raise ValueError(f"{MOST} steps do not reach x = {end:g} m: give more positions")

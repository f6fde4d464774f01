"""Time steps of reactors that lose heat to a wall.

Takes states, time steps and `Sources`; gives the states after them. The heat loss

    q = U (T - T_wall) / rho  [W/kg]

is constant over a step of the solver: the mean of q before and after it, of second order. Steps in
which q changes much, or is not that mean, are divided: there the gas ignites.
"""

from dataclasses import dataclass, replace

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.polynomials import GAS_CONSTANT
from combred.chemistry.states import (
    LOWEST_T,
    Real,
    Rows,
    Tolerance,
    require_columns,
    require_real,
    require_states,
    states_of,
)
from combred.native.solver.library import Integrator
from combred.native.solver.sources import Sources

State = tuple[Rows, Rows, Rows]  # T (n,) [K], p (n,) [Pa], Y (n, n_species)
NONE = Sources()
SHARE, LEAST_CP = 0.05, 1000.0  # of T - T_wall, lost in a step of `march`; J/(kg K)
MOST = 20_000  # steps of a `march`
UNSURE = 0.05  # K, of T after a step, by the change of q in it and by its difference from the mean


def mechanism_of(solver: Integrator) -> Mechanism:
    """The mechanism of a solver. Raises ValueError for a loaded library, which has none."""
    if not hasattr(solver, "mechanism"):
        raise ValueError("a library alone has no mechanism: give a combred.solver(...)")
    if solver.sources:
        raise ValueError("the reactor has sources of its own: give solver.with_sources(None)")
    return solver.mechanism


def states_in(solver: Integrator, T: Rows, p: Real, Y: Rows) -> State:
    """Initial states, whose Y have the sum 1. Raises ValueError for others, as `advance`, and as
    `mechanism_of`."""
    states = states_of(T, p, Y)
    require_columns(states.shape, 2 + mechanism_of(solver).n_species)
    require_states(states)
    Y = states[:, 2:]
    return states[:, 0], states[:, 1], Y / Y.sum(1, keepdims=True)


def density(mechanism: Mechanism, state: State) -> Rows:
    """rho (n,) [kg/m3]."""
    T, p, Y = state
    return p / (GAS_CONSTANT * T * (Y / mechanism.molecular_weights).sum(-1))


@dataclass(frozen=True, eq=False)
class Wall:
    """heat_transfer (n,) [W/(m3 K)], the heat transfer coefficient times the area of the wall over
    the volume of the gas; T_wall (n,) [K]."""

    mechanism: Mechanism
    heat_transfer: Rows
    T_wall: Rows

    @classmethod
    def around(cls, solver: Integrator, n: int, heat_transfer: Real, T_wall: Real) -> "Wall":
        """Of n reactors. Raises ValueError for other shapes, for a heat transfer below 0 and for a
        wall below `LOWEST_T`."""
        found = []
        for name, given, least in (
            ("heat_transfer", heat_transfer, 0.0),
            ("T_wall [K]", T_wall, LOWEST_T),
        ):
            x = require_real(name, given)
            if x.shape not in ((), (n,)) or not ((x >= least) & np.isfinite(x)).all():
                raise ValueError(
                    f"{name} is one number from {least:g} up, or an array ({n},) of them"
                )
            found.append(np.broadcast_to(x, n))
        return cls(mechanism_of(solver), *found)

    def of(self, rows: np.ndarray) -> "Wall":
        """That of some reactors."""
        return replace(self, heat_transfer=self.heat_transfer[rows], T_wall=self.T_wall[rows])

    def loss(self, state: State) -> Rows:
        """q (n,) [W/kg]."""
        return self.heat_transfer * (state[0] - self.T_wall) / density(self.mechanism, state)

    def step(
        self,
        solver: Integrator,
        state: State,
        dt: Rows,
        sources: Sources = NONE,
        tolerance: Tolerance = None,
    ) -> tuple[State, Rows]:
        """The states dt (n,) [s] later, with sources that have no `heating`, and how unsure their T
        is (n,) [K]. Raises ValueError as `solver.integrate`."""

        def after(heating: Real) -> State:
            found = solver.with_sources(replace(sources, heating=heating))
            later = found.integrate(*state, dt, tolerance)
            return later.T, later.p, later.Y

        if not self.heat_transfer.any():
            return after(0.0), np.zeros(len(dt))
        before = self.loss(state)
        q = 0.5 * (before + self.loss(after(-before)))
        later = after(-q)
        end = self.loss(later)
        off = np.maximum(0.5 * np.abs(end - before), np.abs(q - 0.5 * (before + end)))
        return later, off * dt / LEAST_CP

    def longest(self, state: State) -> Rows:
        """The time (n,) [s] in which the gas loses `SHARE` of T - T_wall, at least."""
        with np.errstate(divide="ignore"):
            return SHARE * LEAST_CP * density(self.mechanism, state) / self.heat_transfer

    def march(
        self,
        solver: Integrator,
        state: State,
        dt: Rows,
        sources: Sources,
        tolerance: Tolerance = None,
    ) -> State:
        """As `step`, in as many steps as the heat loss needs; arrays of the sources have a row for
        each state. Raises ValueError for too many."""
        steps = max(float((dt / self.longest(state)).max(initial=0.0)), 1.0)
        if steps > MOST:
            raise ValueError(
                f"heat_transfer={self.heat_transfer.max():g} W/(m3 K) cools the gas to the wall "
                f"in a {steps * SHARE:.0e}th of a time step of {dt.max():g} s: give a smaller one"
            )
        for _ in range(int(np.ceil(steps))):
            state = self._resolved(solver, state, dt / np.ceil(steps), sources, tolerance)
        return state

    def _resolved(
        self,
        solver: Integrator,
        state: State,
        dt: Rows,
        sources: Sources,
        tolerance: Tolerance,
    ) -> State:
        """As `step`; states that are too unsure take two of half the time instead."""
        later, unsure = self.step(solver, state, dt, sources, tolerance)
        rows = np.flatnonzero(unsure > UNSURE)
        if rows.size:
            own = sources.of(rows)
            now = state[0][rows], state[1][rows], state[2][rows]
            for _ in range(2):
                now = self.of(rows)._resolved(solver, now, 0.5 * dt[rows], own, tolerance)
            for x, new in zip(later, now, strict=True):
                x[rows] = new
        return later

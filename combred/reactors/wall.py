"""Time steps of reactors that lose heat to a wall.

Takes states, time steps and `Sources`; gives the states after them. The heat loss

    q = U (T - T_wall) / rho  [W/kg]

is constant over a step of the solver: the mean of q before and after it, of second order.
"""

from dataclasses import dataclass, replace

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.polynomials import GAS_CONSTANT
from combred.chemistry.states import Real, Rows, Tolerance, require_real
from combred.native.solver.library import Integrator
from combred.native.solver.sources import Sources

State = tuple[Rows, Rows, Rows]  # T (n,) [K], p (n,) [Pa], Y (n, n_species)
NONE = Sources()
SHARE, LEAST_CP = 0.5, 1000.0  # of T - T_wall, lost in a step of `march`; J/(kg K)


def mechanism_of(solver: Integrator) -> Mechanism:
    """The mechanism of a solver. Raises ValueError for a loaded library, which has none."""
    if not hasattr(solver, "mechanism"):
        raise ValueError("a library alone has no mechanism: give a combred.solver(...)")
    if solver.sources:
        raise ValueError("the reactor has sources of its own: give solver.with_sources(None)")
    return solver.mechanism


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
        """Of n reactors. Raises ValueError for other shapes, and for what is not positive."""
        found = []
        for name, given in (("heat_transfer", heat_transfer), ("T_wall", T_wall)):
            x = require_real(name, given)
            if x.shape not in ((), (n,)) or not ((x >= 0.0) & np.isfinite(x)).all():
                raise ValueError(f"{name} is one number from 0 up, or an array ({n},) of them")
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
    ) -> State:
        """The states dt (n,) [s] later, with sources that have no `heating`. Raises ValueError as
        `solver.integrate`."""

        def after(heating: Real) -> State:
            found = solver.with_sources(replace(sources, heating=heating))
            later = found.integrate(*state, dt, tolerance)
            return later.T, later.p, later.Y

        if not self.heat_transfer.any():
            return after(0.0)
        before = self.loss(state)
        return after(-0.5 * (before + self.loss(after(-before))))

    def march(self, solver: Integrator, state: State, dt: Rows, sources: Sources) -> State:
        """As `step`, in as many steps as the heat loss needs to be stable."""
        rate = self.heat_transfer / (LEAST_CP * density(self.mechanism, state))
        steps = int(np.ceil(max((rate * dt).max() / SHARE, 1.0)))
        for _ in range(steps):
            state = self.step(solver, state, dt / steps, sources)
        return state

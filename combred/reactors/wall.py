"""Solvers and states of reactors, which may be isothermal or lose heat to a wall.

Takes what a user gives to a reactor; gives the solver for its time steps and the initial states.
"""

import numpy as np

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.polynomials import GAS_CONSTANT
from combred.chemistry.states import Real, Rows, require_columns, require_states, states_of
from combred.native.solver.library import Integrator

State = tuple[Rows, Rows, Rows]  # T (n,) [K], p (n,) [Pa], Y (n, n_species)


def mechanism_of(solver: Integrator) -> Mechanism:
    """The mechanism of a solver. Raises ValueError for a loaded library, which has none."""
    if not hasattr(solver, "mechanism"):
        raise ValueError("a library alone has no mechanism: give a combred.solver(...)")
    if solver.sources:
        raise ValueError("the reactor has sources of its own: give solver.with_sources(None)")
    return solver.mechanism


def reactor_solver(solver: Integrator, isothermal: bool, heat_transfer: Real) -> Integrator:
    """The solver of a reactor with heat transfer to a wall [W/(m3 K)], as a user gives it, or of an
    isothermal one. Raises ValueError for both, and as `mechanism_of`."""
    mechanism_of(solver)
    if not isothermal and not solver.isothermal:
        return solver
    if np.any(heat_transfer):
        raise ValueError("an isothermal reactor has no balance of energy: leave heat_transfer out")
    return solver.as_isothermal()


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

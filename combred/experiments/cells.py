"""Cells or particles that transport and chemistry advance in turn, with any `Advance`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from combred.chemistry.stepper import Advance
from combred.experiments.diffusion import Diffusion
from combred.native.solver.library import require_adiabatic

STEADY, UNSTEADY = "steady", "not steady"  # outcomes of a march
NOT_FINITE, WENT_OUT, LOST = "not finite", "went out", "front left the grid"


def react(
    solver: Advance, T: np.ndarray, p: float, Y: np.ndarray, dt: float
) -> tuple[np.ndarray, np.ndarray]:
    """T (n,) [K] and Y (n, n_species), dt [s] after T (n,) [K], Y (n, n_species) at p [Pa]; new
    arrays. Raises FloatingPointError where the solver cannot advance a state, or returns values
    that are not finite; ValueError for an isothermal solver."""
    require_adiabatic(solver, "cells and particles conserve energy")
    try:
        T_next, Y_next = solver.advance(T.copy(), np.full(len(T), p), Y.copy(), dt)
    except ValueError as error:  # of states: the shapes are right
        raise FloatingPointError(str(error)) from error
    if not (np.isfinite(T_next).all() and np.isfinite(Y_next).all()):
        raise FloatingPointError("the solver returned a state that is not finite")
    return np.array(T_next), np.array(Y_next)


class Cells:
    """The cells of a flame, with their present T (n,) [K], Y (n, n_species) and h (n,) [J/kg]."""

    def __init__(self, diffusion: Diffusion, T: np.ndarray, Y: np.ndarray):
        self.diffusion, self.T, self.Y = diffusion, T.copy(), Y.copy()
        self.h = diffusion.enthalpy(self.T, self.Y)

    def transport(self, tau: float) -> None:
        """Advance the cells by diffusion, and convection if there is any, over tau [s]. Raises
        FloatingPointError where they have no stable step (`Diffusion.step`)."""
        self.T, self.Y, self.h = self.diffusion.step(self.T, self.Y, self.h, tau)

    def react(self, solver: Advance, dt: float) -> np.ndarray:
        """Advance the cells by chemistry over dt [s] with `solver`; returns the change of Y
        (n, n_species). T follows from constant enthalpy; the solver's T is only the initial guess.
        Raises FloatingPointError as the function `react`."""
        before = self.Y
        guess, self.Y = react(solver, self.T, self.diffusion.p, self.Y, dt)
        self.T = self.diffusion.temperature(self.h, self.Y, guess)
        return self.Y - before

    def march(self, solver: Advance, dt: float, limit: int, judge: Callable[..., str]) -> str:
        """Advance the cells in at most `limit` steps dt [s], split after Strang (SIAM J. Numer.
        Anal. 5 (1968) 506): half a step of transport, a step of chemistry, half a step of
        transport. Returns the outcome.

        judge(step, change): the outcome after the chemistry of a step, from 1, and its change of Y;
        the march goes on while this is `UNSTEADY`. It ends with `NOT_FINITE` where a state cannot
        be advanced; no exception is raised.
        """
        outcome = UNSTEADY
        for step in range(1, limit + 1):
            try:
                # The half step of transport that ends a step is merged with the first of the next.
                self.transport(dt if step > 1 else 0.5 * dt)
                change = self.react(solver, dt)
            except FloatingPointError:
                return NOT_FINITE
            outcome = judge(step, change)
            if outcome != UNSTEADY:
                break
        if outcome in (STEADY, UNSTEADY):
            self.transport(0.5 * dt)
        return outcome


@dataclass(frozen=True)
class MarchedFlame:
    """A marched flame: its last profile, its history, and its outcome.

    x (n,) [m]: centres of the cells of `profile`; t (steps,) [s]; outcome: one of the constants of
    this module.
    """

    profile: Any
    x: np.ndarray
    t: np.ndarray
    outcome: str

    @property
    def case(self) -> Any:
        """The parameters of the flame."""
        return self.profile.case

    @property
    def T(self) -> np.ndarray:
        """T (n,) [K] of the last profile."""
        return self.profile.T

    @property
    def Y(self) -> np.ndarray:
        """Y (n, n_species) of the last profile."""
        return self.profile.Y

    @property
    def steady(self) -> bool:
        """Whether it has become steady."""
        return self.outcome == STEADY

    @property
    def burns(self) -> bool:
        """Whether it burns, steady or not."""
        return self.outcome in (STEADY, UNSTEADY)

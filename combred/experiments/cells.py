"""Cells or particles that transport and chemistry advance in turn, with any `Advance`."""

import numpy as np

from combred.chemistry.stepper import Advance
from combred.experiments.diffusion import Diffusion


def react(
    solver: Advance, T: np.ndarray, p: float, Y: np.ndarray, dt: float
) -> tuple[np.ndarray, np.ndarray]:
    """T (n,) [K] and Y (n, n_species), dt [s] after T (n,) [K], Y (n, n_species) at p [Pa]; new
    arrays. Raises FloatingPointError where the solver cannot advance a state, or returns values
    that are not finite."""
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

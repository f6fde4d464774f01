r"""A flame kernel: a layer of burnt gas in fresh gas, which spreads by diffusion and reacts.

Takes a `Mechanism` and the two gases; gives the cells in time, and the sensitivity of the mass of a
species at the end to an error on the way. A wide layer burns on; a thin one goes out, and its
radicals recombine. Cells are of equal mass; mass fractions and enthalpy diffuse alike (unit Lewis
numbers, density squared times diffusivity uniform), with no flux at both ends:

    (I + r K) u' = u,    K = tridiag(-1, 2, -1), with 1 instead of 2 at both ends

in a step dt, with r = dt times diffusivity over squared cell width. Then each cell reacts for dt.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.stepper import Advance
from combred.chemistry.thermo import Thermo
from combred.experiments.cells import react
from combred.surrogates.sensitivity.source_term import SourceTerm

GUESS = 1200.0  # K, of temperatures


@dataclass
class FlameKernel:
    """The cells of a kernel at p [Pa]: h (cells,) [J/kg], Y (cells, n_species). diffusion_rate
    [1/s]: diffusivity over squared cell width."""

    p: float
    diffusion_rate: float
    h: np.ndarray
    Y: np.ndarray

    def diffused(self, dt: float) -> "FlameKernel":
        """The kernel after dt [s] of diffusion."""
        inverse = self.diffusion(dt)
        return FlameKernel(self.p, self.diffusion_rate, inverse @ self.h, inverse @ self.Y)

    def diffusion(self, dt: float) -> np.ndarray:
        """The matrix (cells, cells) of dt [s] of diffusion; it is symmetric."""
        n = len(self.h)
        K = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
        K[0, 0] = K[-1, -1] = 1.0
        return np.linalg.inv(np.eye(n) + dt * self.diffusion_rate * K)

    def temperatures(self, thermo: Thermo) -> np.ndarray:
        """T (cells,) [K]."""
        return thermo.temperature(self.h, self.Y, GUESS)


def new_kernel(
    mechanism: Mechanism,
    fresh: tuple[float, float, np.ndarray],
    burnt: int,
    cells: int,
    diffusion_rate: float,
) -> FlameKernel:
    """A kernel in fresh gas of T [K], p [Pa] and Y (n_species,): the first `burnt` of `cells` cells
    hold it burnt, at equilibrium. diffusion_rate: as in `FlameKernel`."""
    gas, (T, p, Y) = mechanism.solution(transport=False), fresh
    gas.TPY = T, p, Y
    h, all_Y = gas.enthalpy_mass, np.tile(Y, (cells, 1))
    gas.equilibrate("HP")
    all_Y[:burnt] = gas.Y
    return FlameKernel(p, diffusion_rate, np.full(cells, h), all_Y)


def march(
    solver: Advance, thermo: Thermo, kernel: FlameKernel, dt: float, steps: int
) -> list[FlameKernel]:
    """The kernel at the beginning, and at the end of each step of dt [s]: diffusion, then reaction.
    Raises FloatingPointError where the solver fails."""
    states = [kernel]
    for _ in range(steps):
        states.append(reacted(solver, thermo, states[-1].diffused(dt), dt))
    return states


def reacted(solver: Advance, thermo: Thermo, kernel: FlameKernel, dt: float) -> FlameKernel:
    """The kernel after dt [s] of reaction. Raises FloatingPointError where the solver fails."""
    _, Y = react(solver, kernel.temperatures(thermo), kernel.p, kernel.Y, dt)
    return FlameKernel(kernel.p, kernel.diffusion_rate, kernel.h, Y)


def mass_sensitivities(
    mechanism: Mechanism,
    states: list[FlameKernel],
    dt: float,
    species: list[int],
) -> np.ndarray:
    """phi (quantities, steps + 1, cells, n_species): the sum over the cells of phi . e is the
    relative change of the mass of a species at the end of a march, for an error e (cells,
    n_species) of Y at the end of one step. The enthalpy has no error: reactions do not change it.

    A step back is phi = D exp(J dt)^T phi', with the matrix D of diffusion, and the Jacobian J of
    each cell's reaction at constant h, at the end of its step: what diffusion has disturbed is soon
    balanced again (adjoint equations as in `sensitivity.delay`).
    """
    source, last = SourceTerm(mechanism, states[0].p), states[-1].Y
    phi = np.zeros((len(species), len(states), *last.shape))
    for q, k in enumerate(species):
        phi[q, -1, :, k] = 1.0 / last[:, k].sum()
    D = states[0].diffusion(dt)
    for step in range(len(states) - 2, -1, -1):
        back = np.empty_like(phi[:, 0])
        for i, (h, Y) in enumerate(zip(states[step + 1].h, states[step + 1].Y, strict=True)):
            back[:, i] = phi[:, step + 1, i] @ expm(dt * source.jacobian(h, Y)[1])
        phi[:, step] = np.einsum("ij,qjk->qik", D, back)
    return phi

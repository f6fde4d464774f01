"""The Jacobian of the equations of a flame's cells, as sparse matrices.

Takes the cells of a `MovingGrid` or a `CounterflowGrid`; gives the derivatives of du/dt by u, where
u has Y_1, Y_2, ... and h / H_SCALE of the first cell, then those of the next. The sensitivities of
flames (`sensitivity.flame_speed`, `counterflow`) need them.
"""

import numpy as np
import scipy.sparse as sparse

from combred.chemistry.mechanism import Mechanism
from combred.experiments.diffusion import Diffusion
from combred.surrogates.sensitivity.source_term import SourceTerm

STEP_Y = 1e-5, 1e-9  # of the differences of transport in Y: relative and absolute
STEP_h = 1e3  # J/kg, of those in h
H_SCALE = 1e6  # J/kg, by which h is divided, so that all unknowns are of the order of one


def reaction_jacobian(
    mechanism: Mechanism, p: float, Y: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, sparse.csc_matrix]:
    """dY/dt (cells, n_species) [1/s] of the chemistry, and its Jacobian [1/s], one block for each
    cell; Y (cells, n_species), h (cells,) [J/kg]."""
    source, blocks, f = SourceTerm(mechanism, p), [], np.empty_like(Y)
    for i, (h_here, Y_here) in enumerate(zip(h, Y, strict=True)):
        f[i], J, J_h = source.jacobian(h_here, Y_here)
        block = np.zeros((len(Y_here) + 1, len(Y_here) + 1))
        block[:-1, :-1], block[:-1, -1] = J, J_h * H_SCALE
        blocks.append(block)
    return f, sparse.block_diag(blocks, format="csc")


def transport_jacobian(
    diffusion: Diffusion, T: np.ndarray, Y: np.ndarray, h: np.ndarray
) -> sparse.csc_matrix:
    """The Jacobian [1/s] of diffusion, and of convection if there is any, at T (cells,) [K],
    Y (cells, n_species), h (cells,) [J/kg]; by differences of every third cell at once, since a
    cell's fluxes depend on its neighbours alone."""
    cells, n = len(T), Y.shape[1] + 1

    def rates(Y: np.ndarray, h: np.ndarray) -> np.ndarray:
        temperatures = diffusion.temperature(h, Y, T)
        dY, dh = diffusion.derivatives(diffusion.fluxes(temperatures, Y, rate=False), Y, h)
        return np.column_stack([dY, dh / H_SCALE])

    base, unknowns = rates(Y, h), np.arange(cells * n).reshape(cells, n)
    entries: list[tuple[np.ndarray, ...]] = []  # values, rows and columns
    for k in range(n):
        for first in range(3):
            moved_Y, moved_h, perturbed = Y.copy(), h.copy(), np.arange(first, cells, 3)
            if k < n - 1:
                steps = STEP_Y[0] * Y[perturbed, k] + STEP_Y[1]
                moved_Y[perturbed, k] += steps
            else:
                steps = np.full(len(perturbed), STEP_h / H_SCALE)
                moved_h[perturbed] += STEP_h
            change = rates(moved_Y, moved_h) - base
            for neighbours in (perturbed - 1, perturbed, perturbed + 1):
                inside = (neighbours >= 0) & (neighbours < cells)
                equations, columns_of = neighbours[inside], unknowns[perturbed[inside], k, None]
                values = change[equations] / steps[inside, None]
                entries.append(
                    (values, unknowns[equations], np.broadcast_to(columns_of, values.shape))
                )
    values, rows, columns = (np.concatenate(entry).ravel() for entry in zip(*entries, strict=True))
    J = sparse.csc_matrix((values, (rows, columns)), shape=(cells * n, cells * n))
    J.eliminate_zeros()
    return J

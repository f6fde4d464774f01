r"""How a flame's speed depends on errors of the chemistry in its cells: by an adjoint.

Takes the `Profile` of a flame; gives the sensitivity of each cell. With u = (Y, h) in the cells of
mass dm, D their diffusion, f their chemistry, and c = rho_u S the mass flux,

    du/dt = D(u) + f(u) - c du/dm = 0

in the frame of the flame. An error of dY/dt by df changes the flux by

    dc = psi . df / (psi . du/dm),    psi A = 0,    A = d(D + f)/du - c d/dm,

the condition that A du = dc du/dm - df can be solved: A has the null vector du/dm, a shift of the
flame. A solver that makes an error e of Y in each step dt and in each cell is wrong by

    (S' - S) / S = sum over the cells of  s . e / dt.

s is scaled by the exact relation that rates multiplied by a give sqrt(a) times the speed (lengths
by 1 / sqrt(a)): sum s . f = 1/2. Before this scaling the sum
differs from 1/2 by the error of the grid alone.
"""

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import IntegrationError
from combred.experiments.premixed.grid import MovingGrid, Profile
from combred.surrogates.sensitivity.flame_jacobian import (
    H_SCALE,
    reaction_jacobian,
    transport_jacobian,
)

SHIFT, ITERATIONS = 1.0, 8  # of inverse iteration: 1/s, far below the rates of a flame
HALF = 0.5  # d ln S / d ln rate
TRUSTED = 0.3, 0.7  # of sum s . f before the scaling


def speed_sensitivity(mechanism: Mechanism, profile: Profile) -> np.ndarray:
    """s (cells, n_species) [s] of a flame. Raises IntegrationError where its cells do not resolve
    it: where sum s . f is far from 1/2 before the scaling."""
    grid = MovingGrid(mechanism, profile)
    cells, n = len(grid.T), mechanism.n_species + 1
    sources, reaction = reaction_jacobian(mechanism, profile.case.p, grid.Y, grid.h)
    slope = _slope(cells, n, profile.cell_mass)
    A = transport_jacobian(grid.diffusion, grid.T, grid.Y, grid.h) + reaction
    A -= profile.speed * grid.unburnt_rho * slope
    solve = splu((A - SHIFT * sparse.eye(cells * n)).tocsc()).solve
    psi = np.ones(cells * n)
    for _ in range(ITERATIONS):
        psi = solve(psi, trans="T")
        psi /= np.linalg.norm(psi)
    Y_part = psi.reshape(cells, n)[:, :-1]
    u = np.column_stack([grid.Y, grid.h / H_SCALE])
    shift = slope @ u.ravel()
    shift[:n] = 0.0  # the first cell's neighbour is the fresh gas
    s = Y_part / (psi @ shift) / (profile.speed * grid.unburnt_rho)
    total = float((s * sources).sum())
    if not TRUSTED[0] < total < TRUSTED[1]:
        raise IntegrationError(
            f"the sensitivity of a flame's speed to its rates is {total:.2f} and not 1/2: its "
            f"cells do not resolve it ({profile.case})"
        )
    return s * (HALF / total)


def _slope(cells: int, n: int, cell_mass: float) -> sparse.csc_matrix:
    """d/dm (cells n, cells n) of changes: central, upwind in the last cell; fresh gas, whose
    change is zero, is before the first."""
    d = sparse.diags([-0.5, 0.5], [-1, 1], shape=(cells, cells), format="lil")
    d[-1, -2:] = [-1.0, 1.0]
    return sparse.kron(d / cell_mass, sparse.eye(n), format="csc")

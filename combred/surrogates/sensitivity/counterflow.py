r"""How a counterflow flame's peaks depend on errors of the chemistry in its cells: by an adjoint.

Takes a steady `CounterflowProfile`; gives the sensitivities of each cell. With u = (Y, h) in the
cells, their transport D and their chemistry f,

    du/dt = D(u) + f(u) = 0

An error of dY/dt by df moves u by -A^-1 df, A = d(D + f)/du, and a peak g(u) by psi . df with
A^T psi = -dg/du. A solver that makes an error e of Y in each step dt and in each cell is wrong by

    (g' - g) / g = sum over the cells of  s . e / dt.

The flow G(m) is that of the profile, as in `combred.experiments.counterflow.flame`.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse.linalg import splu

from combred.chemistry.mechanism import Mechanism
from combred.experiments.counterflow.grid import CounterflowGrid, CounterflowProfile
from combred.surrogates.sensitivity.flame_jacobian import (
    H_SCALE,
    reaction_jacobian,
    transport_jacobian,
)
from combred.surrogates.sensitivity.source_term import SourceTerm


def peak_sensitivities(
    mechanism: Mechanism, profile: CounterflowProfile, species: Sequence[int]
) -> np.ndarray:
    """s (1 + len(species), cells, n_species) [s]: of the highest T, relative to its excess over the
    hotter stream, and of the largest mass fraction of each of `species`, indices, relative to
    itself."""
    grid = CounterflowGrid(mechanism, profile)
    cells, n = len(grid.T), mechanism.n_species + 1
    p = profile.case.p
    _, A = reaction_jacobian(mechanism, p, grid.Y, grid.h)
    solve = splu(A + transport_jacobian(grid.diffusion, grid.T, grid.Y, grid.h)).solve
    gradients = np.zeros((1 + len(species), cells, n))
    hottest, excess = int(grid.T.argmax()), grid.T.max() - profile.stream_T.max()
    dT_dY, dT_dh = SourceTerm(mechanism, p).gradient_of_T(grid.h[hottest], grid.Y[hottest])
    gradients[0, hottest] = [*dT_dY / excess, dT_dh * H_SCALE / excess]
    for gradient, k in zip(gradients[1:], species, strict=True):
        peak = int(grid.Y[:, k].argmax())
        gradient[peak, k] = 1.0 / grid.Y[peak, k]
    psi = [solve(-gradient.ravel(), trans="T").reshape(cells, n) for gradient in gradients]
    return np.array(psi)[:, :, :-1]

"""Sensitivities of a flame's speed to the rate constants of all reactions, by one adjoint solution.

Takes `Profiles`; gives d ln S_L / d ln A. With the residual F(x, M, k) = 0 of a flame and the
solution of J^T a = (0, ..., 0, 1), whose last row is that of M,

    dM / d ln k_i = -a . dF / d ln k_i

in which J is the whole Jacobian, with the derivatives of transport by composition: without them
sensitivities are wrong by up to 12 % of the largest.
"""

from functools import lru_cache

import numpy as np
from scipy.sparse import csr_matrix

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.thermo import Thermo
from combred.flames.free import Profiles

TOLERANCE = 1e-8  # of GMRES, relative
T_SCALE = 1e3  # K: rows of T are over it, as in source/flame/problem.hpp


@lru_cache(maxsize=8)
def _net(mechanism: Mechanism) -> csr_matrix:
    """Net stoichiometric coefficients (n_reactions, n_species)."""
    gas = mechanism.solution(transport=False)
    return csr_matrix((gas.product_stoich_coeffs - gas.reactant_stoich_coeffs).T)


def speed_sensitivities(flame: Profiles) -> np.ndarray:
    """d ln S_L / d ln A_i (n_reactions,) of the speed to the rate constants, forward and reverse,
    in the order of the mechanism."""
    library, mechanism = flame.gas.library, flame.gas.mechanism
    n, size = flame.x.shape
    b = np.zeros(n * size + 1)
    b[-1] = 1.0
    # The adjoint of the rows of T and of the species, in the order of the library.
    adjoint = library.solution(flame.problem, flame.x, flame.M, b, True, TOLERANCE)[:-1]
    adjoint = adjoint.reshape(n, size)[1:-1]
    of_T, of_Y = adjoint[:, 0], np.empty((n - 2, size - 1))
    of_Y[:, library.order] = adjoint[:, 1:]
    progress, W = library.progress(flame.problem, flame.x), mechanism.molecular_weights
    rho, cp = progress.density[1:-1, None], progress.heat_capacity[1:-1, None]
    h = Thermo(mechanism).species_enthalpy(flame.x[1:-1, 0])
    # What a mole of a species that is formed does to the residual.
    effect = (of_Y - of_T[:, None] * h / (cp * T_SCALE)) * W / rho
    per_reaction = (_net(mechanism) @ effect.T) * progress.rates[1:-1].T
    return -per_reaction.sum(1) / flame.M

"""Ideal-gas thermodynamics in torch: enthalpy, cp, and T from enthalpy. Scriptable, float64.

Takes a `Mechanism`; used by the surrogate, which recovers T from constant enthalpy. In numpy:
`combred.chemistry.mixture_thermo`.
"""

import numpy as np
import torch
from torch import Tensor, nn

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.polynomials import GAS_CONSTANT


class Thermo(nn.Module):
    """NASA-7 polynomials of a mechanism (McBride, Gordon & Reno, NASA TM-4513, 1993).

    cp/R = a1 + a2 T + a3 T^2 + a4 T^3 + a5 T^4
    h/R  = a1 T + a2 T^2/2 + a3 T^3/3 + a4 T^4/4 + a5 T^5/5 + a6
    """

    low: Tensor
    high: Tensor
    T_mid: Tensor
    joints: Tensor
    grouped: Tensor

    def __init__(self, mechanism: Mechanism):
        super().__init__()
        specific = GAS_CONSTANT / mechanism.molecular_weights[:, None]
        low, high, T_mid = mechanism.nasa7()
        low, high = low[:, :6] * specific, high[:, :6] * specific
        self.register_buffer("low", torch.tensor(low))
        self.register_buffer("high", torch.tensor(high))
        self.register_buffer("T_mid", torch.tensor(T_mid))
        # The coefficients of h, grouped by T_mid (the "joints"), so that one product with Y gives
        # the polynomials of a mixture.
        joints = np.unique(T_mid)
        of_joint = T_mid[:, None] == joints
        grouped = np.stack([low, high], axis=1)[:, None] * of_joint[:, :, None, None]
        grouped = torch.tensor(grouped.reshape(mechanism.n_species, -1))
        self.register_buffer("joints", torch.tensor(joints), persistent=False)
        self.register_buffer("grouped", grouped, persistent=False)
        self.T_min: float = float(mechanism.T_min)
        self.T_max: float = float(mechanism.T_max)

    def species_enthalpy(self, T: Tensor) -> Tensor:
        """h_k (n, n_species) [J/kg] at T (n,) [K]."""
        powers = torch.stack([T, T**2 / 2, T**3 / 3, T**4 / 4, T**5 / 5, torch.ones_like(T)], 1)
        above = T[:, None] > self.T_mid
        return torch.where(above, powers @ self.high.T, powers @ self.low.T)

    def species_cp(self, T: Tensor) -> Tensor:
        """cp_k (n, n_species) [J/(kg K)] at T (n,) [K]."""
        powers = torch.stack([torch.ones_like(T), T, T**2, T**3, T**4], 1)
        above = T[:, None] > self.T_mid
        return torch.where(above, powers @ self.high[:, :5].T, powers @ self.low[:, :5].T)

    def enthalpy(self, T: Tensor, Y: Tensor) -> Tensor:
        """h (n,) [J/kg] of the mixture T (n,) [K], Y (n, n_species)."""
        return (Y * self.species_enthalpy(T)).sum(1)

    def cp(self, T: Tensor, Y: Tensor) -> Tensor:
        """cp (n,) [J/(kg K)] of the mixture T (n,) [K], Y (n, n_species)."""
        return (Y * self.species_cp(T)).sum(1)

    def temperature(self, h: Tensor, Y: Tensor, guess: Tensor, iterations: int = 4) -> Tensor:
        """T (n,) [K] with enthalpy(T, Y) = h (n,) [J/kg], Y (n, n_species), by Newton's method from
        guess (n,) [K].

        From a guess within 500 K, four iterations leave an error below 1e-6 K. T is clipped to
        [T_min / 2, T_max + 1000 K]: further out the polynomials are meaningless.
        """
        T = guess.clamp(self.T_min / 2, self.T_max + 1000.0)
        mixture = (Y @ self.grouped).view(-1, len(self.joints), 2, 6)
        low, high = mixture[:, :, 0], mixture[:, :, 1]
        for _ in range(iterations):
            above = T[:, None, None] > self.joints[:, None]
            a1, a2, a3, a4, a5, a6 = torch.where(above, high, low).sum(dim=1).unbind(1)
            enthalpy = a6 + T * (a1 + T * (a2 / 2 + T * (a3 / 3 + T * (a4 / 4 + T * a5 / 5))))
            cp = a1 + T * (a2 + T * (a3 + T * (a4 + T * a5)))
            T = (T - (enthalpy - h) / cp).clamp(self.T_min / 2, self.T_max + 1000.0)
        return T

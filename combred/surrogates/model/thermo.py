"""Ideal-gas thermodynamics in torch: enthalpy, cp, and T from enthalpy. Scriptable, float64.

Takes a `Mechanism`; used by the surrogate, which recovers T from constant enthalpy. Coefficients
and bounds are those of `combred.chemistry.thermo`, which has the same in numpy.
"""

import contextlib

import numpy as np
import torch
from torch import Tensor, nn

from combred.chemistry import thermo
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.polynomials import GAS_CONSTANT, nasa7


class Thermo(nn.Module):
    """The polynomials of a mechanism, of any type, by the equations of
    `combred.chemistry.polynomials.read_polynomials`, per mass of gas."""

    joints: Tensor
    between: Tensor

    def __init__(self, mechanism: Mechanism):
        super().__init__()
        known = thermo.Thermo(mechanism)
        self.T_bounds: tuple[float, float] = known.T_bounds
        self.register_buffer("joints", torch.tensor(known.joints), persistent=False)
        # The coefficients of all species between two of the temperatures at which any of them
        # changes, (n_joints + 1, n_species, 8).
        ends = np.append(known.joints, np.inf)
        region = (ends[:, None, None] > known.breaks).sum(axis=2)
        between = known.coefficients[np.arange(mechanism.n_species), region, :8]
        self.register_buffer("between", torch.tensor(between), persistent=False)
        self._keep_nasa7(mechanism)

    def _keep_nasa7(self, mechanism: Mechanism) -> None:
        """The coefficients that files of networks hold, of mechanisms that have NASA-7 ones."""
        with contextlib.suppress(ValueError):  # of others the mechanism's hash has to suffice
            found = nasa7(mechanism.thermo, mechanism.T_breaks, mechanism.species_names)
            specific = GAS_CONSTANT / mechanism.molecular_weights[:, None]
            self.register_buffer("low", torch.tensor(found[0][:, :6] * specific))
            self.register_buffer("high", torch.tensor(found[1][:, :6] * specific))
            self.register_buffer("T_mid", torch.tensor(found[2]))

    def bounded(self, T: Tensor) -> Tensor:
        """T [K] within `T_bounds`: flames of high pressure are hotter than the range of the
        polynomials, 3000 K for many species."""
        return T.clamp(self.T_bounds[0], self.T_bounds[1])

    def species_enthalpy(self, T: Tensor) -> Tensor:
        """h_k (n, n_species) [J/kg] at T (n,) [K]."""
        rising = [T, T**2 / 2, T**3 / 3, T**4 / 4, T**5 / 5, torch.ones_like(T)]
        terms = torch.stack([-1 / T, torch.log(T)] + rising, 1)
        found = terms @ self.between[0].T
        for i in range(len(self.joints)):
            found = torch.where(T[:, None] > self.joints[i], terms @ self.between[i + 1].T, found)
        return found

    def mixtures(self, Y: Tensor) -> Tensor:
        """The coefficients (n, n_joints + 1, 8) of the mixtures Y (n, n_species)."""
        return torch.einsum("nk,jkc->njc", Y, self.between)

    def values(self, mixtures: Tensor, T: Tensor) -> tuple[Tensor, Tensor]:
        """h (n,) [J/kg] and cp (n,) [J/(kg K)] of `mixtures` at T (n,) [K]."""
        region = (T[:, None] > self.joints).sum(dim=1)
        a = mixtures[torch.arange(len(T), device=T.device), region]
        a0, a1, a2, a3, a4, a5, a6, a7 = a.unbind(1)
        rising = a2 + T * (a3 / 2 + T * (a4 / 3 + T * (a5 / 4 + T * a6 / 5)))
        cp = (a0 / T + a1) / T + a2 + T * (a3 + T * (a4 + T * (a5 + T * a6)))
        return a7 - a0 / T + a1 * torch.log(T) + T * rising, cp

    def enthalpy(self, T: Tensor, Y: Tensor) -> Tensor:
        """h (n,) [J/kg] of the mixture T (n,) [K], Y (n, n_species)."""
        return self.values(self.mixtures(Y), T)[0]

    def cp(self, T: Tensor, Y: Tensor) -> Tensor:
        """cp (n,) [J/(kg K)] of the mixture T (n,) [K], Y (n, n_species)."""
        return self.values(self.mixtures(Y), T)[1]

    def temperature(self, h: Tensor, Y: Tensor, guess: Tensor, iterations: int = 4) -> Tensor:
        """T (n,) [K] with enthalpy(T, Y) = h (n,) [J/kg], Y (n, n_species), by Newton's method from
        guess (n,) [K], clipped to `T_bounds`.

        From a guess within 500 K, four iterations leave an error below 1e-6 K.
        """
        T, mixtures = self.bounded(guess), self.mixtures(Y)
        for _ in range(iterations):
            enthalpy, cp = self.values(mixtures, T)
            T = self.bounded(T - (enthalpy - h) / cp)
        return T

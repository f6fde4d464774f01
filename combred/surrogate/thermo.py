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

    regions: Tensor
    breaks: Tensor
    joints: Tensor
    grouped: Tensor

    def __init__(self, mechanism: Mechanism):
        super().__init__()
        known = thermo.Thermo(mechanism)
        self.T_bounds: tuple[float, float] = known.T_bounds
        a = np.moveaxis(known.coefficients[:, :, :8], 0, 2)  # (n_regions, 8, n_species)
        self.n_regions: int = len(a)
        self.register_buffer("regions", torch.tensor(a), persistent=False)
        self.register_buffer("breaks", torch.tensor(known.breaks.T), persistent=False)
        # The coefficients of all species between two temperatures at which any of them changes, the
        # "joints": one product with Y gives the polynomials of a mixture.
        ends = np.append(known.joints, np.inf)
        region = (ends[:, None, None] > known.breaks).sum(axis=2)  # (n_joints + 1, n_species)
        between = known.coefficients[np.arange(mechanism.n_species), region, :8]
        grouped = torch.tensor(np.moveaxis(between, 0, 1).reshape(mechanism.n_species, -1))
        self.register_buffer("joints", torch.tensor(known.joints), persistent=False)
        self.register_buffer("grouped", grouped, persistent=False)
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

    def of_species(self, terms: Tensor, T: Tensor) -> Tensor:
        """The sums (n, n_species) of coefficients times terms (n, 8), at T (n,) [K]."""
        found = terms @ self.regions[0]
        for i in range(1, self.n_regions):
            found = torch.where(T[:, None] > self.breaks[i - 1], terms @ self.regions[i], found)
        return found

    def species_enthalpy(self, T: Tensor) -> Tensor:
        """h_k (n, n_species) [J/kg] at T (n,) [K]."""
        powers = [T, T**2 / 2, T**3 / 3, T**4 / 4, T**5 / 5]
        terms = torch.stack([-1 / T, torch.log(T)] + powers + [torch.ones_like(T)], 1)
        return self.of_species(terms, T)

    def species_cp(self, T: Tensor) -> Tensor:
        """cp_k (n, n_species) [J/(kg K)] at T (n,) [K]."""
        one = torch.ones_like(T)
        powers = [T**-2, 1 / T, one, T, T**2, T**3, T**4, torch.zeros_like(T)]
        return self.of_species(torch.stack(powers, 1), T)

    def enthalpy(self, T: Tensor, Y: Tensor) -> Tensor:
        """h (n,) [J/kg] of the mixture T (n,) [K], Y (n, n_species)."""
        return (Y * self.species_enthalpy(T)).sum(1)

    def cp(self, T: Tensor, Y: Tensor) -> Tensor:
        """cp (n,) [J/(kg K)] of the mixture T (n,) [K], Y (n, n_species)."""
        return (Y * self.species_cp(T)).sum(1)

    def temperature(self, h: Tensor, Y: Tensor, guess: Tensor, iterations: int = 4) -> Tensor:
        """T (n,) [K] with enthalpy(T, Y) = h (n,) [J/kg], Y (n, n_species), by Newton's method from
        guess (n,) [K], clipped to `T_bounds`.

        From a guess within 500 K, four iterations leave an error below 1e-6 K.
        """
        T = self.bounded(guess)
        mixture = (Y @ self.grouped).view(-1, len(self.joints) + 1, 8)
        rows = torch.arange(len(T), device=T.device)
        for _ in range(iterations):
            region = (T[:, None] > self.joints).sum(dim=1)
            a0, a1, a2, a3, a4, a5, a6, a7 = mixture[rows, region].unbind(1)
            rising = a2 + T * (a3 / 2 + T * (a4 / 3 + T * (a5 / 4 + T * a6 / 5)))
            enthalpy = a7 - a0 / T + a1 * torch.log(T) + T * rising
            cp = (a0 / T + a1) / T + a2 + T * (a3 + T * (a4 + T * (a5 + T * a6)))
            T = self.bounded(T - (enthalpy - h) / cp)
        return T

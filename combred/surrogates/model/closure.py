"""The closure of a prediction: elements, mass and enthalpy are conserved.

Takes a predicted composition and temperature; gives a state that conserves what the initial state
holds, and the size of the correction, which is an error estimate: a prediction that violates
conservation is wrong by about that amount.
"""

from typing import Final

import torch
from torch import Tensor, nn

from combred.chemistry.mechanism import Mechanism
from combred.surrogates.model.element_projection import ElementProjection
from combred.surrogates.model.thermo import Thermo


class Closure(nn.Module):
    """Inert species are copied, the mass fractions are projected onto the elements of the initial
    state with Y >= 0 and sum Y = 1, and T follows from constant enthalpy."""

    # Largest relative error of the enthalpy after a closure, of |h| + cp T: more is no answer.
    ENTHALPY: Final[float] = 1e-9

    def __init__(self, mechanism: Mechanism):
        super().__init__()
        self.thermo = Thermo(mechanism)
        self.projection = ElementProjection(mechanism)
        self.register_buffer("inert", torch.tensor(mechanism.inert))

    def forward(
        self, T: Tensor, Y: Tensor, T_raw: Tensor, Y_raw: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """T (n,) [K] and Y (n, n_species) that conserve the elements and the enthalpy of the state
        T, Y, near the prediction T_raw, Y_raw; and whether they do (n,), bool.

        Where no small correction conserves them, the prediction is too far from conservation: the
        composition stays at Y.
        """
        Y_next, conserves = self.conserving(Y_raw, Y)
        h = self.thermo.enthalpy(T, Y)
        guess = torch.where(torch.isfinite(T_raw), T_raw, T)
        T_next = self.thermo.temperature(h, Y_next, guess)
        missing = (self.thermo.enthalpy(T_next, Y_next) - h).abs()
        allowed = self.ENTHALPY * (h.abs() + self.thermo.cp(T_next, Y_next) * T_next)
        return T_next, Y_next, conserves & (missing <= allowed)

    def conserving(self, Y_raw: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
        """Y_raw projected onto the element masses of Y, (n, n_species) both, and whether the
        projection converged (n,); Y where it did not."""
        Y_closed = self.projection(Y_raw, Y)
        conserves = self.projection.error(Y_closed, Y) < 1e-9
        return torch.where(conserves[:, None], Y_closed, Y), conserves

"""The closure of a prediction: elements, mass and enthalpy are conserved.

Takes a predicted composition and temperature; gives a state that conserves what the initial state
holds, and the size of the correction, which is an error estimate: a prediction that violates
conservation is wrong by about that amount.
"""

from typing import Final

import torch
from torch import Tensor, nn

from combred.chemistry.element_projection import ElementProjection
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.thermo import Thermo


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
        T_next = self.thermo.temperature(h, Y_next, T_raw)
        missing = (self.thermo.enthalpy(T_next, Y_next) - h).abs()
        allowed = self.ENTHALPY * (h.abs() + self.thermo.cp(T_next, Y_next) * T_next)
        return T_next, Y_next, conserves & (missing <= allowed)

    def conserving(self, Y_raw: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
        """Y_raw projected onto the element masses of Y, (n, n_species) both, and whether the
        projection converged (n,); Y where it did not."""
        Y_closed = self.projection(Y_raw, Y)
        conserves = self.projection.error(Y_closed, Y) < 1e-9
        return torch.where(conserves[:, None], Y_closed, Y), conserves

    @torch.jit.ignore
    def differentiable(
        self, T_raw: Tensor, Y_raw: Tensor, Y: Tensor, h: Tensor
    ) -> tuple[Tensor, Tensor]:
        """T and Y as `forward` gives them, with a gradient that is cheap; h (n,) [J/kg]: the
        enthalpy of the state.

        The gradient does not pass through the iterations. It is that of their limit: for Y the
        projection's linearization, for T constant enthalpy, dT_next = -sum_k h_k dY_next_k / cp.
        Inert species do not change, nor does any species where the projection fails: there
        dY_next = dY.
        """
        with torch.no_grad():
            Y_closed, conserves = self.conserving(Y_raw, Y)
            T = self.thermo.temperature(h, Y_closed, T_raw)
            cp = self.thermo.cp(T, Y_closed)
        moved = conserves[:, None] & ~self.inert
        dY = self.projection.linearized(Y_raw.detach(), Y_closed, _gradient_of(Y_raw))
        Y_next = Y_closed + torch.where(moved, dY, _gradient_of(Y))
        return T + _gradient_of(-self.thermo.enthalpy(T, Y_next) / cp), Y_next


def _gradient_of(value: Tensor) -> Tensor:
    """Zero, with the gradient of `value`."""
    return value - value.detach()

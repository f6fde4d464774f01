"""A shipped network, which has one fixed dt, with the methods of a surrogate of any dt."""

import torch
from torch import Tensor, nn

from combred.surrogate.surrogate import Surrogate


class Divided(nn.Module):
    """Advances by multiples of the network's dt, in as many steps; another dt raises ValueError.
    `tolerance` divides the error."""

    def __init__(self, surrogate: Surrogate):
        super().__init__()
        self.surrogate = surrogate
        self.species = surrogate.species
        self.dt_low, self.dt_high = surrogate.dt, surrogate.dt

    def forward(self, state: Tensor, dt: Tensor) -> Tensor:
        return self.integrate(state, dt, 1.0)[0]

    @torch.jit.export
    def next_state_and_error(self, state: Tensor, dt: Tensor) -> tuple[Tensor, Tensor]:
        later, error, _ = self.integrate(state, dt, 1.0)
        return later, error

    @torch.jit.export
    def integrate(
        self, state: Tensor, dt: Tensor, tolerance: float = 1.0
    ) -> tuple[Tensor, Tensor, Tensor]:
        whole = (dt / self.dt_low).round()
        if bool(((whole * self.dt_low - dt).abs() > 1e-9 * dt).any()):
            raise ValueError(f"this network advances by multiples of dt = {self.dt_low} s alone")
        error = torch.zeros_like(dt)
        steps = whole.to(torch.int64)
        left = steps
        while bool((left > 0).any()):
            later, e = self.surrogate.next_state_and_error(state, torch.full_like(dt, self.dt_low))
            state = torch.where((left > 0)[:, None], later, state)
            error = torch.where(left > 0, torch.maximum(error, e), error)
            left = left - 1
        return state, error / tolerance, steps

"""A surrogate in eager torch, behind the calls of `combred.kernels.inference.FusedSurrogate`."""

import numpy as np
import torch
from torch import Tensor

from combred.surrogate.surrogate import Surrogate


class EagerSurrogate:
    """A `Surrogate` without gradient: what `FusedSurrogate` does, for any width and device."""

    def __init__(self, surrogate: Surrogate):
        self.surrogate = surrogate

    @torch.no_grad()
    def __call__(self, state: Tensor, out: Tensor | None = None) -> Tensor:
        """States [T, p, Y] (n, 2 + n_species) [K, Pa, -], float64, dt later; in `out` where it is
        given, which may be `state` itself."""
        later = self.surrogate(state)
        return later if out is None else out.copy_(later)

    @torch.no_grad()
    def next_state_and_closure(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """The states dt later, and what the closure moved (n,): see `Surrogate.next_state_and_closure`."""
        return self.surrogate.next_state_and_closure(state)

    def advance(self, T: np.ndarray, p: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The surrogate as an `Advance` (see `combred.chemistry.reactor`)."""
        return self.surrogate.advance(T, p, Y)

"""A surrogate in eager torch with the interface of `FusedSurrogate`, for any width and device."""

import numpy as np
import torch
from torch import Tensor

from combred.kernels.inference.packing import require_one_dt
from combred.surrogate.surrogate import Surrogate


class EagerSurrogate:
    """A `Surrogate` without gradient, with the methods of `FusedSurrogate`.

    Raises ValueError for a network that corrects reaction rates: it has no dt of its own.
    """

    def __init__(self, surrogate: Surrogate):
        require_one_dt(surrogate)
        self.surrogate = surrogate

    @torch.no_grad()
    def __call__(self, state: Tensor, out: Tensor | None = None) -> Tensor:
        """States one time step of the surrogate later.

        state: (n, 2 + n_species) float64, columns T [K], p [Pa] and Y. The result has the same
        shape; it is written to `out` if that is given, which may be `state` itself.
        """
        later = self.next_state_and_closure(state)[0]
        return later if out is None else out.copy_(later)

    @torch.no_grad()
    def next_state_and_closure(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """States one time step later, and the closure error (n,) of each: the error estimate of
        `Surrogate.step` over the default tolerance."""
        self.surrogate.require_states(state)
        dt = self.surrogate.transform.dt_range[0].expand(len(state))
        later, error = self.surrogate.step(state, dt)
        return later, error / self.surrogate.TOLERANCE

    def advance(
        self, T: np.ndarray, p: np.ndarray, Y: np.ndarray, dt: float | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The surrogate as an `Advance` (see `combred.chemistry.reactor`). Raises ValueError for a
        dt [s] that is not the surrogate's."""
        return self.surrogate.advance(T, p, Y, dt)

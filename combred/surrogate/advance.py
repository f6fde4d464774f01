"""A function of torch states as an `Advance` of numpy arrays.

Takes any function from states and time steps to the states one step later; gives the interface that
the simulations take.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from combred.chemistry.states import Real, Rows, is_state, states_of, steps_of


@dataclass(frozen=True)
class StateFunction:
    """An `Advance` (see `combred.chemistry.reactor`) made from a function of states.

    function: maps states [T, p, Y] (n, 2 + n_species) [K, Pa, -] and time steps dt (n,) [s], both
    float64 on `device` (None: the CPU), to the states one step later. It is called without
    gradients.
    """

    function: Callable[[Tensor, Tensor], Tensor]
    device: torch.device | None = None

    def advance(self, T: Rows, p: Real, Y: Rows, dt: Real) -> tuple[Rows, Rows]:
        """T (n,) [K], p [Pa], Y (n, n_species) [-] -> T (n,) [K] and Y dt [s] later; p and dt: one
        for all, or (n,). NaN of rows that are no states: a function that goes astray has failed,
        and is no error of whoever judges it. Raises ValueError for other arrays, and for a dt that
        is not positive and finite."""
        states = states_of(T, p, Y)
        state = torch.as_tensor(states, device=self.device)
        steps = torch.as_tensor(steps_of(dt, len(state)), device=self.device)
        with torch.no_grad():
            later = self.function(state, steps).cpu().numpy()
        later[~is_state(states)] = np.nan
        return later[:, 0], later[:, 2:]

"""The loss of many steps: the surrogate marched from states of a trajectory, against CVODE.

Takes the segments of `combred.dataset.segments`; gives the term that training adds to the loss of one step.
One step's loss does not see that errors of many steps add up, or feed on each other.
"""

import copy

import numpy as np
import torch
from torch import Tensor, nn

from combred.dataset.segments import Segments, offsets
from combred.surrogate.surrogate import Surrogate

BATCH = 256  # segments of a training step
FLOOR = 1e-3  # added to the change that an error is relative to, in standard changes a step


class RolloutLoss(nn.Module):
    """The relative error of the change over K' steps, mean over K' = 1, 2, 4, ..., K = `steps`:

        L = mean min(|v_K' - v_K'^ref| / (|v_K'^ref - v_0| + floor K' scale), 10)

    v = [T, p, F(Y)], v_0 the state that a segment begins with, v_K' what the whole surrogate, its
    closure inside, makes of it in K' steps, v_K'^ref what CVODE does; `scale` is the transform's.
    The mean is over the segments and over the variables that change: not p, not inert species.
    Gradients pass through all steps (`Surrogate.differentiable`); what is beyond 10 has none, and
    is left to the loss of one step.

    The network is shared with `surrogate`; all else is a copy, which can be on another device.
    """

    WORST = 10.0

    def __init__(self, surrogate: Surrogate, steps: int, floor: float):
        super().__init__()
        self.surrogate = copy.deepcopy(surrogate)
        self.surrogate.network = surrogate.network
        self.offsets, self.floor = offsets(steps), floor
        changing = surrogate.transform.scale != 1.0  # of a column that never changes it is 1
        changing[1] = False
        changing[2:] &= ~surrogate.inert
        self.register_buffer("changing", changing)

    def forward(self, segments: Tensor) -> Tensor:
        """The loss of segments (n, 1 + n_offsets, 2 + n_species): the states at 0, 1, 2, 4, ...,
        `steps` (or farther, which is left aside) times dt, float64."""
        transform, first = self.surrogate.transform, segments[:, 0]
        h = self.surrogate.thermo.enthalpy(first[:, 0], first[:, 2:])
        before = transform.variables(first)
        state, errors = first, []
        for k in range(1, self.offsets[-1] + 1):
            state = self.surrogate.differentiable(state, h)
            if k in self.offsets:
                after = transform.variables(segments[:, self.offsets.index(k)])
                change = (after - before).abs() + self.floor * k * transform.scale
                error = (transform.variables(state) - after).abs() / change
                errors.append(error[:, self.changing].clamp(max=self.WORST).mean())
        return torch.stack(errors).mean()


class Rollouts:
    """What a training needs to march segments: their batches and their loss.

    The batch of a step depends on seed and step alone, as that of the rows does.
    """

    def __init__(
        self,
        surrogate: Surrogate,
        segments: Segments,
        seed: int,
        device: torch.device,
    ):
        self.loss = RolloutLoss(surrogate, segments.steps, FLOOR)
        self.loss.to(device)
        self.states = torch.from_numpy(segments.states).to(device)
        self.provenance, self.seed, self.batch = segments.provenance, seed, BATCH

    def __call__(self, step: int, rank: int = 0, world: int = 1) -> Tensor:
        """The loss of the segments of a step; of every `world`-th of them where ranks share them."""
        rng = np.random.default_rng([self.seed, 8, step])
        chosen = torch.from_numpy(rng.integers(0, len(self.states), self.batch)[rank::world])
        return self.loss(self.states[chosen.to(self.states.device)])

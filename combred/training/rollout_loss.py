"""The rollout loss: the error of the surrogate after many steps along a trajectory segment.

Takes the segments of `combred.dataset.segments`, which CVODE computed; gives the term that training
adds to the loss of one step. The loss of one step does not see how errors accumulate.
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
    """The relative error of the change over k steps, mean over k = 1, 2, 4, ..., `steps`:

        L = mean min(|v_k - v_k^ref| / (|v_k^ref - v_0| + floor k scale), 10)

    with v = [T, p, F(Y)]: v_0 at the beginning of a segment, v_k after k steps of the surrogate,
    closure included, v_k^ref after k steps of CVODE; `scale` is that of the transform, and `floor`
    [-] a share of it. The mean is over the segments and over the variables that change, which
    excludes p and inert species. Gradients pass through all steps (`Surrogate.differentiable`). An
    error beyond 10 has no gradient; only the loss of one step reduces it.

    The network is shared with `surrogate`. All else is a copy, which can be on another device.
    """

    WORST = 10.0

    def __init__(self, surrogate: Surrogate, steps: int, floor: float):
        super().__init__()
        self.surrogate = copy.deepcopy(surrogate)
        self.surrogate.network = surrogate.network
        self.offsets, self.floor = offsets(steps), floor
        changing = surrogate.transform.scale != 1.0  # 1: the variable never changes
        changing[1] = False
        changing[2:] &= ~surrogate.inert
        self.register_buffer("changing", changing)

    def forward(self, segments: Tensor) -> Tensor:
        """The loss of segments (n, m, 2 + n_species), float64: the states [T, p, Y] at 0, 1, 2, 4,
        ..., `steps` times dt. Later states are ignored."""
        transform, first = self.surrogate.transform, segments[:, 0]
        h = self.surrogate.thermo.enthalpy(first[:, 0], first[:, 2:])
        before = transform.variables(first)
        dt = first.new_full((len(first),), self.surrogate.dt)
        state, errors = first, []
        for k in range(1, self.offsets[-1] + 1):
            state = self.surrogate.differentiable(state, h, dt)
            if k in self.offsets:
                after = transform.variables(segments[:, self.offsets.index(k)])
                change = (after - before).abs() + self.floor * k * transform.scale
                error = (transform.variables(state) - after).abs() / change
                errors.append(error[:, self.changing].clamp(max=self.WORST).mean())
        return torch.stack(errors).mean()


class Rollouts:
    """Batches of trajectory segments for a training, and their `RolloutLoss`.

    The batch of a step depends on seed and step alone, as that of the rows does.
    """

    def __init__(
        self,
        surrogate: Surrogate,
        segments: Segments,
        seed: int,
        device: torch.device,
        batch: int = BATCH,
    ):
        self.loss = RolloutLoss(surrogate, segments.steps, FLOOR)
        self.loss.to(device)
        self.states = torch.from_numpy(segments.states).to(device)
        self.provenance, self.seed, self.batch = segments.provenance, seed, batch

    def __call__(self, step: int, rank: int = 0, world: int = 1) -> Tensor:
        """The loss of the segments of a step; with `world` processes, of the share of `rank`."""
        rng = np.random.default_rng([self.seed, 8, step])
        chosen = torch.from_numpy(rng.integers(0, len(self.states), self.batch)[rank::world])
        return self.loss(self.states[chosen.to(self.states.device)])

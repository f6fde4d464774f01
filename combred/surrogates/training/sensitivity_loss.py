r"""The training loss of delays, flame speeds, peaks and masses.

Takes `SensitiveStates` and a fitted transform; gives the loss of a network's answers to some of
their rows. With the sensitivity s of a row and the error e of Y after dt, the relative error of
the delay, speed, peak or mass is the mean of s . e / dt over the rows of its trajectory. The loss
is the mean of |s . e / dt|, and bounds it. The absolute value of the mean itself is not used: a
network makes it zero by errors that cancel in the trajectories of the training, and not in others.

e follows to first order from the network's error in F(Y), through the closure, which projects Y
onto the elements of the state (`model.element_projection`).
"""

import hashlib

import numpy as np
import torch
from torch import Tensor

from combred.chemistry.mechanism import Mechanism
from combred.surrogates.model.correction import CorrectionTransform
from combred.surrogates.model.element_projection import ElementProjection
from combred.surrogates.model.transform import signed_power
from combred.surrogates.sensitivity.rows import SensitiveStates

WEIGHT = 0.8  # of this loss beside that of the states
SHARE = 2  # rows of states in a batch for each row of this loss
LARGEST = 1.0  # bound of a row's loss: in the first steps some are far above it
DIFFERENCE = 1e-4  # of F(Y), for dY/dF
PIECE = 8192  # rows that are encoded at once


class SensitivityLoss:
    """x (n, n_inputs): network inputs of all rows; z (n, n_variables): targets; w
    (n, n_variables): derivative of s . Y / dt by the correction divided by M, float32. seed: of
    the rows of each step."""

    def __init__(
        self,
        states: SensitiveStates,
        transform: CorrectionTransform,
        mechanism: Mechanism,
        device: torch.device,
        seed: int,
    ):
        pieces = (states.rows(slice(i, i + PIECE)) for i in range(0, len(states), PIECE))
        tensors = [_encode(rows, transform, mechanism) for rows in pieces]
        self.x, self.z, self.w = (
            torch.cat(piece).to(device) for piece in zip(*tensors, strict=True)
        )
        content = hashlib.sha256()
        for column in states.columns().values():
            content.update(np.ascontiguousarray(column).tobytes())
        self.digest = content.hexdigest()[:16]  # a checkpoint belongs to a training with the same
        self.power, self.bound = transform.power, transform.BOUND
        self.device, self.seed = device, seed

    def rows(self, step: int, batch: int) -> Tensor:
        """The rows of a step (n,), for a batch of so many states; one at least."""
        rng = np.random.default_rng([self.seed, 10, step])
        drawn = rng.integers(0, len(self.x), max(1, batch // SHARE))
        return torch.from_numpy(drawn).to(self.device)

    def errors(self, answer: Tensor, rows: Tensor) -> Tensor:
        """s . e / dt (n,) of the network's answers (n, n_outputs) to the inputs of some rows."""
        z, w = self.z.index_select(0, rows), self.w.index_select(0, rows)
        predicted = answer[:, : z.size(1)]
        r = signed_power(predicted, 1.0 / self.power).clamp(-self.bound, self.bound)
        return ((r - signed_power(z, 1.0 / self.power)) * w).sum(dim=1)

    def __call__(self, answer: Tensor, rows: Tensor) -> Tensor:
        """The loss of the answers to some rows, a scalar."""
        return WEIGHT * self.errors(answer, rows).abs().clamp(max=LARGEST).mean()


def _encode(
    rows: SensitiveStates, transform: CorrectionTransform, mechanism: Mechanism
) -> tuple[Tensor, Tensor, Tensor]:
    """x, z and w of rows, as `SensitivityLoss` has them."""
    state, later = torch.from_numpy(rows.state()), torch.from_numpy(rows.next_state())
    dt = torch.from_numpy(rows.dt)
    with torch.no_grad():
        v = transform.variables(state)
        variables = transform.variables(later)
        x, base, size = transform.prepared(state, v, dt)
        z = transform.target(variables - v - base, size)[:, : v.size(1)]
        F, inverse = variables[:, 2:], transform.boxcox.inverse
        dY_dF = (inverse(F + DIFFERENCE) - inverse(F - DIFFERENCE)) / (2 * DIFFERENCE)
        s = torch.from_numpy(rows.sensitivity)
        s = _through_closure(s, later[:, 2:], state[:, 2:], ElementProjection(mechanism))
        w = torch.zeros_like(v)
        w[:, 2:] = s * dY_dF / dt[:, None]
        w *= transform.scale * size[:, None]
    return x, z.float(), w.float()


def _through_closure(s: Tensor, Y: Tensor, before: Tensor, projection: ElementProjection) -> Tensor:
    """The sensitivity (n, n_species) to an error before the closure, of s to one after it, near the
    change from `before` to Y: s - E^T (E W E^T)^-1 E W s over the reactive species, W = diag(Y w);
    zero for inert ones."""
    inner, y, inputs = (
        rows.T.index_select(0, projection.reactive) for rows in (s, Y.clamp(min=0.0), before)
    )
    W, E = y * projection.weight(y, inputs), projection.elements
    inner = inner - E.T @ projection.solve(W, E @ (W * inner))
    return torch.zeros_like(s).index_copy(1, projection.reactive, inner.T)

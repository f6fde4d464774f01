"""The training range: limits of every variable, and of the Mahalanobis distance.

Takes a fitted `StateTransform` and the training states, streamed; gives a module, `Trained`, that
says whether a state is valid, and whether it is like those of the training.
"""

from collections.abc import Iterable
from typing import Final

import torch
from torch import Tensor, nn

from combred.chemistry.states import HIGHEST_T, LOWEST_T
from combred.surrogates.model.tolerance import usual_p
from combred.surrogates.model.transform import StateTransform

# Added to each standardised variance, so that a combination of variables that hardly varies in
# training does not decide alone.
DAMPING = 1e-4


def squared_distance(x: Tensor, inverse_covariance: Tensor) -> Tensor:
    """Squared Mahalanobis distance x^T C^-1 x (n,) [-] of standardised features x
    (n, 2 + n_species) from their mean; `inverse_covariance`: C^-1."""
    return ((x @ inverse_covariance) * x).sum(dim=1)


def damped_inverse(covariance: Tensor) -> Tensor:
    """(C + 1e-4 I)^-1 of the covariance C of standardised features, float64."""
    damped = covariance + DAMPING * torch.eye(len(covariance), dtype=torch.float64)
    return torch.linalg.inv(damped)


def range_of_states(
    transform: StateTransform, inverse_covariance: Tensor, chunks: Iterable[Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Lowest and highest [T, p, F(Y)] (2 + n_species,) of states, and the largest
    `squared_distance` of one; `chunks`: the states [T, p, Y] (n, 2 + n_species), streamed."""
    low = torch.full_like(transform.low, torch.inf)
    high = torch.full_like(transform.high, -torch.inf)
    largest = torch.zeros((), dtype=torch.float64)
    for state in chunks:
        v = transform.variables(state)
        low, high = torch.minimum(low, v.amin(0)), torch.maximum(high, v.amax(0))
        distance = squared_distance(transform.features(v), inverse_covariance)
        largest = torch.maximum(largest, distance.max())
    return low, high, largest


class Trained(nn.Module):
    """A model of states of n variables [T, p, Y], and the range of its training."""

    inverse_covariance: Tensor
    max_mahalanobis: Tensor

    # Of a state that is valid [K].
    LOWEST_T: Final[float] = LOWEST_T
    HIGHEST_T: Final[float] = HIGHEST_T

    def __init__(self, n: int, transform: StateTransform):
        super().__init__()
        self.n, self.transform = n, transform
        # Of the training states' features; the largest distance is squared.
        self.register_buffer("inverse_covariance", torch.zeros(n, n, dtype=torch.float64))
        self.register_buffer("max_mahalanobis", torch.tensor(torch.inf, dtype=torch.float64))

    def require_states(self, state: Tensor) -> None:
        """ValueError unless `state` is float64 of shape (n, 2 + n_species)."""
        if state.dim() != 2 or state.size(1) != self.n or state.dtype != torch.float64:
            other = "" if state.dtype == torch.float64 else ", of another type: give .double()"
            raise ValueError(
                f"states are float64 of shape (n, {self.n}): T [K], p [Pa] and mass fractions Y; "
                f"these have shape {state.size()}{other}"
            )

    @torch.jit.export
    def in_training_range(self, state: Tensor) -> Tensor:
        """(n,) bool: the state is valid and like those of the training. Every variable of
        [T, p, F(Y)] is inside its range in training, and the Mahalanobis distance from the mean is
        at most that of the farthest training state."""
        self.require_states(state)
        variables = self.transform.variables(state)
        x = self.transform.features(variables)
        low, high = self.limits()
        inside = ((variables >= low) & (variables <= high)).all(dim=1)
        near = squared_distance(x, self.inverse_covariance) <= self.max_mahalanobis * (1.0 + 1e-9)
        return inside & near & self.is_valid_state(state)

    def limits(self) -> tuple[Tensor, Tensor]:
        """Lowest and highest [T, p, F(Y)] of `in_training_range`, (2 + n_species,) each: those of
        the training, and 1e-3 of the range beyond, for rounding and transport errors."""
        low, high = self.transform.low, self.transform.high
        margin = 1e-3 * (high - low)
        return low - margin, high + margin

    def is_valid_state(self, state: Tensor) -> Tensor:
        """(n,) bool: all values are finite, T is from 100 to 6000 K, p is positive, no Y is below
        -1e-6 and sum Y is 1 within 1e-3."""
        T, p = state[:, 0], state[:, 1]
        valid = torch.isfinite(state).all(dim=1) & (p > 0.0)
        valid = valid & (T >= self.LOWEST_T) & (T <= self.HIGHEST_T)
        valid = valid & (state[:, 2:] >= -1e-6).all(dim=1)
        return valid & ((state[:, 2:].sum(dim=1) - 1.0).abs() < 1e-3)

    def fit_trust(self, chunks: Iterable[Tensor]) -> None:
        """Set the limits of `in_training_range` from the training states, (n, 2 + n_species) each,
        streamed. The transform must have been fitted to them."""
        self.inverse_covariance.copy_(damped_inverse(self.transform.covariance))
        farthest = range_of_states(self.transform, self.inverse_covariance, chunks)[2]
        self.max_mahalanobis.copy_(farthest)

    @torch.jit.ignore
    def narrow_trust(self, chunks: Iterable[Tensor]) -> None:
        """Restrict `in_training_range` to the range of these states, (n, 2 + n_species) each,
        streamed; what was outside before stays outside."""
        t = self.transform
        low, high, farthest = range_of_states(t, self.inverse_covariance, chunks)
        t.low.copy_(torch.maximum(t.low, torch.minimum(low, t.high)))
        t.high.copy_(torch.minimum(t.high, torch.maximum(high, t.low)))
        self.max_mahalanobis.copy_(torch.minimum(self.max_mahalanobis, farthest))

    @torch.jit.ignore
    def usual_p(self) -> tuple[float, float]:
        """As of `Stepper`: `FAR` times below and above those of the training."""
        t = self.transform
        return usual_p(*t.pressure(torch.stack([t.low[1], t.high[1]])).tolist())

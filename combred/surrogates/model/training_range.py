"""The training range: limits of every variable, and of the Mahalanobis distance.

Takes a fitted `StateTransform` and the training states, streamed; gives the numbers by which
`Surrogate.in_training_range` decides whether a state is like those of the training.
"""

from collections.abc import Iterable

import torch
from torch import Tensor

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

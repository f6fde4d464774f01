"""Training losses: scalar functions of prediction and target, both (n, 2 + n_species)."""

import torch
from torch import Tensor


def l1(prediction: Tensor, target: Tensor) -> Tensor:
    """Mean absolute error: the loss of the papers, robust to rare large changes."""
    return (prediction - target).abs().mean()


def mse(prediction: Tensor, target: Tensor) -> Tensor:
    """Mean squared error; worse than `l1` in every comparison made here (docs/findings.md)."""
    return torch.square(prediction - target).mean()


LOSSES = {"l1": l1, "mse": mse}

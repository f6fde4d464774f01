"""The training loss. The squared error lost in every comparison (docs/findings.md)."""

from torch import Tensor


def l1(prediction: Tensor, target: Tensor) -> Tensor:
    """Mean absolute error: the loss of the papers, robust to the rare large changes."""
    return (prediction - target).abs().mean()

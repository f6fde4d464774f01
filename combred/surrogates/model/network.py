"""The fully connected network of a surrogate, and its initialization.

Takes standardised features (n, n_inputs); gives the transformed change over one step
(n, 2 + n_species). What goes in and what comes out is defined in `model.transform`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Network(nn.Module):
    """A fully connected ReLU network of given `widths`, input and output included.

    Without biases it has sum_l m_l m_{l+1} weights, the size that the papers count.
    """

    __jit_unused_properties__ = ["linear", "widths", "n_weights"]

    def __init__(self, widths: Sequence[int]):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(m, n) for m, n in zip(widths[:-1], widths[1:], strict=True)
        )

    @property
    def linear(self) -> list[nn.Linear]:
        """The layers, from input to output."""
        return [layer for layer in self.layers if isinstance(layer, nn.Linear)]

    @property
    def widths(self) -> list[int]:
        """Units of every layer, input and output included."""
        return [self.linear[0].in_features] + [layer.out_features for layer in self.linear]

    @property
    def n_weights(self) -> int:
        """Number of weights, without biases."""
        return sum(layer.weight.numel() for layer in self.linear)

    def forward(self, x: Tensor) -> Tensor:
        """x (n, widths[0]) -> (n, widths[-1]): ReLU between the affine layers, none after the
        last."""
        last = len(self.layers) - 1
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i < last:
                x = torch.relu(x)
        return x


def initialize(network: Network, scales: Sequence[float | str], generator: torch.Generator) -> None:
    """Draw the weights of each layer from a normal distribution; biases are zero.

    `scales`, one for each layer: a number g is g times He's standard deviation sqrt(2 / m_in)
    (He et al., ICCV 2015); "condense" is the standard deviation 2 / (m_in + m_out) of Chen & Xu
    2024, equation 19, so small that neurons align in direction during training.
    """
    for layer, scale in zip(network.linear, scales, strict=True):
        m_out, m_in = layer.weight.shape
        std = 2.0 / (m_in + m_out) if scale == "condense" else float(scale) * (2.0 / m_in) ** 0.5
        with torch.no_grad():
            layer.weight.normal_(0.0, std, generator=generator)
            layer.bias.zero_()

"""The fully connected network and its initialization."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Network(nn.Module):
    """A fully connected ReLU network of given `widths`, input and output included.

    Without biases it has sum_l m_l m_{l+1} weights; that is the size the papers count.
    """

    def __init__(self, widths: Sequence[int]):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(m, n) for m, n in zip(widths[:-1], widths[1:], strict=True)
        )

    @property
    def widths(self) -> list[int]:
        return [self.layers[0].in_features] + [layer.out_features for layer in self.layers]

    @property
    def n_weights(self) -> int:
        return sum(layer.weight.numel() for layer in self.layers)

    def forward(self, x: Tensor) -> Tensor:
        last = len(self.layers) - 1
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i < last:
                x = torch.relu(x)
        return x


def initialize(network: Network, scales: Sequence[float | str], generator: torch.Generator) -> None:
    """Draw the weights of each layer; biases are zero.

    A number g means g times He's standard deviation sqrt(2 / m_in) (He et al., ICCV 2015);
    "condense" means the standard deviation 2 / (m_in + m_out) of Chen & Xu 2024, equation 19,
    small enough that neurons align in direction while training.
    """
    for layer, scale in zip(network.layers, scales, strict=True):
        m_out, m_in = layer.weight.shape
        std = 2.0 / (m_in + m_out) if scale == "condense" else float(scale) * (2.0 / m_in) ** 0.5
        with torch.no_grad():
            layer.weight.normal_(0.0, std, generator=generator)
            layer.bias.zero_()

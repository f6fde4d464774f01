"""Initialisation of the convolutions of the residual and VGG networks."""

from torch import nn


def initialize_fan_out(network: nn.Module) -> None:
    """Convolutions from N(0, 2 / fan_out), He et al. (ICCV 2015), equation 14."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

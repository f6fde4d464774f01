"""Floating-point operations of one image through a network, counted as Zhang et al. count them.

A multiply-add is two operations; batch normalisation, ReLU and pooling count as well (their section
4, "Acceleration metric"). What an operation of the latter costs is not printed; with the numbers
below, VGG-16 has 627,357,696 and ResNet-110 341,230,592 on CIFAR-10, and these are the 627.36 M and
341.23 M of their table 1. Biases and the sums of residual blocks are then not counted.
"""

import math

import torch
from torch import Tensor, nn

NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)
PER_NORM, PER_ACTIVATION = 2, 1  # per element: scale and shift; compare


def n_flops(network: nn.Module, image: Tensor) -> int:
    """Operations of one forward pass of `image` (1, channels, height, width)."""
    total, hooks = 0, []

    def count(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        nonlocal total
        total += operations(module, inputs[0], output)

    for module in network.modules():
        if not list(module.children()):
            hooks.append(module.register_forward_hook(count))
    was_training = network.training
    network.eval()
    try:
        with torch.no_grad():
            network(image)
    finally:
        network.train(was_training)
        for hook in hooks:
            hook.remove()
    return total


def operations(module: nn.Module, x: Tensor, y: Tensor) -> int:
    """Operations of one module that made y of x."""
    if isinstance(module, (nn.Conv2d, nn.Linear)):
        return 2 * y.numel() * module.weight[0].numel()
    if isinstance(module, NORMS):
        return PER_NORM * y.numel()
    if isinstance(module, (nn.ReLU, nn.ReLU6)):
        return PER_ACTIVATION * y.numel()
    if isinstance(module, (nn.MaxPool2d, nn.AvgPool2d)):
        return y.numel() * math.prod(_pair(module.kernel_size))
    if isinstance(module, nn.AdaptiveAvgPool2d):
        return x.numel()
    return 0


def _pair(size: int | tuple[int, int]) -> tuple[int, int]:
    return size if isinstance(size, tuple) else (size, size)

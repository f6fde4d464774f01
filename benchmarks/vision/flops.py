"""Floating-point operations of a network for one image, counted as by Zhang et al.

A multiply-add is two operations; batch normalisation, ReLU and pooling count as well (section 4,
"Acceleration metric"). The paper does not say how many operations these have. With the numbers
below, VGG-16 has 627,357,696 and ResNet-110 341,230,592 on CIFAR-10, which are the 627.36 M and
341.23 M of their table 1; biases and the sums of residual blocks are not counted.
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
    """Operations of one module with input x and output y."""
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

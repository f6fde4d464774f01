"""What a method may look at: the units of one hidden layer, as rows, as readers see them, as data.

Takes a network and a `HiddenLayer`; gives `Units`. Methods take `Units` and give a `Merge`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from combred.reduction.calibration import Moments
from combred.reduction.layers import HiddenLayer


@dataclass(frozen=True)
class BatchNorm:
    """gamma, beta, mean, std (m,) of a batch norm, float64; std = sqrt(var + eps)."""

    gamma: Tensor
    beta: Tensor
    mean: Tensor
    std: Tensor

    @property
    def scale(self) -> Tensor:
        return self.gamma / self.std

    @property
    def shift(self) -> Tensor:
        return self.beta - self.mean * self.scale


@dataclass(frozen=True)
class Units:
    """The m units of a hidden layer of a network, float64.

    weights (m, d), bias (m,): what the producer computes, kernels unfolded (0 and empty for a
    `selects` layer). norm: the batch norm behind it, or None. kernels (m, d'): those of a depthwise
    convolution on the way, its batch norm's scale included, or None. reading (m, q): what the next
    layers make of each unit, side by side. moments: of what they read, if there is calibration.
    """

    network: nn.Module
    layer: HiddenLayer
    weights: Tensor
    bias: Tensor
    norm: BatchNorm | None
    kernels: Tensor | None
    reading: Tensor
    moments: Moments | None = None

    @property
    def m(self) -> int:
        return len(self.bias)

    @property
    def rows(self) -> Tensor:
        """Rows v_k = [W_k | b_k] (m, d + 1), the batch norm behind the layer folded in; of a block
        with a depthwise convolution, its kernels, on which Chen & Xu condense."""
        if self.kernels is not None:
            return self.kernels
        if self.norm is None:
            return torch.cat([self.weights, self.bias[:, None]], dim=1)
        scale = self.norm.scale
        bias = self.bias * scale + self.norm.shift
        return torch.cat([self.weights * scale[:, None], bias[:, None]], dim=1)

    def require_moments(self, method: str) -> Moments:
        """The moments, or ValueError: what `method` needs is calibration."""
        if self.moments is None:
            raise ValueError(
                f"{method} looks at activations: give calibration=inputs (512 are nearly enough; "
                "combred.reduction.gaussian_inputs makes some where there is no data)"
            )
        return self.moments


@torch.no_grad()
def describe_units(network: nn.Module, layer: HiddenLayer, moments: Moments | None = None) -> Units:
    """The `Units` of a layer of a network."""
    producer = network.get_submodule(layer.name)
    norm = batch_norm(network.get_submodule(layer.norm)) if layer.norm else None
    if layer.selects:
        weights, bias = norm.gamma.new_zeros(len(norm.gamma), 0), torch.zeros_like(norm.gamma)
    else:
        weights = producer.weight.detach().double().flatten(1)
        bias = weights.new_zeros(len(weights))
        if producer.bias is not None:
            bias = producer.bias.detach().double()
    kernels = None
    if layer.depthwise:
        kernels = network.get_submodule(layer.depthwise).weight.detach().double().flatten(1)
        behind = norm_behind(network, layer)
        if behind is not None:
            kernels = kernels * batch_norm(behind).scale[:, None]
    reading = [
        _by_unit(network.get_submodule(name).weight.detach().double(), len(bias))
        for name, _ in layer.readers
    ]
    return Units(network, layer, weights, bias, norm, kernels, torch.cat(reading, dim=1), moments)


def norm_behind(network: nn.Module, layer: HiddenLayer) -> nn.Module | None:
    """The batch norm behind the depthwise convolution of a layer, if there is one."""
    following = layer.carriers[layer.carriers.index(layer.depthwise) + 1 :]
    return network.get_submodule(following[0]) if following else None


def batch_norm(module: nn.Module) -> BatchNorm:
    """Its parameters and running statistics. ValueError where it keeps no statistics."""
    if module.running_mean is None:
        raise ValueError("a batch norm without running statistics cannot be folded")
    mean, std = module.running_mean.double(), (module.running_var.double() + module.eps).sqrt()
    ones = torch.ones_like(mean)
    gamma = module.weight.detach().double() if module.affine else ones
    beta = module.bias.detach().double() if module.affine else ones - 1.0
    return BatchNorm(gamma, beta, mean, std)


def _by_unit(weight: Tensor, m: int) -> Tensor:
    """(n, m * positions) or (n, m, ...) -> (m, n * positions)."""
    return weight.reshape(len(weight), m, -1).transpose(0, 1).flatten(1)

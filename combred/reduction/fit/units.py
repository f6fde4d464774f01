"""The units of one hidden layer, as a reduction method sees them."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from combred.reduction.fit.calibration import (
    Calibration,
    Moments,
    missing_calibration,
    producer_moments,
)
from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.operations import NORMS
from combred.reduction.network.tensors import bias_of, tensor_of


@dataclass(frozen=True)
class BatchNorm:
    """A batch norm in inference, gamma (x - mean) / std + beta, as float64 tensors (m,).

    std = sqrt(running variance + eps). affine: whether it has parameters gamma and beta.
    """

    gamma: Tensor
    beta: Tensor
    mean: Tensor
    std: Tensor
    eps: float
    affine: bool

    @property
    def scale(self) -> Tensor:
        """gamma / std (m,): the batch norm is scale x + shift."""
        return self.gamma / self.std

    @property
    def shift(self) -> Tensor:
        """beta - mean scale (m,)."""
        return self.beta - self.mean * self.scale


@dataclass(frozen=True)
class Units:
    """The m units of a hidden layer of a network; tensors are float64.

    weights (m, d), bias (m,): of the producer, filters flattened (for a residual layer no columns,
    and zeros). norm: the batch norm right behind the producer, or None. filters (m, d'): of a
    depthwise convolution behind it, times the scale of its batch norm, or None. reading (m, q): the
    weights with which the next layers read each unit, all of them side by side. moments: of the
    activations that the next layers read, None without calibration inputs. calibration: the inputs
    themselves, None without them.
    """

    network: nn.Module
    layer: HiddenLayer
    weights: Tensor
    bias: Tensor
    norm: BatchNorm | None
    filters: Tensor | None
    reading: Tensor
    moments: Moments | None = None
    calibration: Calibration | None = None

    @property
    def m(self) -> int:
        """Number of units."""
        return len(self.bias)

    @property
    def rows(self) -> Tensor:
        """Rows v_k = [W_k | b_k] (m, d + 1), the batch norm behind the producer folded in; with a
        depthwise convolution behind it, the rows are its filters (Chen & Xu 2024, appendix A.3)."""
        if self.filters is not None:
            return self.filters
        if self.norm is None:
            return torch.cat([self.weights, self.bias[:, None]], dim=1)
        scale = self.norm.scale
        bias = self.bias * scale + self.norm.shift
        return torch.cat([self.weights * scale[:, None], bias[:, None]], dim=1)

    def require_moments(self, method: str) -> Moments:
        """The moments; ValueError where there are none, in the name of a method."""
        if self.moments is None:
            raise ValueError(missing_calibration(method))
        return self.moments

    def require_producer_moments(self, method: str) -> Moments:
        """Moments of the units before the activation; ValueError as `require_moments`."""
        if self.calibration is None:
            raise ValueError(missing_calibration(method))
        return producer_moments(self.network, self.layer, self.calibration)


@torch.no_grad()
def describe_units(
    network: nn.Module,
    layer: HiddenLayer,
    moments: Moments | None = None,
    calibration: Calibration | None = None,
) -> Units:
    """The `Units` of a hidden layer, found in this network or in one that it was reduced from.

    moments: of the activations that its readers read (`calibration.layer_moments`), or None.
    calibration: the inputs (n, ...) that these are of, or None.
    """
    producer = network.get_submodule(layer.name)
    norm = batch_norm(network.get_submodule(layer.norm)) if layer.norm else None
    if layer.residual and norm is not None:
        weights, bias = norm.gamma.new_zeros(len(norm.gamma), 0), torch.zeros_like(norm.gamma)
    else:
        weights, offset = tensor_of(producer).detach().double().flatten(1), bias_of(producer)
        bias = weights.new_zeros(len(weights)) if offset is None else offset.detach().double()
    filters = None
    if layer.depthwise:
        filters = tensor_of(network.get_submodule(layer.depthwise)).detach().double().flatten(1)
        if layer.norm_behind:
            behind = batch_norm(network.get_submodule(layer.norm_behind))
            filters = filters * behind.scale[:, None]
    read = [tensor_of(network.get_submodule(name)).detach().double() for name, _ in layer.readers]
    # (n, m * positions) or (n, m, ...) -> (m, n * positions)
    reading = [W.reshape(len(W), len(bias), -1).transpose(0, 1).flatten(1) for W in read]
    data = moments, calibration
    return Units(network, layer, weights, bias, norm, filters, torch.cat(reading, dim=1), *data)


def batch_norm(module: nn.Module) -> BatchNorm:
    """Parameters and running statistics of a batch norm; ones and zeros where it has no gamma and
    beta."""
    mean, variance = (tensor_of(module, f"running_{name}").double() for name in ("mean", "var"))
    if not isinstance(module, NORMS):
        raise TypeError(f"{type(module).__name__} is no batch norm")
    gamma, beta, unit_scale = module.weight, module.bias, torch.ones_like(mean)
    return BatchNorm(
        gamma=gamma.detach().double() if isinstance(gamma, Tensor) else unit_scale,
        beta=beta.detach().double() if isinstance(beta, Tensor) else unit_scale - 1.0,
        mean=mean,
        std=(variance + module.eps).sqrt(),
        eps=module.eps,
        affine=module.affine,
    )

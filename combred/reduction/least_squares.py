"""Least squares: the kept units read so that the next layer's input changes least."""

from collections.abc import Iterable

import torch
from torch import Tensor

from combred.network import Network
from combred.reduction.merge import Merge, check_layer


def activations(network: Network, layer: int, x: Tensor) -> Tensor:
    """Output (n, m) of hidden layer `layer` (1 is the first) for inputs x (n, m_in)."""
    check_layer(network, layer)
    for linear in network.layers[:layer]:
        x = torch.relu(linear(x))
    return x


def refit(merge: Merge, pairs: Iterable[tuple[Tensor, Tensor]], ridge: float = 1e-6) -> Merge:
    """The same kept units with the mixing Z and offset o that minimise, over calibration states,

        |A - (B[:, kept] Z + o)|^2 + ridge * trace(G) / k * |Z - Z0|^2

    `pairs` streams (A, B), both (n, m): the layer's activations in the original network and in the
    one whose earlier layers are already reduced (the same, if none is). Z0 is the mixing given:
    where the calibration says nothing, nothing moves. Since the next layer is linear in A, these Z
    and o also minimise the error of its pre-activations, whatever its weights. Normal equations,
    float64; G is the covariance of B[:, kept].
    """
    n, sums = 0, None
    for original, reduced in pairs:
        A, B = original.detach().double(), reduced.detach().double()[:, merge.kept]
        parts = [A.sum(0), B.sum(0), B.T @ B, B.T @ A]
        sums = parts if sums is None else [s + q for s, q in zip(sums, parts, strict=True)]
        n += len(A)
    if not n:
        raise ValueError("least-squares compensation needs calibration states; none were given")
    mean_A, mean_B = sums[0] / n, sums[1] / n
    G = sums[2] / n - torch.outer(mean_B, mean_B)
    R = sums[3] / n - torch.outer(mean_B, mean_A)
    weight = max(ridge, 1e-12) * torch.diagonal(G).mean().clamp(min=1e-300)
    damped = G + weight * torch.eye(len(G), dtype=G.dtype, device=G.device)
    Z = torch.linalg.solve(damped, R + weight * merge.mixing)
    return Merge(merge.kept, Z, mean_A - Z.T @ mean_B)

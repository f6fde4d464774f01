"""Condensation of depthwise-separable blocks (MobileNetV2): Chen & Xu 2024, appendix A.3.

Part of condensation. A block is

    expand (1 x 1) -> batch norm f -> activation -> depthwise -> batch norm g -> activation
    -> project (1 x 1)

The depthwise filters v_k are grouped; then expand, f, g and project of each group are solved for
together, by least squares. f is epsilon x + zeta, g is mu x + nu, as in the paper.

Where the paper leaves a choice, or contradicts itself:

- *Ratios.* The merged projection uses |mu_k v_k| / |mu_main v_main|, and filters are grouped with
  the factor mu_k. The paper has |v_k| / |v_main|: the same for mu_k = mu_main. The ratio used here
  is exact also where the batch norm has normalised the length of v_k.
- *nu* follows equation (61), b_new nu_new = b_p nu_p + b_q nu_q. The last row of (63) has an extra
  ratio, which does not follow from (57) and is not exact.
- *Signs.* Where mu_k and mu_main differ in sign, v_k points against v_main. In (63),
  |v_k| / |v_main| mu_k is then r_k mu_main, with the ratio r_k above; with equal signs both agree.
- *Range.* (63) determines (epsilon, zeta) and mu only up to factors s and 1/s; with s = 1 the
  activation in the middle receives the sum of the merged channels. ReLU6 is homogeneous only below
  6, so the mean is taken instead: s = 1 / sum_k |v_k| / |v_main|, and mu is solved for afterwards.
  With ReLU the result is the same.
- *Mean and variance.* Equation (64) gives the running statistics; gamma and eta then follow from
  epsilon = gamma / sqrt(Var + eps) and zeta = eta - Mean epsilon. (64) inverts the ratios and sums
  over the group; here the mean is taken, so that a group of one keeps its statistics. The ratio is
  the growth of the batch norm's input with k: |v_k| / |v_main| for g, and 1 for f, which comes
  before v_k. With another ratio f would not normalise when training goes on.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from combred.reduction.fit.units import Units, batch_norm
from combred.reduction.methods.grouping import merge_similar
from combred.reduction.network.merge import Merge
from combred.reduction.network.tensors import bias_of, tensor_of


def condense_block(
    units: Units, *, threshold: float | None = None, keep: int | None = None
) -> Merge:
    """The merge of the groups of depthwise filters of a block (their equations 48, 62 to 64).

    units: of the layer that the expansion makes. The mixing holds the ratios r_k; `carriers` the
    new expansion, filters and batch norms of the kept channels.
    """
    layer, network, nothing = units.layer, units.network, torch.zeros_like(units.bias)
    merge = merge_similar(units.rows, nothing.bool(), nothing, threshold, keep)
    f = _Affine(network, layer.name, layer.norm)
    g = _Affine(network, layer.depthwise, layer.norm_behind)
    length = g.weight.flatten(1).norm(dim=1)  # |v_k|
    solved = [
        _solve_group(units, merge.mixing[i], main, (f.scale, f.shift, g.scale, g.shift), length)
        for i, main in enumerate(merge.kept.tolist())
    ]
    alpha, epsilon, zeta, mu, nu = (torch.stack(side) for side in zip(*solved, strict=True))
    carriers = f.tensors(alpha, epsilon, zeta, f.statistics(merge, torch.ones_like(length)))
    carriers |= g.tensors(g.weight[merge.kept], mu, nu, g.statistics(merge, length))
    return Merge(merge.kept, merge.mixing, merge.offset, carriers)


class _Affine:
    """A convolution and the batch norm behind it, or its bias: scale x + shift of each channel (m,)
    of the convolution without bias."""

    def __init__(self, network: nn.Module, name: str, norm: str):
        self.name, self.norm_name = name, norm
        convolution = network.get_submodule(name)
        self.weight, self.bias = tensor_of(convolution).detach().double(), bias_of(convolution)
        bias = self.weight.new_zeros(len(self.weight))
        if self.bias is not None:
            bias = self.bias.detach().double()
        self.norm, self.scale, self.shift = None, torch.ones_like(bias), bias
        if norm:
            plain = batch_norm(network.get_submodule(norm))
            self.norm = replace(plain, mean=plain.mean - bias)
            self.scale, self.shift = self.norm.scale, self.norm.shift

    def statistics(self, merge: Merge, length: Tensor) -> tuple[Tensor, Tensor] | None:
        """Running mean and variance (k,) by equation (64); None where there is no batch norm."""
        if self.norm is None:
            return None
        grouped = (merge.mixing != 0).double()
        scale = length[merge.kept, None]
        rho = torch.where(scale > 0, length / scale.clamp(min=1e-300), 1.0)  # (k, m)
        inverse = torch.where(grouped > 0, 1.0 / rho.clamp(min=1e-300), 0.0)
        count = grouped.sum(dim=1)
        variance = (self.norm.std**2 - self.norm.eps).clamp(min=0.0)
        return inverse @ self.norm.mean / count, (inverse**2) @ variance / count

    def tensors(
        self, weight: Tensor, scale: Tensor, shift: Tensor, statistics: tuple[Tensor, Tensor] | None
    ) -> dict[str, Tensor]:
        """New tensors with this weight, scale and shift for the kept channels (k,)."""
        weight, bias = weight.reshape(-1, *self.weight.shape[1:]), shift
        new = {}
        if statistics is None or self.norm is None:
            weight = weight * scale.reshape(-1, *[1] * (weight.dim() - 1))
        else:
            (mean, var), bias = statistics, torch.zeros_like(shift)
            new = {f"{self.norm_name}.running_mean": mean, f"{self.norm_name}.running_var": var}
            std = (var + self.norm.eps).sqrt()
            if self.norm.affine:
                new[f"{self.norm_name}.weight"] = scale * std
                new[f"{self.norm_name}.bias"] = shift + mean * scale
            else:  # the convolution takes up the scale, the running mean the shift
                weight = weight * (scale * std).reshape(-1, *[1] * (weight.dim() - 1))
                new[f"{self.norm_name}.running_mean"] = -shift * std
        new[f"{self.name}.weight"] = weight
        if self.bias is not None:
            new[f"{self.name}.bias"] = bias
        return new


def _solve_group(
    units: Units, mixing: Tensor, main: int, affine: tuple[Tensor, ...], length: Tensor
) -> tuple[Tensor, ...]:
    """alpha (d,), epsilon, zeta, mu and nu of one merged channel.

    mixing (m,): ratios r_k, 0 outside the group; main: its main channel. affine: epsilon, zeta, mu,
    nu (m,) of all channels. length (m,): |v_k|. Solved in the order of the paper: (48) for the
    column b of the projection and the row alpha of the expansion, then (63) for the rest. A channel
    alone in its group stays as it is.
    """
    epsilon, zeta, mu, nu = affine
    group = (mixing != 0).nonzero()[:, 0]
    alpha = units.weights
    if len(group) == 1:
        return alpha[main], epsilon[main], zeta[main], mu[main], nu[main]
    r, b = mixing[group], units.reading[group]
    rho = length[group] / length[main].clamp(min=1e-300)  # |v_k| / |v_main|
    total = rho.sum()
    b_new = r @ b
    power = (b_new @ b_new).clamp(min=1e-300)
    # b_new[j] alpha = sum_k r_k b_k[j] alpha_k for every output j: overdetermined.
    alpha_new = ((b @ b_new) * r / power) @ alpha[group]
    size = (alpha_new @ alpha_new).clamp(min=1e-300)
    epsilon_new = ((rho * epsilon[group]) @ (alpha[group] @ alpha_new)) / size / total
    zeta_new = (rho * zeta[group]).sum() / total
    # b_new[j] mu epsilon_new alpha_new[i] = sum_k rho_k b_k[j] mu_k epsilon_k alpha_k[i], all i, j.
    # rho_k mu_k = r_k mu_main, with the sign that v_k has along v_main.
    weight = r * mu[main] * epsilon[group] * (b @ b_new) * (alpha[group] @ alpha_new)
    scale = power * epsilon_new * size
    mu_new = weight.sum() / torch.where(scale == 0, 1.0, scale)
    nu_new = ((b @ b_new) * nu[group]).sum() / power
    return alpha_new, epsilon_new, zeta_new, mu_new, nu_new

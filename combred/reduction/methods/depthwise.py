"""Condensation of depthwise-separable blocks (MobileNetV2).

Chen & Xu 2024, appendix A.3. A block is expand (1 x 1) -> batch norm f -> activation -> depthwise
-> batch norm g -> activation -> project (1 x 1). Its depthwise kernels are grouped; expand, f, g
and project of each group are solved for together, by least squares.

Where the paper leaves a choice, or does not agree with itself:

- *Ratios.* The merged projection uses |mu_k v_k| / |mu_main v_main|, the kernels with their batch
  norm's scale, where the paper has |v_k| / |v_main|: the same where mu_k = mu_main, and exact also
  where the batch norm has normalised the length of v_k away. Kernels are grouped with that scale.
- *nu.* Their equation (61), b_new nu_new = b_p nu_p + b_q nu_q, not the last row of (63), which has
  a ratio there that does not follow from (57) and breaks exactness.
- *Signs.* Where mu_k and mu_main differ in sign, v_k points against v_main: |v_k| / |v_main| mu_k
  in (63) is taken as r_k mu_main, r_k being the ratio above; the same where the signs agree.
- *Range.* (63) has (epsilon, zeta) and mu only up to a factor s, 1/s; as it stands, the activation
  in the middle sees the sum of the merged channels. ReLU6 is homogeneous only below its bound, so
  the mean is taken: s = 1 / sum_k |v_k| / |v_main|, and mu is solved for after it. For ReLU it
  changes nothing.
- *Mean and variance.* Equation (64) gives running statistics; gamma and eta are then what makes
  epsilon = gamma / sqrt(Var + eps) and zeta = eta - Mean epsilon true. In (64) ratios are inverted
  and summed over the group; here too the mean is taken: a group of one keeps its statistics. The
  ratio is how the input of the batch norm grows with k: |v_k| / |v_main| for g, but 1 for f, which
  comes before v_k: else f would not normalise any more when training goes on.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from combred.reduction.merge import Merge
from combred.reduction.methods.grouping import group_rows, merge_groups, threshold_for
from combred.reduction.units import BatchNorm, Units, batch_norm, norm_behind


def condense_block(
    units: Units, *, threshold: float | None = None, keep: int | None = None
) -> Merge:
    """Group the depthwise kernels of a block and solve for the rest (their equations 48, 62 to 64).

    `units` is the block's hidden layer, found by `find_layers`. The mixing of the merge holds the
    ratios r_k; its `carriers` the solved expansion, kernels and batch norms of the kept channels.
    """
    layer, network, rows = units.layer, units.network, units.rows
    if threshold is None:
        threshold = threshold_for(rows, keep)
    none_dead = torch.zeros(units.m, dtype=torch.bool, device=rows.device)
    merge = merge_groups(rows, group_rows(rows, none_dead, threshold), torch.zeros_like(units.bias))
    expand = network.get_submodule(layer.name)
    depthwise = network.get_submodule(layer.depthwise)
    behind = norm_behind(network, layer)
    ones = torch.ones_like(units.bias)
    own = depthwise.bias.detach().double() if depthwise.bias is not None else torch.zeros_like(ones)
    f = _without_bias(network.get_submodule(layer.norm), units.bias) if layer.norm else None
    g = _without_bias(behind, own) if behind is not None else None
    epsilon, zeta = (f.scale, f.shift) if f else (ones, units.bias)
    mu, nu = (g.scale, g.shift) if g else (ones, own)
    length = depthwise.weight.detach().double().flatten(1).norm(dim=1)  # |v_k|
    solved = [
        _solve_group(units, merge.mixing[i], main, (epsilon, zeta, mu, nu), length)
        for i, main in enumerate(merge.kept.tolist())
    ]
    alpha, epsilon, zeta, mu, nu = (torch.stack(side) for side in zip(*solved, strict=True))
    carriers = {f"{layer.name}.weight": alpha.reshape(-1, *expand.weight.shape[1:])}
    if f is None:
        carriers[f"{layer.name}.weight"] = carriers[f"{layer.name}.weight"] * epsilon.reshape(
            -1, *[1] * (expand.weight.dim() - 1)
        )
        if expand.bias is not None:
            carriers[f"{layer.name}.bias"] = zeta
    else:
        if expand.bias is not None:
            carriers[f"{layer.name}.bias"] = torch.zeros_like(zeta)
        module = network.get_submodule(layer.norm)
        carriers |= _statistics(module, layer.norm, f, merge, ones, epsilon, zeta)
    if g is None:
        kept = depthwise.weight.detach().double()[merge.kept]
        shape = (-1, *[1] * (kept.dim() - 1))
        carriers[f"{layer.depthwise}.weight"] = kept * mu.reshape(shape)
        if depthwise.bias is not None:
            carriers[f"{layer.depthwise}.bias"] = nu
    else:
        if depthwise.bias is not None:
            carriers[f"{layer.depthwise}.bias"] = torch.zeros_like(nu)
        name = layer.carriers[layer.carriers.index(layer.depthwise) + 1]
        carriers |= _statistics(behind, name, g, merge, length, mu, nu)
    return Merge(merge.kept, merge.mixing, merge.offset, carriers)


def _without_bias(module: nn.Module, bias: Tensor) -> BatchNorm:
    """A batch norm for what comes before it less a bias (m,), which its mean loses too."""
    norm = batch_norm(module)
    return replace(norm, mean=norm.mean - bias)


def _solve_group(
    units: Units, mixing: Tensor, main: int, affine: tuple[Tensor, ...], length: Tensor
) -> tuple[Tensor, ...]:
    """alpha, epsilon, zeta, mu, nu of one merged channel.

    b_k (q,), a column of the projection, alpha_k (d,), the expansion's row; r_k the ratios. In the
    order of the paper: (48) for b and alpha, then (63) for epsilon, zeta, mu, nu. A channel alone
    in its group is returned as it is.
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


def _statistics(
    module: nn.Module, name: str, norm, merge: Merge, length: Tensor, scale: Tensor, shift: Tensor
) -> dict[str, Tensor]:
    """Running statistics by (64), and gamma and eta such that the batch norm is scale x + shift."""
    grouped = (merge.mixing != 0).double()
    own = length[merge.kept, None]
    rho = torch.where(own > 0, length / own.clamp(min=1e-300), 1.0)  # (k, m)
    inverse = torch.where(grouped > 0, 1.0 / rho.clamp(min=1e-300), 0.0)
    count = grouped.sum(dim=1)
    mean = inverse @ norm.mean / count
    var = (inverse**2) @ (norm.std**2 - module.eps).clamp(min=0.0) / count
    std = (var + module.eps).sqrt()
    new = {f"{name}.running_mean": mean, f"{name}.running_var": var}
    if module.affine:
        new |= {f"{name}.weight": scale * std, f"{name}.bias": shift + mean * scale}
    return new

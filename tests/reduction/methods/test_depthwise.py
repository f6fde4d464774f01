"""Depthwise-separable blocks: Chen & Xu 2024, appendix A.3, against their equations in numpy."""

import numpy as np
import pytest
import torch
from reducible import draw, gaussian
from torch import Tensor, nn

from combred.kernels import group
from combred.reduction import apply_merge, condense, describe_units, find_layers

INPUTS, OUTPUTS = 4, 5
NORMS = [(True, True), (False, False), (True, False), (False, True)]


def block(norms=(True, True), activation=nn.ReLU, bias: bool = True, m: int = 12) -> nn.Sequential:
    """expand, f, activation, depthwise, g, activation, project; f and g where `norms` says so."""
    return nn.Sequential(
        nn.Conv2d(INPUTS, m, 1, bias=bias),
        nn.BatchNorm2d(m) if norms[0] else nn.Identity(),
        activation(),
        nn.Conv2d(m, m, 3, padding=1, groups=m, bias=bias),
        nn.BatchNorm2d(m) if norms[1] else nn.Identity(),
        activation(),
        nn.Conv2d(m, OUTPUTS, 1),
    )


def inputs(n: int = 10, scale: float = 1.0) -> Tensor:
    return scale * gaussian(n, INPUTS, 6, 6, seed=5)


def units_of(network: nn.Module):
    return describe_units(
        network, find_layers(network, inputs(1).to(next(network.parameters()).dtype))[1]
    )


def merged(network: nn.Module, **how) -> nn.Module:
    units = units_of(network)
    return apply_merge(network, units.layer, condense(units, **how))


def assert_close(found, expected, tolerance: float = 1e-12) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


class Numbers:
    """alpha_k, epsilon_k, zeta_k, v_k, mu_k, nu_k and b_k of a block, in the paper's symbols."""

    def __init__(self, network: nn.Sequential):
        expand, f, _, depthwise, g, _, project = network
        self.alpha = expand.weight.detach().double().flatten(1).numpy()
        self.v = depthwise.weight.detach().double().flatten(1).numpy()
        self.b = project.weight.detach().double().flatten(1).numpy()  # [output, k]
        self.epsilon, self.zeta, self.f = self.affine(expand, f)
        self.mu, self.nu, self.g = self.affine(depthwise, g)

    @staticmethod
    def affine(conv: nn.Module, norm: nn.Module):
        """Scale and shift of bias and batch norm together (equation 51), and mean and variance of
        the batch norm for an input without the bias."""
        own = np.zeros(conv.out_channels)
        if conv.bias is not None:
            own = conv.bias.detach().double().numpy()
        if isinstance(norm, nn.Identity):
            return np.ones_like(own), own, None
        gamma, eta, mean, var = (
            t.detach().double().numpy()
            for t in (norm.weight, norm.bias, norm.running_mean, norm.running_var)
        )
        scale = gamma / np.sqrt(var + norm.eps)
        return scale, (own - mean) * scale + eta, (mean - own, var)


def least_squares(columns: np.ndarray, target: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(columns, target, rcond=None)[0]


def solve(old: Numbers, members: list[int], main: int) -> dict[str, np.ndarray]:
    """Equations (48), (63) and (64) for one group, each an overdetermined system, in their order.

    With the choices of `combred.reduction.methods.depthwise`: ratios with the scale of g, nu by
    (61), means in place of sums in the middle and in (64), whose ratio is 1 for f.
    """
    k = members
    length = np.linalg.norm(old.v, axis=1)
    ratio = length[k] / length[main]
    r = np.abs(old.mu[k]) * length[k] / (np.abs(old.mu[main]) * length[main])
    b = (old.b[:, k] * r).sum(axis=1)
    # (48): for every output j and input i, b[j] alpha[i] = sum_k r_k b_k[j] alpha_k[i]
    target = np.einsum("k,jk,ki->ji", r, old.b[:, k], old.alpha[k])
    alpha = np.array([least_squares(b[:, None], target[:, i])[0] for i in range(INPUTS)])
    # (63), third and fourth line
    target = np.einsum("k,k,ki->i", ratio, old.epsilon[k], old.alpha[k]) / ratio.sum()
    epsilon = least_squares(alpha[:, None], target)[0]
    zeta = (ratio * old.zeta[k]).sum() / ratio.sum()
    # (63), fifth line, for every j and i; v_k may point against v_main
    sign = np.sign(old.mu[k] * old.mu[main])
    target = np.einsum("k,jk,k,k,ki->ji", sign * ratio, old.b[:, k], old.mu[k], old.epsilon[k],
                       old.alpha[k])  # fmt: skip
    mu = least_squares(np.outer(b, epsilon * alpha).reshape(-1, 1), target.ravel())[0]
    # (61), second line
    nu = least_squares(b[:, None], old.b[:, k] @ old.nu[k])[0]
    found = dict(alpha=alpha, epsilon=epsilon, zeta=zeta, mu=mu, nu=nu, b=b, v=old.v[main])
    for name, statistics, scales in (("f", old.f, np.ones_like(ratio)), ("g", old.g, ratio)):
        if statistics is not None:
            mean, var = statistics
            found[name] = np.mean(mean[k] / scales), np.mean(var[k] / scales**2)
    return found


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("norms", NORMS)
def test_the_merged_channels_solve_the_equations_of_the_paper(norms, bias, tolerance=1e-10):
    network = draw(block(norms=norms, bias=bias), seed=NORMS.index(norms)).double()
    old = Numbers(network)
    labels, mains = group(torch.from_numpy(old.v * old.mu[:, None]), 0.3)
    groups = [(labels == i).nonzero()[:, 0].tolist() for i in range(len(mains))]
    assert max(len(members) for members in groups) > 2
    by_main = sorted(zip(mains.tolist(), groups, strict=True))
    new = Numbers(merged(network, threshold=0.3))
    assert len(new.v) == len(mains) < 12
    for i, (main, members) in enumerate(by_main):
        expected = solve(old, members, main)
        if len(members) == 1:  # stays as it is
            names = ("alpha", "epsilon", "zeta", "mu", "nu", "v")
            expected = {name: getattr(old, name)[main] for name in names} | {"b": old.b[:, main]}
            expected |= {n: (s[0][main], s[1][main]) for n, s in (("f", old.f), ("g", old.g)) if s}
        # Without a batch norm its scale is in the weights: only the products are determined.
        alpha, v = expected["epsilon"] * expected["alpha"], expected["mu"] * expected["v"]
        assert_close(new.epsilon[i] * new.alpha[i], alpha, tolerance)
        assert_close(new.mu[i] * new.v[i], v, tolerance)
        assert_close(new.b[:, i], expected["b"], tolerance)
        # Shifts and means are sums that cancel: equal to the rounding of their terms.
        for name in ("zeta", "nu"):
            size = np.abs(getattr(old, name)).max()
            assert abs(getattr(new, name)[i] - expected[name]) <= tolerance * size
        for name, rows in (("f", "alpha"), ("g", "v")):
            if name in expected:
                for found, value in zip(getattr(new, name), expected[name], strict=True):
                    assert abs(found[i] - value) <= tolerance * max(abs(value), 1.0)
                assert_close(getattr(new, rows)[i], expected[rows], tolerance)


@torch.no_grad()
@pytest.mark.parametrize("affine", [(False, True), (True, False), (False, False)])
def test_equal_channels_behind_batch_norms_without_parameters_are_merged_exactly(affine):
    """The convolution takes up the scale that is solved for, the running mean the shift."""
    network = block(bias=False)
    for at, has in zip((1, 4), affine, strict=True):
        network[at] = nn.BatchNorm2d(12, affine=has)
    network, x = draw(network).double(), inputs()
    for tensor in network[:5].state_dict().values():
        if tensor.dim():
            tensor[6:] = tensor[:6]
    for ratio, k in ((2.0, 6), (0.5, 7)):  # an expansion of another scale and mean
        network[0].weight[k] *= ratio
        network[1].running_mean[k] *= ratio
        if affine[0]:
            network[1].weight[k] /= ratio
        else:
            network[1].running_var[k] = ratio**2 * (network[1].running_var[k] + 1e-5) - 1e-5
    found = merged(network, threshold=0.9999)
    assert found[0].out_channels == 6
    assert_close(found(x), network(x))


def mains(merge) -> Tensor:
    return merge.kept[merge.mixing.argmax(dim=0)]


@torch.no_grad()
@pytest.mark.parametrize("norms", NORMS)
def test_filters_of_zeros_are_groups_of_one_and_unchanged(norms):
    network = draw(block(norms=norms)).double()
    network[3].weight[[0, 7]] = 0.0  # their channels are constant behind g
    merge = condense(units_of(network), threshold=0.3)
    assert mains(merge)[0] == 0 and mains(merge)[7] == 7 and len(merge.kept) < 12
    assert torch.equal((merge.mixing > 0).sum(dim=0), torch.ones(12, dtype=torch.int64))
    reduced = merged(network, threshold=0.3)
    assert all(torch.isfinite(value).all() for value in reduced.state_dict().values())
    old, new = Numbers(network), Numbers(reduced)
    for k in (0, 7):
        at = merge.kept.tolist().index(k)
        assert_close(new.epsilon[at] * new.alpha[at], old.epsilon[k] * old.alpha[k])
        assert_close(new.nu[at], old.nu[k], 1e-10)

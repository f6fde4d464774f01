"""Compensation by least squares against numpy, and never worse than the mixing of the method."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from reducible import gaussian

from combred.reduction import Merge, apply_merge, condense, describe_units, find_layers, refit
from combred.reduction.fit.calibration import moments, read_units

WIDTHS = [6, 40, 30, 5]


def inputs(n: int = 500) -> torch.Tensor:
    return gaussian(n, WIDTHS[0], seed=5)


def keep(kept: list[int], units: int) -> Merge:
    """The merge that keeps some units and drops the others."""
    return Merge.prune(torch.tensor(kept), units)


def condensed(network, layer: int, threshold: float) -> Merge:
    """The merge of condensation, mixed by ratios of norms, of a hidden layer numbered from 1."""
    return condense(
        describe_units(network, find_layers(network, inputs(1))[layer]), threshold=threshold
    )


def activations(network, layer: int, x: torch.Tensor) -> torch.Tensor:
    return read_units(network, find_layers(network, x)[layer], x)


def residual(merge: Merge, A: torch.Tensor) -> float:
    """Mean square error of the activations A, read through a merge."""
    return float((A - (A[:, merge.kept] @ merge.mixing + merge.offset)).square().sum() / len(A))


@pytest.fixture
def network(make_network):
    return make_network(WIDTHS).double()


def test_without_ridge_the_mixing_is_the_least_squares_of_numpy():
    A, B = gaussian(300, 9, seed=1).abs(), gaussian(300, 9, seed=2).abs()
    merge = refit(keep([1, 4, 7], 9), moments([(A, B)]), ridge=1e-14)
    design = np.column_stack([B[:, [1, 4, 7]], np.ones(300)])
    expected = np.linalg.lstsq(design, A.numpy(), rcond=None)[0]
    # Normal equations of condition 10 in float64.
    assert np.allclose(merge.mixing, expected[:3], rtol=0, atol=1e-11)
    assert np.allclose(merge.offset, expected[3], rtol=0, atol=1e-11)


def test_with_ridge_the_mixing_is_the_minimum_that_refit_defines():
    A, ridge = gaussian(200, 6).abs(), 0.3
    start = keep([0, 2], 6)
    merge = refit(start, moments([(A, A)]), ridge)
    G = np.cov(A[:, [0, 2]].numpy().T, bias=True)
    weight = ridge * np.trace(G) / 2
    # The same minimum as ordinary least squares with rows sqrt(n w) (Z - Z0) appended.
    design = np.column_stack([A[:, [0, 2]], np.ones(200)])
    rows = np.sqrt(200 * weight) * np.eye(3)[:2]
    target = np.vstack([A, rows[:, :2] @ start.mixing.numpy()])
    expected = np.linalg.lstsq(np.vstack([design, rows]), target, rcond=None)[0]
    assert np.allclose(merge.mixing, expected[:2], rtol=0, atol=1e-11)  # condition 10, float64
    assert np.allclose(merge.offset, expected[2], rtol=0, atol=1e-11)


@pytest.mark.parametrize("asymmetric", [True, False])
def test_without_intercept_the_offset_is_zero(asymmetric):
    A = gaussian(300, 9, seed=1).abs()
    B = gaussian(300, 9, seed=2).abs() if asymmetric else A
    merge = refit(keep([1, 4, 7], 9), moments([(A, B)]), ridge=1e-14, intercept=False)
    expected = np.linalg.lstsq(B[:, [1, 4, 7]], A.numpy(), rcond=None)[0]
    assert np.allclose(merge.mixing, expected, rtol=0, atol=1e-11)  # condition 10, float64
    assert not merge.offset.any()


def test_activations_of_the_kept_units_alone_are_enough():
    # They come from a network whose kept units a method has moved.
    A, B = gaussian(300, 9, seed=1).abs(), gaussian(300, 9, seed=2).abs()
    whole = refit(keep([1, 4, 7], 9), moments([(A, B)]))
    narrow = refit(keep([1, 4, 7], 9), moments([(A, B[:, [1, 4, 7]])]))
    assert torch.allclose(whole.mixing, narrow.mixing, rtol=0, atol=1e-12)  # order of sums
    assert torch.allclose(whole.offset, narrow.offset, rtol=0, atol=1e-12)


def test_an_exact_linear_dependence_is_recovered():
    A = gaussian(400, 10).abs()
    Z, offset = gaussian(4, 6, seed=1), gaussian(6, seed=2)
    A[:, 4:] = A[:, :4] @ Z + offset
    merge = refit(keep([0, 1, 2, 3], 10), moments([(A, A)]), ridge=1e-13)
    # The ridge biases by 1e-13 of the entries; condition 10.
    assert torch.allclose(merge.mixing[:, 4:], Z, rtol=0, atol=1e-10)
    assert torch.allclose(merge.mixing[:, :4], torch.eye(4).double(), rtol=0, atol=1e-10)
    assert torch.allclose(merge.offset[4:], offset, rtol=0, atol=1e-10)


@torch.no_grad()
@pytest.mark.parametrize(
    "layer, threshold, ridge",
    [
        *((1, 0.0, 1e-12), (1, 0.2, 1e-6), (1, 0.4, 1.0)),
        *((2, 0.0, 1.0), (2, 0.2, 1e-12), (2, 0.4, 1e-6)),
    ],
)
def test_the_fit_is_never_worse_than_ratios_of_norms(network, layer, threshold, ridge):
    A = activations(network, layer, inputs())
    norm = condensed(network, layer, threshold)
    fitted = refit(norm, moments([(A, A)]), ridge)
    assert torch.equal(fitted.kept, norm.kept)
    assert residual(fitted, A) <= residual(norm, A) * (1 + 1e-12)  # rounding
    x, following = inputs(), network.layers[layer]
    exact = following(A)

    def error(merge):
        merged = apply_merge(network, find_layers(network, x)[layer], merge)
        return (merged.layers[layer](activations(merged, layer, x)) - exact).norm()

    if ridge == 1e-12:  # the best linear mixing, whatever the next weights are
        assert error(fitted) <= error(norm) * (1 + 1e-9)


@torch.no_grad()
def test_with_a_large_ridge_the_mixing_stays(network):
    A = activations(network, 1, inputs())
    norm = condensed(network, 1, 0.5)
    fitted = refit(norm, moments([(A, A)]), ridge=1e12)
    assert torch.allclose(fitted.mixing, norm.mixing, rtol=0, atol=1e-10)  # 1e-12 of the pull
    # The offset has no ridge: it makes the means agree.
    mean = A.mean(0) - norm.mixing.T @ A[:, norm.kept].mean(0)
    assert torch.allclose(fitted.offset, mean, rtol=0, atol=1e-10)


@torch.no_grad()
def test_the_mixing_of_a_unit_that_is_never_active_stays(network):
    norm = condensed(network, 1, 0.5)
    asleep = int(norm.kept[3])
    A = activations(network, 1, inputs())
    A[:, asleep] = 0.0  # this kept unit is zero on all calibration inputs
    fitted = refit(norm, moments([(A, A)]), ridge=1e-6)
    assert torch.allclose(fitted.mixing[3], norm.mixing[3], rtol=0, atol=1e-12)  # float64


@torch.no_grad()
def test_without_ridge_a_unit_that_is_never_active_gives_no_error(network):
    # reduction.ridge=0 is allowed by the settings; the covariance is singular then.
    norm = condensed(network, 1, 0.5)
    A = activations(network, 1, inputs())
    A[:, norm.kept[3]] = 0.0
    fitted = refit(norm, moments([(A, A)]), ridge=0.0)
    assert torch.isfinite(fitted.mixing).all()
    assert residual(fitted, A) <= residual(norm, A) * (1 + 1e-12)


@torch.no_grad()
def test_errors_of_an_earlier_reduced_layer_are_corrected(network):
    x = inputs()
    first = condensed(network, 1, 0.4)
    reduced = apply_merge(network, find_layers(network, x)[1], first)
    A, B = activations(network, 2, x), activations(reduced, 2, x)
    norm = condensed(reduced, 2, 0.4)
    against_original = refit(norm, moments([(A, B)]), 1e-12)
    against_itself = refit(norm, moments([(B, B)]), 1e-12)

    def error(merge):
        return (A - (B[:, merge.kept] @ merge.mixing + merge.offset)).norm()

    assert error(against_original) < error(against_itself)


@torch.no_grad()
def test_activations_are_those_of_the_hidden_layers(network):
    x = inputs(7)
    a = (x @ network.layers[0].weight.T + network.layers[0].bias).clamp(min=0)
    assert torch.allclose(activations(network, 1, x), a, rtol=1e-12, atol=1e-14)  # float64
    a = (a @ network.layers[1].weight.T + network.layers[1].bias).clamp(min=0)
    assert torch.allclose(activations(network, 2, x), a, rtol=1e-12, atol=1e-14)
    with pytest.raises(ValueError, match="never reduced"):
        activations(network, 3, x)


def test_the_given_merge_is_not_modified():
    A = gaussian(50, 5)
    start = keep([0, 2], 5)
    before = replace(start, mixing=start.mixing.clone(), offset=start.offset.clone())
    refit(start, moments([(A, A)]))
    assert torch.equal(start.mixing, before.mixing) and torch.equal(start.offset, before.offset)

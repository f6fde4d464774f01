"""Moments against numpy on all rows at once, relative errors against their definition."""

import warnings

import numpy as np
import pytest
import torch
from reducible import draw, gaussian
from torch import nn
from torch.nn import functional as F

import combred
from combred.reduction import apply_merge, find_layers
from combred.reduction.fit.calibration import (
    batches,
    layer_moments,
    moments,
    read_units,
    relative_error,
)
from combred.reduction.fit.held_out import split
from combred.reduction.network.hidden_layer import HiddenLayer
from combred.reduction.network.merge import Merge


def convolutional() -> tuple[nn.Sequential, torch.Tensor]:
    """Layer 1 is read by a convolution, layer 2 by a linear layer behind a flatten."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(2, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(6, 5, 2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(5 * 4 * 4, 3)]
    return nn.Sequential(*layers).double().eval(), gaussian(20, 2, 8, 8)


def drop(network, x, layer, kept):
    """The network with some units of a layer only, and that layer."""
    found = find_layers(network, x[:1])[layer]
    return apply_merge(network, found, Merge.prune(torch.tensor(kept), found.units)), found


@pytest.mark.parametrize("chunk", [1, 7, 100])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_streamed_moments_are_numpys(chunk, shift):
    A, B = gaussian(100, 5, seed=1) + shift, gaussian(100, 5, seed=2) + 0.5 + shift
    found = moments(zip(A.split(chunk), B.split(chunk), strict=True))
    a, b = A.numpy(), B.numpy()
    joint = np.cov(np.hstack([a, b]).T, bias=True)
    assert found.n == 100
    # Sums about the mean of the first chunk lose digits by its distance from the mean of all, not
    # by the mean itself: 1e-16 of 1e6 in each entry.
    tolerance = 1e-13 + 1e-15 * shift
    assert np.allclose(found.mean_A, a.mean(0), rtol=1e-14, atol=1e-14)
    assert np.allclose(found.mean_B, b.mean(0), rtol=1e-14, atol=1e-14)
    assert np.allclose(found.AA, joint[:5, :5], rtol=0, atol=tolerance)
    assert np.allclose(found.BB, joint[5:, 5:], rtol=0, atol=tolerance)
    assert np.allclose(found.BA, joint[5:, :5], rtol=0, atol=tolerance)
    about_zero = [b.T @ b / 100, b.T @ a / 100, a.T @ a / 100]
    for moment, expected in zip(found.about(intercept=False), about_zero, strict=True):
        assert np.allclose(moment, expected, rtol=1e-13, atol=1e-13)
    for moment, expected in zip(found.about(True), (found.BB, found.BA, found.AA), strict=True):
        assert torch.equal(moment, expected)


def test_moments_and_errors_of_no_rows_are_refused():
    for none in ([], [(torch.zeros(0, 3), torch.zeros(0, 3))]):
        with pytest.raises(ValueError, match="needs calibration inputs"):
            moments(none)
    network, x = convolutional()
    with pytest.raises(ValueError, match="the same inputs each time"):
        relative_error(network, network, None, [x[:0]])


@torch.no_grad()
@pytest.mark.parametrize("number, before, width", [(1, 4, 3), (2, 6, 4)])
def test_a_row_is_read_at_each_position(number, before, width):
    """By a convolution, and by a linear layer behind a flatten."""
    network, x = convolutional()
    layer = find_layers(network, x[:1])[number]
    rows = network[:before](x).movedim(1, -1).reshape(20 * width**2, -1)
    assert torch.equal(read_units(network, layer, x)[0][0], rows)
    found = layer_moments(network, None, layer, x)
    assert found.n == 20 * width**2
    expected = np.cov(rows.numpy().T, bias=True)
    assert np.allclose(found.BB, expected, rtol=0, atol=1e-13)  # float64


@torch.no_grad()
def test_a_linear_layer_reads_rows_along_the_last_axis():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)).double()
    x = gaussian(5, 3, 4)
    layer = find_layers(network, x[:1])[1]
    assert torch.equal(read_units(network, layer, x)[0][0], network[:2](x).flatten(0, 1))


class Heads(nn.Module):
    """Two readers: one activation in place changes the input of the first, one its output."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 6), nn.Linear(6, 2), nn.Linear(6, 2)

    def forward(self, x):
        h = self.a(x)
        u = F.relu(self.b(input=h), inplace=True)
        return u + self.c(F.relu(h, inplace=True))


@torch.no_grad()
def test_what_readers_read_and_give_is_copied_before_an_operation_in_place():
    network, x = draw(Heads()).double(), gaussian(20, 3)
    layer = HiddenLayer("a", 6, ("a",), (("b", 1), ("c", 1)), last_axis=True)
    (one, other), outputs = read_units(network, layer, x)
    h = network.a(x)
    assert torch.equal(one, h) and torch.equal(other, h.relu())
    assert torch.equal(outputs, torch.cat([network.b(h), network.c(h.relu())], dim=1))
    assert layer_moments(network, None, layer, x).n == 20  # not once for each reader


@torch.no_grad()
@pytest.mark.parametrize("chunk", [3, 20])
def test_moments_of_a_layer_are_of_the_original_and_the_reduced_network(chunk):
    network, x = convolutional()
    reduced, _ = drop(network, x, 1, [0, 1, 4, 5])
    layer = find_layers(network, x[:1])[2]
    found = layer_moments(network, reduced, layer, x.split(chunk))
    a = network[:6](x).transpose(1, 2).transpose(2, 3).reshape(-1, 5).numpy()
    b = reduced[:6](x).transpose(1, 2).transpose(2, 3).reshape(-1, 5).numpy()
    joint = np.cov(np.hstack([a, b]).T, bias=True)
    assert np.allclose(found.mean_A, a.mean(0), rtol=1e-13)  # order of sums
    assert np.allclose(found.mean_B, b.mean(0), rtol=1e-13)
    assert np.allclose(found.BA, joint[5:, :5], rtol=0, atol=1e-13)
    assert np.allclose(found.BB, joint[5:, 5:], rtol=0, atol=1e-13)


@torch.no_grad()
def test_calibration_changes_no_mode_and_leaves_no_hook():
    network, x = convolutional()
    network.train()
    network[1].eval()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    layer = find_layers(network, x[:1])[1]
    (inference,), _ = read_units(network, layer, x)
    relative_error(network, network, None, x)
    assert network[0].training and network.training and not network[1].training
    assert all(torch.equal(network.state_dict()[key], value) for key, value in before.items())
    assert not any(module._forward_hooks for module in network.modules())
    assert torch.equal(inference, read_units(network.eval(), layer, x)[0][0])
    with pytest.raises(RuntimeError):
        read_units(network.train(), layer, x[:, :1])
    assert network.training and not any(module._forward_hooks for module in network.modules())


def rows_of(calibration) -> set:
    """The rows of calibration inputs."""
    return {tuple(row.tolist()) for x in batches(calibration) for row in x}


@pytest.mark.parametrize("shape", [(6,), (2, 3, 3)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_fifth_of_the_inputs_is_held_out_whatever_their_order(shape, dtype):
    x = gaussian(103, *shape).to(dtype)
    fitted, held_out = split(x)
    assert len(held_out) == 20 and len(fitted) == 83
    assert not rows_of(fitted.flatten(1)) & rows_of(held_out.flatten(1))
    order = torch.randperm(103, generator=torch.Generator().manual_seed(1))
    for given in (list(x.split(7)), list(x[order].split(50)), [x[:1], x[:0], x[1:], x[:40]]):
        parts = split(given)
        for part, whole in zip(parts, (fitted, held_out), strict=True):
            for _ in range(2):  # batches are run through more than once
                assert rows_of(b.flatten(1) for b in part) == rows_of(whole.flatten(1))


def test_equal_inputs_are_in_one_part_and_one_input_is_refused():
    fitted, held_out = split(torch.tensor([[1.0], [1.0], [2.0], [2.0], [2.0]]))
    assert {len(fitted), len(held_out)} == {2, 3}
    for few in (torch.ones(1, 3), torch.ones(50, 3), [torch.ones(2, 3)] * 2):
        with pytest.raises(ValueError, match="at least two different inputs"):
            split(few)


@torch.no_grad()
@pytest.mark.parametrize("method", ["brain_surgeon", "interpolative", "folding"])
def test_reported_errors_are_those_of_new_inputs(method):
    """60 units fitted to 60 rows: the fit is exact, and tells nothing of other rows."""
    network = draw(nn.Sequential(nn.Linear(20, 120), nn.ReLU(), nn.Linear(120, 5))).double()
    x, new = gaussian(75, 20), gaussian(5000, 20, seed=1)
    with pytest.warns(UserWarning, match=r"the \d+ units .* layer 0 .* 60 rows.*give 10 times as"):
        found = combred.reduce(network, x[:1], method=method, ratio=0.5, calibration=x)
    truth = relative_error(network, found.network, None, new)
    assert relative_error(network, found.network, None, split(x)[0]) < 0.02 * truth
    # 15 rows of 5 outputs
    assert found.output_error == pytest.approx(truth, rel=0.4)
    assert found.trace[0].error == pytest.approx(found.output_error, rel=1e-12)
    assert found.trace[0].rows == 60


def test_ten_rows_a_unit_are_enough_and_pruning_needs_none():
    network, x = draw(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))), gaussian(50, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        how = dict(ratio=0.5, calibration=x.float())
        assert combred.reduce(network, x[:1].float(), method="folding", **how).trace[0].rows == 40
        how |= dict(compensation="none", calibration=x[:4].float())
        found = combred.reduce(network, x[:1].float(), method="magnitude", **how)
        assert found.trace[0].rows is None
    with pytest.warns(UserWarning, match="give 2 times as many inputs"):
        combred.reduce(network, x[:1].float(), method="magnitude", ratio=0.5,
                       calibration=x[:48].float())  # fmt: skip

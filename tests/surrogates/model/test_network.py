"""The network: its size, its layers, its initialization; Gaussian inputs for it."""

import numpy as np
import pytest
import torch

from combred.surrogates.model.calibration import gaussian_inputs
from combred.surrogates.model.network import Network, initialize
from combred.surrogates.model.transform import StateTransform


def test_weights_are_counted_as_in_the_paper():
    with torch.device("meta"):
        network = Network([23, 3200, 1600, 800, 400, 23])
    assert network.widths == [23, 3200, 1600, 800, 400, 23]
    assert network.n_weights == 6_802_800  # Chen & Xu 2024, section 3.1.3


def test_network_is_relu_between_affine_maps(make_network):
    network = make_network([4, 7, 5, 3]).double()
    x = torch.randn(9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    y = x.numpy()
    for i, layer in enumerate(network.layers):
        y = y @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
        y = y if i == 2 else np.maximum(y, 0.0)
    assert np.allclose(network(x).detach(), y, rtol=0, atol=1e-13)  # float64 rounding


def test_initial_standard_deviations():
    network = Network([300, 200, 400, 100])
    initialize(network, ["condense", "0.5", 2.0], torch.Generator().manual_seed(0))
    # Chen & Xu equation 19; He: sqrt(2 / m_in).
    expected = [2 / 500, 0.5 * (2 / 200) ** 0.5, 2.0 * (2 / 400) ** 0.5]
    for layer, std in zip(network.layers, expected, strict=True):
        n = layer.weight.numel()
        assert layer.weight.std().item() == pytest.approx(std, rel=5 / (2 * n) ** 0.5)  # 5 sigma
        assert abs(layer.weight.mean().item()) < 5 * std / n**0.5  # 5 sigma
        assert not layer.bias.any()


def test_gaussian_inputs_have_the_covariance_of_the_training_inputs():
    rng = np.random.default_rng(0)
    Y = rng.dirichlet(np.ones(4), size=400)
    state = np.column_stack([rng.uniform(800, 2000, 400), rng.uniform(1e5, 2e5, 400), Y])
    state[:, 3] = 0.5 * state[:, 2]  # two species in a fixed ratio: a singular covariance
    later = torch.from_numpy(state + 0.01 * rng.normal(size=state.shape))
    transform = StateTransform(4, lam=0.1, floor=1e-13, power=1.0)
    dt = torch.full((400,), 1e-6, dtype=torch.float64)
    transform.fit([(torch.from_numpy(state), later, dt)])
    n = 20_000
    x = gaussian_inputs(transform, n, seed=1).double().numpy()
    assert x.shape == (n, 6) and gaussian_inputs(transform, n).dtype == torch.float32
    # Standard error of a covariance of n draws of unit variance: sqrt(2 / n) at most; five of them.
    assert np.abs(x.mean(0)).max() < 5 / n**0.5
    found = np.cov(x.T, bias=True)
    assert np.abs(found - transform.covariance.numpy()).max() < 5 * (2 / n) ** 0.5
    features = transform.features(transform.variables(torch.from_numpy(state))).numpy()
    assert np.abs(found - np.cov(features.T, bias=True)).max() < 5 * (2 / n) ** 0.5

"""The network: its size, its layers, its initialization."""

import numpy as np
import pytest
import torch

from combred.surrogate.network import Network, initialize


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


def test_initialisation_depends_on_the_generator_alone():
    first, second, other = (Network([5, 6, 5]) for _ in range(3))
    for network, seed in ((first, 1), (second, 1), (other, 2)):
        initialize(network, ["condense", "1"], torch.Generator().manual_seed(seed))
    assert torch.equal(first.layers[0].weight, second.layers[0].weight)
    assert not torch.equal(first.layers[0].weight, other.layers[0].weight)

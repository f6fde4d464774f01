"""The surgery: any `Merge`, on any hidden layer, does what its equation says."""

import pytest
import torch

from combred.reduction import Merge, apply_merge

WIDTHS = [6, 12, 10, 8, 4]


def inputs(n: int = 64, seed: int = 5) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, WIDTHS[0], generator=generator, dtype=torch.float64)


def random_merge(units: int, keep: int, seed: int = 0) -> Merge:
    generator = torch.Generator().manual_seed(seed)
    kept = torch.randperm(units, generator=generator)[:keep].sort().values
    mixing = torch.randn(keep, units, generator=generator, dtype=torch.float64)
    return Merge(kept, mixing, torch.randn(units, generator=generator, dtype=torch.float64))


def slow(network, layer: int, merge: Merge, x: torch.Tensor) -> torch.Tensor:
    """The network with the activations a of one layer replaced by mixing^T a[kept] + offset."""
    for i, linear in enumerate(network.layers, start=1):
        x = x @ linear.weight.T + linear.bias
        if i < len(network.layers):
            x = x.clamp(min=0.0)
        if i == layer:
            x = x[:, merge.kept] @ merge.mixing + merge.offset
    return x


@torch.no_grad()
@pytest.mark.parametrize("layer", [1, 2, 3])
def test_the_merged_network_is_the_equation(make_network, layer):
    network = make_network(WIDTHS).double()
    merge = random_merge(WIDTHS[layer], 5)
    merged = apply_merge(network, layer, merge)
    assert merged.widths == [5 if i == layer else m for i, m in enumerate(WIDTHS)]
    # Sums in another order, in float64.
    assert torch.allclose(merged(inputs()), slow(network, layer, merge, inputs()), rtol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("layer", [1, 2, 3])
def test_keeping_every_unit_changes_nothing(make_network, layer):
    network, m = make_network(WIDTHS), WIDTHS[layer]
    keep_all = Merge(torch.arange(m), torch.eye(m).double(), torch.zeros(m).double())
    assert not keep_all.changes
    merged = apply_merge(network, layer, keep_all)
    assert torch.equal(merged(inputs().float()), network(inputs().float()))


@torch.no_grad()
def test_pruning_is_a_merge_of_zeros(make_network):
    network = make_network(WIDTHS).double()
    kept = torch.tensor([0, 3, 4])
    merge = Merge(kept, torch.eye(12)[kept].double(), torch.zeros(12).double())
    pruned = apply_merge(network, 1, merge)
    network.layers[0].weight[[i for i in range(12) if i not in (0, 3, 4)]] = 0.0
    network.layers[0].bias[[i for i in range(12) if i not in (0, 3, 4)]] = 0.0
    # The same sums without their zeros.
    assert torch.allclose(pruned(inputs()), network(inputs()), rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_given_network_is_untouched_and_shares_nothing(make_network, dtype):
    network = make_network(WIDTHS).to(dtype)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    merged = apply_merge(network, 2, random_merge(10, 4))
    assert all(parameter.dtype == dtype for parameter in merged.parameters())
    with torch.no_grad():
        for parameter in merged.parameters():
            parameter += 1.0
    assert all(torch.equal(network.state_dict()[name], value) for name, value in before.items())


def test_a_merged_network_can_be_trained(make_network):
    merged = apply_merge(make_network(WIDTHS), 1, random_merge(12, 4))
    merged(inputs().float()).sum().backward()
    assert all(parameter.grad is not None for parameter in merged.parameters())


@pytest.mark.parametrize("layer", [-1, 0, 4, 5])
def test_only_hidden_layers_are_reduced(make_network, layer):
    with pytest.raises(ValueError, match=r"hidden layers 1 to 3.*output layer is never"):
        apply_merge(make_network(WIDTHS), layer, random_merge(4, 2))


@pytest.mark.parametrize(
    "kept, mixing, offset",
    [
        (torch.arange(3), torch.ones(2, 5), torch.zeros(5)),
        (torch.arange(2), torch.ones(2, 5), torch.zeros(2)),
        (torch.arange(0), torch.ones(0, 5), torch.zeros(5)),
    ],
)
def test_a_merge_of_other_shapes_is_refused(kept, mixing, offset):
    with pytest.raises(ValueError, match=r"wants kept \(k,\), mixing \(k, m\), offset \(m,\)"):
        Merge(kept, mixing, offset)

"""`apply_merge`: any `Merge`, on any hidden layer, gives the network of its equation."""

import copy
import functools
from dataclasses import replace

import pytest
import torch
from reducible import draw, gaussian
from torch import Tensor, nn

from combred.reduction import Merge, apply_merge, find_layers
from combred.surrogates.model.network import Network


class TwoReaders(nn.Module):
    """One layer read by a padding convolution, by a linear layer behind a flatten, and pooled."""

    def __init__(self, padding: int = 1):
        super().__init__()
        self.conv = nn.Conv2d(2, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.one = nn.Conv2d(8, 5, 3, padding=padding, bias=False)
        self.two = nn.Linear(8 * 16, 5, bias=False)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.three = nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        a = torch.relu(self.norm(self.conv(x)))
        pooled = torch.flatten(self.pool(a), 1)
        return self.one(a).mean((2, 3)) + self.two(torch.flatten(a, 1)) + self.three(pooled)


class PreActivation(nn.Module):
    """Two pre-activation blocks, the second with a depthwise layer, on a stream of 7 channels."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(2, 7, 3, padding=1)
        self.block1 = nn.Sequential(
            *(nn.BatchNorm2d(7), nn.ReLU(), nn.Conv2d(7, 6, 3, padding=1)),
            *(nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 7, 1)),
        )
        self.block2 = nn.Sequential(
            *(nn.BatchNorm2d(7), nn.ReLU6(), nn.Conv2d(7, 7, 3, padding=1, groups=7)),
            *(nn.BatchNorm2d(7), nn.ReLU6(), nn.Conv2d(7, 7, 1)),
        )
        self.norm = nn.BatchNorm2d(7)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(7, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        x = x + self.block1(x)
        x = x + self.block2(x)
        return self.head(torch.flatten(self.pool(torch.relu(self.norm(x))), 1))


def depthwise_block(norm: bool) -> nn.Sequential:
    parts = [nn.Conv2d(2, 9, 1, bias=not norm)]
    parts += [nn.BatchNorm2d(9)] if norm else []
    parts += [nn.ReLU6(), nn.Conv2d(9, 9, 3, padding=1, groups=9, bias=not norm)]
    parts += [nn.BatchNorm2d(9)] if norm else []
    return nn.Sequential(*parts, nn.ReLU6(), nn.Conv2d(9, 4, 1, bias=False))


CONV_NORM = (nn.Conv2d(2, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU())
NETWORKS = {
    "combred's": (lambda: Network([6, 12, 10, 4]), (6,)),
    "linear without biases": (
        lambda: nn.Sequential(nn.Linear(6, 9, bias=False), nn.ReLU(), nn.Linear(9, 3, bias=False)),
        (6,),
    ),
    "linear with batch norm": (
        lambda: nn.Sequential(nn.Linear(6, 9), nn.BatchNorm1d(9), nn.Tanh(), nn.Linear(9, 3)),
        (6,),
    ),
    "sequences": (
        lambda: nn.Sequential(nn.Linear(6, 9), nn.GELU(), nn.Linear(9, 7), nn.ReLU(),
                              nn.Linear(7, 3)),
        (5, 6),
    ),
    "convolutions": (
        lambda: nn.Sequential(nn.Conv2d(2, 8, 3, stride=2), nn.ReLU(),
                              nn.Conv2d(8, 7, 3, padding=1), nn.LeakyReLU(),
                              nn.Conv2d(7, 6, 2, padding=1, padding_mode="circular"), nn.ReLU(),
                              nn.Conv2d(6, 3, 1)),
        (2, 8, 8),
    ),
    "one dimension": (
        lambda: nn.Sequential(nn.Conv1d(2, 8, 3), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 3, 2)),
        (2, 7),
    ),
    "three dimensions": (
        lambda: nn.Sequential(nn.Conv3d(2, 8, 2), nn.BatchNorm3d(8), nn.ReLU(), nn.Conv3d(8, 3, 2)),
        (2, 4, 4, 4),
    ),
    "pool, flatten, linear": (
        lambda: nn.Sequential(*copy.deepcopy(CONV_NORM), nn.AvgPool2d(2), nn.Flatten(),
                              nn.Linear(8 * 9, 6), nn.ReLU(), nn.Linear(6, 3)),
        (2, 8, 8),
    ),
    "padded pool": (
        lambda: nn.Sequential(nn.Conv2d(2, 8, 3), nn.ReLU(), nn.AvgPool2d(3, padding=1),
                              nn.Conv2d(8, 3, 1)),
        (2, 8, 8),
    ),
    "batch norm": (
        lambda: nn.Sequential(*copy.deepcopy(CONV_NORM), nn.MaxPool2d(2), nn.Dropout(0.5),
                              nn.Conv2d(8, 7, 3), nn.ReLU(), nn.BatchNorm2d(7), nn.Conv2d(7, 3, 1)),
        (2, 8, 8),
    ),
    "plain batch norm": (
        lambda: nn.Sequential(nn.Conv2d(2, 8, 3), nn.BatchNorm2d(8, affine=False), nn.ReLU(),
                              nn.Conv2d(8, 3, 3)),
        (2, 8, 8),
    ),
    "depthwise block": (lambda: depthwise_block(norm=False), (2, 8, 8)),
    "depthwise block with batch norm": (lambda: depthwise_block(norm=True), (2, 8, 8)),
    "several readers": (TwoReaders, (2, 6, 6)),
    "several readers, none padding": (lambda: TwoReaders(padding=0), (2, 6, 6)),
    "pre-activation": (PreActivation, (2, 6, 6)),
}  # fmt: skip
every_network = pytest.mark.parametrize("case", NETWORKS)


def inputs(shape: tuple[int, ...], n: int = 6, seed: int = 5) -> Tensor:
    return gaussian(n, *shape, seed=seed)


@functools.cache
def layers_of(case: str) -> list:
    make, shape = NETWORKS[case]
    return find_layers(make(), torch.zeros(2, *shape)).layers


@pytest.fixture
def given(case):
    """For each hidden layer of a network: a network, the layer and inputs, float64."""
    make, shape = NETWORKS[case]
    return [(draw(make()).double(), layer, inputs(shape)) for layer in layers_of(case)]


def random_merge(units: int, keep: int, seed: int = 0, shifts: bool = True) -> Merge:
    generator = torch.Generator().manual_seed(seed)
    kept = torch.randperm(units, generator=generator)[:keep].sort().values
    mixing = torch.randn(keep, units, generator=generator, dtype=torch.float64)
    offset = torch.randn(units, generator=generator, dtype=torch.float64)
    return Merge(kept, mixing, offset * shifts)


def some_merge(layer, seed: int = 0) -> Merge:
    return random_merge(layer.units, layer.units // 2 + 1, seed, layer.takes_offset)


@torch.no_grad()
def slow(network: nn.Module, layer, merge: Merge, x: Tensor) -> Tensor:
    """The output if every reader of the layer reads mixing^T a[kept] + offset in place of a."""

    def through(module, args):
        a = args[0]
        axis = 1 if isinstance(module, (nn.Conv1d, nn.Conv2d, nn.Conv3d)) else -1
        shape = a.shape
        if isinstance(module, nn.Linear):  # units lie outside, their positions inside
            a, axis = a.unflatten(-1, (layer.units, -1)), -2
        a = a.movedim(axis, -1)
        a = a[..., merge.kept] @ merge.mixing + merge.offset
        return (a.movedim(-1, axis).reshape(shape),)

    handles = [
        network.get_submodule(name).register_forward_pre_hook(through) for name, _ in layer.readers
    ]
    out = network(x)
    for handle in handles:
        handle.remove()
    return out


def assert_equal_to_rounding(found: Tensor, expected: Tensor) -> None:
    # Sums of some hundred products of order one in another order, in float64.
    assert (found - expected).abs().max() <= 1e-12 * expected.abs().max()


@torch.no_grad()
@every_network
def test_the_merged_network_computes_the_equation(given):
    for network, layer, x in given:
        merge = some_merge(layer)
        merged = apply_merge(network, layer, merge)
        expected = slow(network, layer, merge, x)
        assert_equal_to_rounding(merged(x), expected)
        # The merge changes the output, and its offset does as well.
        out = network(x)
        assert (expected - out).abs().max() > 1e-2 * out.abs().max()
        if layer.takes_offset:
            without = slow(network, layer, replace(merge, offset=0 * merge.offset), x)
            assert (expected - without).abs().max() > 1e-3 * out.abs().max()


@pytest.mark.parametrize("case", ["padded pool", "several readers", "pre-activation"])
def test_an_offset_before_zero_padding_is_refused(given):
    network, layer, _ = next(one for one in given if not one[1].takes_offset)
    merge = random_merge(layer.units, 3)
    with pytest.raises(ValueError, match=f"layer {layer.name} is read by a layer that pads"):
        apply_merge(network, layer, merge)


@every_network
def test_the_given_network_is_not_modified_and_shares_nothing(given, case):
    for network, layer, _ in given:
        dtypes = (torch.float32, torch.float64, torch.bfloat16)
        dtype = dtypes[list(NETWORKS).index(case) % 3]
        network.to(dtype)
        before = {name: value.clone() for name, value in network.state_dict().items()}
        merged = apply_merge(network, layer, some_merge(layer))
        assert type(merged) is type(network)
        assert all(parameter.dtype == dtype for parameter in merged.parameters())
        buffers = [b for b in merged.buffers() if b.dtype != torch.int64]
        assert all(buffer.dtype == dtype for buffer in buffers)
        with torch.no_grad():
            for value in [*merged.parameters(), *buffers]:
                value += 1.0
        assert list(network.state_dict()) == list(before)
        assert all(torch.equal(network.state_dict()[name], value) for name, value in before.items())


@every_network
def test_gradients_and_modes_stay(given):
    for network, layer, x in given:
        network.train()
        frozen = (
            network.get_submodule(layer.carriers[-1]),
            network.get_submodule(layer.readers[0][0]),
        )
        for module in frozen:
            module.requires_grad_(False).eval()
        for parameter in list(network.parameters())[:1]:
            parameter.requires_grad_(False)
        merged = apply_merge(network, layer, some_merge(layer))
        renamed = {layer.name: f"{layer.name}.1"} if layer.residual else {}
        for name, module in network.named_modules():
            assert merged.get_submodule(renamed.get(name, name)).training == module.training, name
        if layer.residual:  # a selection has the mode of its batch norm
            norm = network.get_submodule(layer.name)
            assert {m.training for m in merged.get_submodule(layer.name).modules()} == {
                norm.training
            }
        new = dict(merged.named_parameters())
        for name, parameter in network.named_parameters():
            owner, _, key = name.rpartition(".")
            assert (
                new[f"{renamed.get(owner, owner)}.{key}"].requires_grad == parameter.requires_grad
            )
        reader = merged.get_submodule(layer.readers[0][0])
        assert not any(parameter.requires_grad for parameter in reader.parameters())
        trained = [p for p in merged.parameters() if p.requires_grad]
        if trained:
            merged(x).square().sum().backward()
            assert any(p.grad is not None for p in trained)


@every_network
def test_the_network_stays_on_its_device(given):
    """Also where the merge is on another one."""
    for network, layer, _ in given:
        merged = apply_merge(network.to("meta"), layer, some_merge(layer))
        assert {t.device.type for t in [*merged.parameters(), *merged.buffers()]} == {"meta"}


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@torch.no_grad()
@every_network
def test_the_result_can_be_scripted_traced_and_loaded(given):
    network, layer, x = given[-1]
    merged = apply_merge(network, layer, some_merge(layer))
    out = merged(x)
    assert torch.equal(torch.jit.script(merged)(x), out)
    assert torch.equal(torch.fx.symbolic_trace(merged)(x), out)
    # Loaded into a network that another merge has reduced to the same widths.
    other = apply_merge(network, layer, some_merge(layer, seed=1))
    assert not torch.equal(other(x), out)
    other.load_state_dict(merged.state_dict(), strict=True)
    assert torch.equal(other(x), out)


@torch.no_grad()
@every_network
def test_a_reduced_network_can_be_reduced_again(given):
    for network, layer, x in given:
        for seed in range(2):
            merge = random_merge(layer.units, layer.units - 1, seed, layer.takes_offset)
            merged = apply_merge(network, layer, merge)
            assert_equal_to_rounding(merged(x), slow(network, layer, merge, x))
            name = layer.name
            if layer.residual and seed == 0:
                name += ".1"
            network, layer = merged, find_layers(merged, x)[name]
            assert layer.units == len(merge.kept)
        if layer.residual:  # one selection, narrowed, not two in a row
            sizes = [b.shape for key, b in merged.named_buffers() if key.endswith("channels")]
            assert sizes == [(layer.units,)]


@pytest.mark.parametrize("shape", [(20,), (1,), (9, 2)])
def test_buffers_that_a_layer_does_not_have_of_its_own_stay(shape):
    network = draw(nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 3))).double()
    network[0].register_buffer("own", torch.ones(shape))
    layer = find_layers(network, inputs((6,)))[1]
    merged = apply_merge(network, layer, random_merge(9, 4))
    assert merged[0].own.shape == shape and merged[0].weight.shape == (4, 6)


@pytest.mark.parametrize(
    "kept, mixing, offset",
    [
        (torch.arange(3), torch.ones(2, 5), torch.zeros(5)),
        (torch.arange(2), torch.ones(2, 5), torch.zeros(2)),
        (torch.arange(0), torch.ones(0, 5), torch.zeros(5)),
    ],
)
def test_a_merge_of_other_shapes_is_refused(kept, mixing, offset):
    with pytest.raises(ValueError, match=r"has kept \(k,\), mixing \(k, m\), offset \(m,\)"):
        Merge(kept, mixing, offset)

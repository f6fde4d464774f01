"""Networks whose forward reads their own widths: such layers are left alone, by every method."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import combred
from combred.reduction import Complexity, find_layers, reduce_automatically, train_sparsely
from combred.reduction.network.widths import problem_of_widths

X = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
IMAGES = torch.randn(5, 3, 6, 6, generator=torch.Generator().manual_seed(0))


class Scaled(nn.Module):
    """Two hidden layers; the output is scaled by a function of the module and the activations."""

    def __init__(self, scale, bias=True):
        super().__init__()
        torch.manual_seed(1)
        self.inner, self.second = nn.Linear(6, 16), nn.Linear(16, 12)
        self.outer, self.scale = nn.Linear(12, 3, bias=bias), scale
        self.register_buffer("constant", torch.tensor(1.0 / 16))
        self.width = self.inner.out_features

    def forward(self, x):
        h = torch.relu(self.inner(x))
        k = torch.relu(self.second(h))
        return self.outer(k) * self.scale(self, h, k)


class ScaledImage(nn.Module):
    """A convolution whose number of channels divides the output."""

    def __init__(self, scale):
        super().__init__()
        self.inner, self.norm = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
        self.outer, self.scale = nn.Linear(8, 3), scale

    def forward(self, x):
        h = torch.relu(self.norm(self.inner(x)))
        return self.outer(h.mean((2, 3))) * self.scale(self, h)


READS = {
    "1 / m": (lambda n, h, k: 1 / h.shape[-1], {"inner"}),
    "size": (lambda n, h, k: 1 / h.size(1), {"inner"}),
    "root of m": (lambda n, h, k: h.shape[1] ** -0.5, {"inner"}),
    "out_features": (lambda n, h, k: 1 / n.inner.out_features, {"inner"}),
    "in_features": (lambda n, h, k: 1 / n.second.in_features, {"inner"}),
    "weight": (lambda n, h, k: 1 / math.sqrt(n.inner.weight.shape[0]), {"inner"}),
    "numel": (lambda n, h, k: h.shape[0] / h.numel(), {"inner"}),
    "bias": (lambda n, h, k: 1 / n.second.bias.numel(), {"inner", "second"}),
    "shape of ones": (lambda n, h, k: 1 / torch.ones_like(h).sum(1, keepdim=True), {"inner"}),
    "logarithm": (lambda n, h, k: math.log(n.inner.out_features), {"inner"}),
    "ratio of widths": (lambda n, h, k: k.shape[-1] / h.shape[-1], {"inner", "second"}),
    "parameters": (lambda n, h, k: 1 / sum(p.numel() for p in n.parameters()), {"inner", "second"}),
    "not a number": (lambda n, h, k: torch.tensor([1, 2, torch.nan]) / h.shape[-1], {"inner"}),
    "odd widths": (lambda n, h, k: 1 + n.inner.out_features % 2 / 2, set()),  # 4 and 16 are even
    "buffer": (lambda n, h, k: n.constant, set()),
    "attribute of __init__": (lambda n, h, k: 1 / n.width, set()),
    "batch": (lambda n, h, k: 1 / h.shape[0], set()),
    "random numbers": (lambda n, h, k: F.dropout(torch.ones(1)) * torch.rand(1) + 1, set()),
}  # fmt: skip


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("x", [X, torch.zeros(1, 6)])
def test_layers_whose_width_the_forward_reads_are_left_alone(name, x):
    scale, expected = READS[name]
    network = Scaled(scale).eval()
    before = {key: value.clone() for key, value in network.state_dict().items()}
    survey = find_layers(network, x)
    assert set(survey.untouched) == expected | {"outer"}
    assert {layer.name for layer in survey.layers} == {"inner", "second"} - expected
    assert all(torch.equal(before[key], value) for key, value in network.state_dict().items())


@pytest.mark.parametrize("how", ["bias", "zero output", "double", "half", "image", "norm"])
def test_the_reading_of_a_width_is_seen_in_every_network(how):
    network, x, layer = Scaled(lambda n, h, k: 1 / h.shape[-1], bias=False), X, "inner"
    if how == "zero output":  # as of a network that has not been trained
        nn.init.zeros_(network.outer.weight)
    elif how == "image":
        network, x = ScaledImage(lambda n, h: 1 / h.shape[1]), IMAGES
    elif how == "norm":
        network, x = ScaledImage(lambda n, h: n.norm.num_features**-0.5), IMAGES
        network.norm.running_mean.fill_(1e3)  # every unit is dead
    elif how in ("double", "half"):
        dtype = {"double": torch.float64, "half": torch.bfloat16}[how]
        network, x = network.to(dtype), x.to(dtype)
    assert "as a factor 1 / width does" in find_layers(network.eval(), x).untouched[layer]


def test_the_output_is_compared_at_the_widths_of_the_result():
    network = Scaled(lambda n, h, k: 2.0 if n.inner.out_features < 4 else 1.0).eval()
    assert combred.reduce(network, X[:1], method="magnitude", ratio=0.5).trace
    with pytest.raises(ValueError, match=r"magnitude with ratio=0\.2: the forward reads"):
        combred.reduce(network, X[:1], method="magnitude", ratio=0.2)


def test_loops_and_sparse_training_leave_such_layers_alone():
    network = Scaled(lambda n, h, k: 1 / h.shape[-1])
    pairs = [(X, torch.zeros(40, 3))] * 6
    sparse = train_sparsely(
        network, X[:1], lambda step: pairs, F.mse_loss, Complexity(10.0, prune_every=2)
    )
    assert set(sparse.kept) == {"second"} and "reads the number" in sparse.untouched["inner"]
    with pytest.raises(ValueError, match="inner cannot be reduced: the forward reads"):
        settings = combred.reduction.AutomaticSettings(layers=("inner",), final_threshold=None)
        reduce_automatically(network, X[:1], lambda *_: None, lambda _: 1.0, settings)


class Sum(nn.Module):
    """A sum of two layers, with a linear layer behind it; its width may divide the output."""

    def __init__(self, power):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(8, 2)
        self.power = power

    def forward(self, x):
        h = torch.relu(self.a(x) + self.b(x))
        return self.c(h) * h.shape[-1] ** self.power


def test_units_of_a_stream_are_masked_unless_their_number_is_read():
    pairs = [(X, torch.zeros(40, 2))]
    kept = train_sparsely(Sum(0), X[:1], lambda step: pairs, F.mse_loss, Complexity(0.1)).kept
    assert set(kept) == {"a+b"}
    with pytest.raises(ValueError, match="nothing to prune(.|\n)*reads the number of units in a"):
        train_sparsely(Sum(-1), X[:1], lambda step: pairs, F.mse_loss, Complexity(0.1))


def test_a_width_written_into_the_forward_is_told():
    layers = [nn.Linear(6, 16), nn.ReLU(), nn.Unflatten(1, (16,)), nn.Linear(16, 3)]

    class Fixed(nn.Sequential):
        def forward(self, x):
            return self[3](torch.relu(self[0](x)).view(-1, 16))

    survey = find_layers(Fixed(*layers), X[:2])
    assert not survey.layers and "has the old width written into it" in survey.untouched["0"]


def test_a_network_with_a_domain_is_compared_on_its_own_weights():
    class Positive(nn.Module):
        def __init__(self, power):
            super().__init__()
            self.a, self.b, self.power = nn.Linear(6, 8), nn.Linear(8, 2), power
            self.scale = nn.Parameter(-torch.ones(2))

        def forward(self, x):  # the root of a drawn parameter is not a number
            h = torch.relu(self.a(torch.log(x)))
            return self.b(h) * torch.sqrt(-self.scale) * h.shape[-1] ** self.power

    x = X.abs() + 0.1
    assert find_layers(Positive(0), x).layers
    assert "reads the number" in find_layers(Positive(-1), x).untouched["a"]
    layer = find_layers(Positive(0), x)["a"]
    assert problem_of_widths(Positive(0), {layer: 1}, x) == ""


class Auxiliary(nn.Module):
    """A second output in training, of the first layer or of the output."""

    def __init__(self, reads):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)
        self.reads = reads
        self.second = nn.Linear({"hidden": 8, "output": 3}.get(reads, 8), 2)

    def forward(self, x, y=None):
        h = F.relu(self.norm(self.a(x)))
        if self.training:
            read = {"hidden": h, "output": self.b(h), "target": y}[self.reads]
            return self.b(h), self.second(read)
        return self.b(h)


@pytest.mark.parametrize("reads, found", [("hidden", False), ("output", True), ("target", True)])
def test_a_layer_that_other_layers_read_in_training_is_left_alone(reads, found):
    survey = find_layers(Auxiliary(reads), X[:1])
    assert [layer.name for layer in survey.layers] == ["a"] * found
    assert found or "in training mode" in survey.untouched["a"]

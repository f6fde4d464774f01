"""A network is reduced as it computes, and not as torch.fx may misread it."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import prune

import combred
from combred.reduction import find_layers
from tests.reduction.reducible import same, state

X = torch.randn(50, 6, generator=torch.Generator().manual_seed(0))


class Net(nn.Module):
    """Two linear layers, a (6 -> 8) and b (8 -> 3), with equal units in the first."""

    def __init__(self, **modules):
        super().__init__()
        torch.manual_seed(1)
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 3)
        with torch.no_grad():
            self.a.weight[4:], self.a.bias[4:] = self.a.weight[:4], self.a.bias[:4]
        for name, module in modules.items():
            setattr(self, name, module)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


class OptionalContext(Net):
    def forward(self, x, context=None):
        h = self.a(x)
        return self.b(F.softplus(h) if context is None else F.relu(h))


class OptionalMask(Net):
    def forward(self, x, mask=None):
        h = F.relu(self.a(x))
        return self.b(h if mask is None else h * mask)


class OptionalOutput(Net):
    def forward(self, x, return_hidden=False):
        h = F.relu(self.a(x))
        return (self.b(h), h) if return_hidden else self.b(h)


class NamedActivation(Net):
    def forward(self, x, *, activation="tanh"):
        h = self.a(x)
        return self.b(torch.tanh(h) if activation == "tanh" else F.relu(h))


@pytest.mark.parametrize(
    "kind, activation",
    [(OptionalContext, "other"), (OptionalMask, "relu"), (OptionalOutput, "relu"),
     (NamedActivation, "other")],
)  # fmt: skip
def test_arguments_with_a_default_keep_it(kind, activation):
    layer = find_layers(kind(), X[:1])["a"]
    assert layer.activation == activation and layer.homogeneous == (activation == "relu")


class AsksForTensor(Net):
    def forward(self, x):
        h = self.a(x)
        return self.b(F.relu(torch.sin(h) if isinstance(h, torch.Tensor) else h))


class AsksForInput(Net):
    def forward(self, x):
        return super().forward(torch.cos(x) if torch.is_tensor(x) else x)


class AsksInSecondOutput(Net):
    def forward(self, x):
        h = self.a(x)
        return {"large": 1e9 * self.b(F.relu(h)), "small": [h if torch.is_tensor(h) else -h]}


@pytest.mark.parametrize("x", [X[:1], torch.zeros(1, 6)])
@pytest.mark.parametrize("kind", [AsksForTensor, AsksForInput, AsksInSecondOutput])
def test_a_network_that_is_traced_as_another_one_is_refused(kind, x):
    with pytest.raises(ValueError, match=r"with another output.*isinstance.*the traceable part"):
        find_layers(kind(), x)


def test_an_output_that_is_not_a_number_is_equal_to_itself():
    network = nn.Sequential(Net(), nn.LogSigmoid(), nn.Linear(3, 2))
    nn.init.constant_(network[2].bias, torch.nan)
    assert find_layers(network, X)["0.a"].units == 8


def halve(module):
    return prune.random_unstructured(module, "weight", 0.5)


class Keeps(Net):
    """A forward that keeps an activation and counts its calls."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))
        self.last = None

    def forward(self, x):
        self.last = self.a(x)
        self.calls += 1
        return self.b(F.relu(self.last))


@pytest.mark.parametrize("ran", [False, True])
def test_the_given_network_is_neither_traced_nor_run(ran):
    network = Keeps()
    if ran:
        network(X)  # keeps a tensor that copy.deepcopy does not copy
    before, last = state(network), network.last
    found = combred.reduce(network, X[:1], method="interpolative", ratio=0.5, calibration=X)
    assert same(before, state(network)) and network.last is last
    network.last = None
    copy.deepcopy(network)
    assert found.network(X).shape == (50, 3)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("change", [nn.utils.weight_norm, nn.utils.spectral_norm, halve])
def test_layers_beside_one_with_computed_weights_are_reduced(change):
    network = nn.Sequential(Net(), nn.ReLU(), change(nn.Linear(3, 2)))
    network.eval()(X)  # computes a weight that copy.deepcopy does not copy
    found = combred.reduce(network, X[:1], ratio=0.5)
    assert [row.layer for row in found.trace] == ["0.a"]
    assert torch.allclose(found.network(X), network(X), atol=1e-6)


def test_a_network_that_cannot_be_copied_is_refused():
    network = Net()
    network.rows = (row for row in X)
    with pytest.raises(ValueError, match="Net cannot be copied: .*generator.*out of its attrib"):
        combred.reduce(network, X[:1], ratio=0.5)


class Tied(Net):
    """A weight that is used in another method too, or held under another name."""

    def __init__(self, module):
        super().__init__()
        if module:
            self.decoder = nn.Linear(6, 8)
            self.decoder.weight = self.a.weight
        else:
            self.weight = self.a.weight


@pytest.mark.parametrize("module", [True, False])
def test_a_weight_tied_to_what_forward_does_not_call_stays(module):
    assert "shares its weights" in find_layers(Tied(module), X).untouched["a"]


@pytest.mark.parametrize("how", ["register_forward_hook", "register_forward_pre_hook", "forward"])
@pytest.mark.parametrize("module", [nn.ReLU(), nn.Dropout(), nn.Flatten()])
def test_a_layer_before_a_module_that_is_altered_is_left_alone(how, module):
    network = nn.Sequential(nn.Linear(6, 8), copy.deepcopy(module), nn.Linear(8, 3))
    assert find_layers(network, X).layers
    if how == "forward":
        network[1].forward = torch.sin
    else:
        getattr(network[1], how)(lambda module, given, *_: None)
    reason = "has a forward that is not" if how == "forward" else "has hooks"
    assert f"1 {reason}" in find_layers(network, X).untouched["0"]


def test_hooks_of_the_whole_network_and_of_parts_are_traced():
    network = nn.Sequential(nn.Sequential(nn.Linear(6, 8)), nn.Linear(8, 3))
    network.register_forward_pre_hook(lambda module, given: (torch.cos(given[0]),))
    network[0].register_forward_hook(lambda module, given, out: torch.tanh(out))
    assert find_layers(network, X)["0.0"].activation == "other"


def quantised():
    quantize = torch.ao.quantization.quantize_dynamic
    return quantize(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)), {nn.Linear})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "network, x, reason",
    [
        (lambda: torch.jit.script(nn.Linear(6, 3)), X, "give the nn.Module that it was made of"),
        (lambda: torch.relu, X, "give an nn.Module"),
        (lambda: nn.Sequential(nn.LazyLinear(3)), X, r"run it once, network\(x\[:1\]\)"),
        (lambda: nn.Linear(6, 3, dtype=torch.complex64), X, "complex weights, and only layers of"),
        (lambda: nn.Linear(6, 3), X, "Linear: its units are the network's output"),
        (quantised, X, "2: its weights are quantised: reduce the network before"),
        (Net, X[:0], r"example_input is a batch \(n, ...\) of inputs"),
    ],
)
def test_a_network_that_cannot_be_reduced_is_refused_with_a_remedy(network, x, reason):
    with pytest.raises(ValueError, match=reason):
        combred.reduce(network(), x, ratio=0.5)


@pytest.mark.filterwarnings("ignore:Initializing zero-element")
def test_a_layer_without_units_is_left_alone():
    network = nn.Sequential(nn.Linear(6, 0), nn.ReLU(), nn.Linear(0, 3))
    assert find_layers(network, X).untouched["0"] == "it has no units"


def test_a_compiled_network_is_reduced_as_the_module_that_it_was_made_of():
    network = Net()
    compiled = torch.compile(network)
    assert [layer.name for layer in find_layers(compiled, X).layers] == ["a"]
    found = combred.reduce(compiled, X[:1], ratio=0.5)
    assert type(found.network) is Net
    assert torch.allclose(found.network(X), network(X), atol=1e-6)
    network.compile()  # in place
    assert type(combred.reduce(network, X[:1], ratio=0.5).network) is Net

"""`find_layers`: the hidden layers of a network, and the reason for each layer that is none.

That readers and carriers are all found is proved by the merged networks of test_merge.py.
"""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import prune
from torch.nn.utils.parametrizations import weight_norm

import combred
from combred.reduction import find_layers
from combred.reduction.network.operations import CONVOLUTIONS
from combred.surrogates.model.network import Network

IMAGE = torch.zeros(2, 3, 8, 8)
OUTPUT = "its units are the network's output"


class Net(nn.Module):
    """Named modules, and a forward that is given as a function of them and the input."""

    def __init__(self, forward, **modules):
        super().__init__()
        for name, module in modules.items():
            setattr(self, name, module)
        self.function = forward

    def forward(self, x):
        return self.function(self, x)


class Step(nn.Module):
    """A function as a module; a module stays one."""

    def __new__(cls, function=None):  # None: in a copy
        return function if isinstance(function, nn.Module) else super().__new__(cls)

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def between(function, **modules) -> Net:
    """conv (3 -> 8) -> function(net, .) -> read (a 1 x 1 convolution)."""
    modules = {"conv": nn.Conv2d(3, 8, 3, padding=1), "read": nn.Conv2d(8, 4, 1)} | modules
    return Net(lambda n, x: n.read(function(n, n.conv(x))), **modules)


def through(function, **modules) -> Net:
    """conv (3 -> 8) -> function -> read, where the function may be a module."""
    return between(lambda n, x: n.step(x), step=Step(function), **modules)


def flattened(function, inputs: int) -> Net:
    """conv (3 -> 8) -> relu -> max pool (4) -> function -> a linear layer."""
    return Net(
        lambda n, x: n.read(n.step(F.max_pool2d(torch.relu(n.conv(x)), 4))),
        conv=nn.Conv2d(3, 8, 3, padding=1),
        step=Step(function),
        read=nn.Linear(inputs, 4),
    )


def convolutions(**sizes: tuple[int, int, int]) -> dict[str, nn.Module]:
    """By name, of inputs, outputs and kernel sizes; padded to keep the size of the image."""
    return {name: nn.Conv2d(m, n, k, padding=k // 2) for name, (m, n, k) in sizes.items()}


def norms(**sizes: int) -> dict[str, nn.Module]:
    """Batch norms by name."""
    return {name: nn.BatchNorm2d(size) for name, size in sizes.items()}


def post_activation() -> Net:
    """relu(x + bn2(conv2(relu(bn1(conv1(x)))))), x a convolution's; a linear layer behind it."""

    def forward(n, x):
        x = torch.relu(n.bn0(n.stem(x)))
        y = n.bn2(n.conv2(torch.relu(n.bn1(n.conv1(x)))))
        return n.head(torch.relu(x + y).mean((2, 3)))

    layers = convolutions(stem=(3, 6, 3), conv1=(6, 5, 3), conv2=(5, 6, 3))
    return Net(forward, **layers, **norms(bn0=6, bn1=5, bn2=6), head=nn.Linear(6, 4))


def pre_activation() -> Net:
    """x + conv2(relu(bn2(conv1(relu(bn1(x)))))) twice over, the first with a convolved shortcut.

    The first block reads the stem only, so that its batch norm belongs to the stem.
    """

    def forward(n, x):
        x = n.stem(x)
        a = torch.relu(n.bn1(x))
        x = n.short(a) + n.conv2(torch.relu(n.bn2(n.conv1(a))))
        x = x + n.conv4(torch.relu(n.bn4(n.conv3(torch.relu(n.bn3(x))))))
        return n.head(torch.relu(n.bn5(x)).mean((2, 3)))

    layers = convolutions(stem=(3, 6, 3), short=(6, 7, 1), conv1=(6, 5, 3), conv2=(5, 7, 1))
    layers |= convolutions(conv3=(7, 5, 1), conv4=(5, 7, 1))
    layers |= norms(bn1=6, bn2=5, bn3=7, bn4=5, bn5=7)
    return Net(forward, **layers, head=nn.Linear(7, 4))


def concatenated() -> Net:
    return Net(
        lambda n, x: n.read(torch.cat([torch.relu(n.a(x)), n.b(x)], dim=1)),
        a=nn.Conv2d(3, 4, 1),
        b=nn.Conv2d(3, 5, 1),
        read=nn.Conv2d(9, 2, 1),
    )


def grouped() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU(), nn.Conv2d(8, 8, 1, groups=2), nn.ReLU(),
                         nn.Conv2d(8, 6, 1), nn.ReLU(), nn.Conv2d(6, 2, 1))  # fmt: skip


def tied() -> nn.Sequential:
    network = nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU(), nn.Conv2d(4, 4, 1), nn.ReLU(),
                            nn.Conv2d(4, 4, 1), nn.ReLU(), nn.Conv2d(4, 2, 1))  # fmt: skip
    network[4].weight = network[2].weight
    return network


class Scaled(nn.Conv2d):
    """A convolution with a forward of its own."""

    def forward(self, x):
        return 2.0 * super().forward(x)


def attention() -> Net:
    return Net(
        lambda n, x: n.read(n.attend(*[n.embed(x.flatten(2).transpose(1, 2))] * 3)[0]),
        embed=nn.Linear(3, 8),
        attend=nn.MultiheadAttention(8, 2, batch_first=True),
        read=nn.Linear(8, 2),
    )


NETWORKS = {
    "depthwise on the input": (
        lambda: nn.Sequential(nn.Conv2d(3, 3, 3, groups=3), nn.ReLU(), nn.Conv2d(3, 2, 1)),
        IMAGE,
    ),
    "attention": (attention, IMAGE),
    "never called": (lambda: between(lambda n, x: x, spare=nn.Linear(3, 3)), IMAGE),
    "own forward": (lambda: between(lambda n, x: n.own(x), own=Scaled(8, 8, 1)), IMAGE),
    "dead end": (
        lambda: between(lambda n, x: (n.end(x), torch.relu(x))[1], end=nn.Conv2d(8, 3, 1)),
        IMAGE,
    ),
    "transposed": (
        lambda: between(lambda n, x: n.up(x), up=nn.ConvTranspose2d(8, 8, 2)),
        IMAGE,
    ),
    "sequences": (
        lambda: nn.Sequential(nn.Linear(8, 9), nn.ReLU(), nn.Linear(9, 7), nn.LayerNorm(7),
                              nn.Linear(7, 2)),
        IMAGE,
    ),
    "combred's": (lambda: Network([8, 7, 6, 5]), torch.zeros(2, 8)),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_every_layer_is_found_or_has_a_reason(name):
    make, x = NETWORKS[name]
    network = make()
    survey = find_layers(network, x)
    made = {layer.name for layer in survey.layers if not layer.residual}
    made |= {layer.depthwise for layer in survey.layers if layer.depthwise}
    kinds = (nn.Linear, *CONVOLUTIONS, nn.ConvTranspose2d)
    every = {n for n, module in network.named_modules() if isinstance(module, kinds)}
    assert made | set(survey.untouched) == every and not made & set(survey.untouched)
    assert all(survey.untouched.values())


def test_layers_by_number_and_by_name():
    survey = find_layers(pre_activation(), IMAGE)
    # Residual layers have no number.
    assert [survey[i].name for i in (1, 2, 3)] == ["stem", "conv1", "conv3"]
    assert survey["bn3"].residual and survey["conv3"] is survey[3]
    listed = "hidden layers, from 1 on, are stem, conv1"
    for number in (0, 4, -1):
        with pytest.raises(ValueError, match=f"there is no layer {number}; {listed}"):
            survey[number]
    with pytest.raises(ValueError, match="layer head cannot be reduced: its units are the net"):
        survey["head"]
    with pytest.raises(ValueError, match=f"there is no layer 'fc'; {listed}"):
        survey["fc"]


@pytest.mark.parametrize(
    "flatten",
    [
        nn.Flatten(),
        lambda x: torch.flatten(x, 1),
        lambda x: x.view(x.size(0), -1),
        lambda x: x.reshape(x.shape[0], -1),
        lambda x: torch.reshape(x, (x.shape[0], -1)),
        lambda x: x.flatten(1),
        lambda x: x.flatten(1).contiguous(),
    ],
)
def test_behind_a_flatten_a_unit_has_several_inputs(flatten):
    layer = find_layers(flattened(flatten, 32), IMAGE)["conv"]
    assert layer.readers == (("read", 4),) and layer.units == 8 and layer.takes_offset


@pytest.mark.parametrize(
    "pool",
    [
        nn.AdaptiveAvgPool2d(1),
        lambda x: F.adaptive_avg_pool2d(x, (1, 1)),
        nn.AdaptiveMaxPool2d(1),
        nn.AvgPool2d(2),
        lambda x: x.mean((2, 3), keepdim=True),
        lambda x: x.mean((-1, -2), True),
        lambda x: torch.mean(x, dim=(2, 3), keepdim=True),
    ],
)
def test_behind_global_pooling_a_unit_has_one_input(pool):
    network = flattened(nn.Sequential(Step(pool), nn.Flatten()), 8)
    assert find_layers(network, IMAGE)["conv"].readers == (("read", 1),)


@pytest.mark.parametrize(
    "pool, takes_offset",
    [
        (nn.MaxPool2d(3, padding=1), True),  # pads with minus infinity
        (nn.AvgPool2d(3), True),
        (nn.AvgPool2d(3, padding=1), False),
        (nn.AvgPool2d(3, padding=(0, 1)), False),
        (lambda x: F.max_pool2d(x, 3, 1, 1), True),
        (lambda x: F.avg_pool2d(x, 3), True),
        (lambda x: F.avg_pool2d(x, 3, 1, 1), False),
        (lambda x: F.avg_pool2d(x, 3, padding=1), False),
        (nn.AvgPool2d(3, divisor_override=1), False),  # a sum
        (lambda x: F.avg_pool2d(x, 3, None, 0, False, True, 1), False),
        (lambda x: F.avg_pool2d(x, 3, divisor_override=1), False),
    ],
)
def test_average_pooling_that_changes_a_constant_takes_no_offset(pool, takes_offset):
    network = through(nn.Sequential(nn.ReLU(), Step(pool)))
    assert find_layers(network, IMAGE)["conv"].takes_offset is takes_offset


@pytest.mark.parametrize(
    "padding, mode, takes_offset",
    [
        (0, "zeros", True),
        (1, "zeros", False),
        ((0, 1), "zeros", False),
        ("valid", "zeros", True),
        ("same", "zeros", False),
        (1, "reflect", True),
        (1, "circular", True),
    ],
)
def test_a_reader_that_pads_with_zeros_takes_no_offset(padding, mode, takes_offset):
    read = nn.Conv2d(8, 4, 3, padding=padding, padding_mode=mode)
    network = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), read)
    assert find_layers(network, IMAGE)["0"].takes_offset is takes_offset


RELU, LEAKY, NONE = (True, False, "relu"), (True, False, "leaky"), (True, False, "")
OTHER = (False, False, "other")


@pytest.mark.parametrize(
    "activation, expected",
    [
        (nn.ReLU(), RELU),
        (nn.ReLU(inplace=True), RELU),
        (torch.relu, RELU),
        (F.relu, RELU),
        (lambda x: F.relu(x, inplace=True), RELU),
        (torch.relu_, RELU),
        (lambda x: x.relu(), RELU),
        (lambda x: x.relu_(), RELU),
        (nn.ReLU6(), (True, True, "relu")),
        (F.relu6, (True, True, "relu")),
        (nn.LeakyReLU(0.2), LEAKY),
        (lambda x: F.leaky_relu(x, 0.2), LEAKY),
        (nn.PReLU(), LEAKY),
        (nn.Identity(), NONE),
        (lambda x: x, NONE),
        (nn.GELU(), OTHER),
        (F.gelu, OTHER),
        (nn.Tanh(), OTHER),
        (torch.tanh, OTHER),
        (lambda x: x.tanh(), OTHER),
        (lambda x: x.sigmoid(), OTHER),
        (nn.Hardswish(), OTHER),
        (F.silu, OTHER),
        (lambda x: F.gelu(torch.relu(x)), OTHER),
        *(
            (nn.Sequential(nn.ReLU(), Step(dropout)), RELU)
            for dropout in (nn.Dropout(0.3), nn.Dropout2d(0.3), F.dropout, F.dropout2d)
        ),
    ],
)
def test_activations(activation, expected):
    layer = find_layers(through(activation), IMAGE)["conv"]
    assert (layer.homogeneous, layer.bounded, layer.activation) == expected


@pytest.mark.parametrize(
    "function, reason",
    [
        (lambda x: x * 2.0, "mul is not supported"),
        (lambda x: x.softmax(1), "softmax is not supported"),
        (lambda x: x[:, :8], "getitem is not supported"),
        (lambda x: x + 1.0, "add is not supported"),
        (lambda x: x * x.mean(), "mixes units"),
        (lambda x: x * x.sigmoid(), "multiplied"),
        (lambda x: x.transpose(2, 3), "transpose is not supported"),
        (nn.GroupNorm(2, 8), "GroupNorm .* is not supported"),
        (nn.PReLU(8), "PReLU .* is not supported"),
        (lambda x: x.mean(1, keepdim=True).expand(2, 8, 8, 8), "mixes units"),
        (lambda x: x.mean(0, keepdim=True), "mixes units"),
        (lambda x: x.mean((1, 2, 3), True).expand(2, 8, 1, 1), "mixes units"),
        (lambda x: torch.mean(x) * torch.ones(2, 8, 1, 1), "mixes units"),
        (lambda x: x.view(2, 8, 4, 16), "reshapes"),
    ],
)
def test_layers_before_unknown_operations_are_left_alone(function, reason):
    with pytest.raises(ValueError, match=f"layer conv cannot be reduced: .*{reason}"):
        find_layers(through(function), IMAGE)["conv"]


@pytest.mark.parametrize("axis", [1, -3])
def test_a_mean_over_units_is_not_one_over_pixels(axis):
    # As many rows of pixels as units: the shapes do not distinguish them.
    network = through(lambda x: x.mean(axis), read=nn.Conv1d(8, 4, 1))
    assert "mixes units" in find_layers(network, IMAGE).untouched["conv"]
    network = flattened(lambda x: x.flatten(1).mean(-1, keepdim=True), 1)
    assert "mixes units" in find_layers(network, IMAGE).untouched["conv"]


@pytest.mark.parametrize("pool", [nn.MaxPool1d(3, 1, 1), lambda x: F.avg_pool1d(x, 3, 1, 1)])
def test_a_pooling_without_a_batch_axis_is_one_over_units(pool):
    network = nn.Sequential(nn.Linear(6, 8), Step(pool), nn.Linear(8, 3))
    assert "pool1d mixes units" in find_layers(network, torch.zeros(2, 6)).untouched["0"]


@pytest.mark.parametrize(
    "parts",
    [
        (nn.ReLU(), nn.BatchNorm2d(8)),
        (nn.BatchNorm2d(8), nn.BatchNorm2d(8), nn.ReLU()),
        # A maximum does not commute with negative multiples.
        (nn.MaxPool2d(2), nn.BatchNorm2d(8), nn.ReLU()),
        (nn.AvgPool2d(3, padding=1), nn.BatchNorm2d(8), nn.ReLU()),
        (nn.AvgPool2d(3, divisor_override=1), nn.BatchNorm2d(8), nn.ReLU()),
    ],
)
def test_a_batch_norm_that_is_not_part_of_the_weights_breaks_homogeneity(parts):
    network = nn.Sequential(nn.Conv2d(3, 8, 3), *parts, nn.Conv2d(8, 2, 1))
    layer = find_layers(network, IMAGE)["0"]
    assert not layer.homogeneous
    # All batch norms are carriers; the first is folded if it is right behind the convolution.
    norms = [str(i) for i, part in enumerate(parts, 1) if isinstance(part, nn.BatchNorm2d)]
    assert layer.carriers == ("0", *norms)
    assert layer.norm == ("1" if isinstance(parts[0], nn.BatchNorm2d) else "")


def test_a_batch_norm_behind_the_second_activation_of_a_depthwise_block_is_not_folded():
    network = nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=8), nn.ReLU(),
                            nn.BatchNorm2d(8), nn.Conv2d(8, 2, 1))  # fmt: skip
    layer = find_layers(network, IMAGE)["0"]
    assert not layer.homogeneous and layer.carriers == ("0", "2", "4")


def test_branches_with_different_activations_have_the_activation_other():
    network = between(lambda n, x: n.other(x) + torch.relu(x), other=nn.Conv2d(8, 8, 1))
    assert "residual sum" in find_layers(network, IMAGE).untouched["conv"]
    read = nn.Conv2d(8, 4, 1)
    network = Net(lambda n, x: (lambda a: n.one(torch.relu(a)) * n.two(a))(n.conv(x)),
                  conv=nn.Conv2d(3, 8, 1), one=read, two=nn.Conv2d(8, 4, 1))  # fmt: skip
    layer = find_layers(network, IMAGE)["conv"]
    assert layer.activation == "other" and layer.homogeneous


def test_a_batch_norm_on_one_of_several_branches_is_a_residual_layer():
    network = Net(lambda n, x: (lambda a: n.one(torch.relu(n.norm(a))) * n.two(a))(n.conv(x)),
                  conv=nn.Conv2d(3, 8, 1), norm=nn.BatchNorm2d(8), one=nn.Conv2d(8, 4, 1),
                  two=nn.Conv2d(8, 4, 1))  # fmt: skip
    survey = find_layers(network, IMAGE)
    assert "several branches" in survey.untouched["conv"]
    assert [(layer.name, layer.residual) for layer in survey.layers] == [("norm", True)]


def test_post_activation_blocks():
    survey = find_layers(post_activation(), IMAGE)
    assert [layer.name for layer in survey.layers] == ["conv1"]
    assert survey["conv1"].readers == (("conv2", 1),) and survey["conv1"].norm == "bn1"
    for name in ("stem", "conv2"):
        assert "residual sum" in survey.untouched[name]
    assert survey.untouched["head"] == OUTPUT


@pytest.mark.parametrize(
    "affine, activation, found",
    [(True, nn.ReLU(), ["norm"]), (False, nn.ReLU(), []), (True, nn.Identity(), [])],
)
def test_a_residual_layer_has_an_affine_batch_norm_and_an_activation(affine, activation, found):
    network = Net(lambda n, x: (lambda a: n.one(n.act(n.norm(a))) * n.two(a))(n.conv(x)),
                  conv=nn.Conv2d(3, 8, 1), norm=nn.BatchNorm2d(8, affine=affine), act=activation,
                  one=nn.Conv2d(8, 4, 1), two=nn.Conv2d(8, 4, 1))  # fmt: skip
    assert [layer.name for layer in find_layers(network, IMAGE).layers] == found


def hooked():
    network = nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU(), nn.Conv2d(8, 2, 1))
    network[0].register_forward_hook(lambda module, x, y: torch.tanh(y))
    return network


@pytest.mark.parametrize(
    "network, reasons",
    [
        (hooked, {"0": "0 has hooks"}),
        (tied, {"0": "2 shares its weights", "2": "2 shares", "4": "4 shares"}),
        (
            lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.BatchNorm1d(288),
                                  nn.Linear(288, 2)),
            {"0": "follows a flatten"},
        ),
        (
            lambda: nn.Sequential(nn.Conv2d(3, 8, 1), nn.Conv2d(8, 8, 3, groups=8),
                                  nn.Conv2d(8, 8, 3, groups=8), nn.Conv2d(8, 2, 1)),
            {"0": "two depthwise"} | dict.fromkeys("12", "units that are left alone"),
        ),
        (  # a depthwise convolution with a multiplier
            lambda: nn.Sequential(nn.Conv2d(3, 8, 1), nn.Conv2d(8, 16, 3, groups=8),
                                  nn.Conv2d(16, 2, 1)),
            {"0": "1, which reads it, is a grouped convolution", "1": "grouped"},
        ),
        (grouped, {"0": "grouped convolution", "2": "grouped convolution"}),
        (concatenated, {"a": "concatenated", "b": "concatenated"}),
        (
            lambda: nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU(), nn.Linear(8, 2)),
            {"0": "2 reads positions"},
        ),
        (
            lambda: nn.Sequential(nn.Linear(8, 5), nn.ReLU(), nn.Conv2d(3, 2, 1)),
            {"0": "2 reads positions"},
        ),
        (
            lambda: between(lambda n, x: n.twice(torch.relu(n.twice(x))), twice=nn.Conv2d(8, 8, 1)),
            {"conv": "twice is used more than once", "twice": "twice is used more than once"},
        ),
        (
            lambda: Net(lambda n, x: n.read(torch.relu(n.other(torch.relu(n.first(x))))),
                        first=(same := nn.Conv2d(3, 3, 1)), other=same, read=nn.Conv2d(3, 2, 1)),
            {"first": "first is used more than once"},
        ),
        (
            lambda: between(lambda n, x: F.conv2d(x, n.kernel), kernel=nn.Parameter(
                torch.ones(8, 8, 1, 1))),
            {"conv": "conv2d is not supported"},
        ),
        (
            lambda: between(lambda n, x: torch.relu(x) * n.mid.weight.sum() + n.mid(x),
                            mid=nn.Conv2d(8, 8, 1)),
            {"conv": "multiplied", "mid": "weights of mid are read outside of it"},
        ),
        (
            lambda: between(lambda n, x: n.mid(torch.relu(x)), mid=weight_norm(nn.Conv2d(8, 8, 1))),
            {"conv": "weights of mid are parametrised", "mid": "mid are parametrised"},
        ),
        (
            lambda: between(lambda n, x: n.mid(torch.relu(x)),
                            mid=prune.random_unstructured(nn.Conv2d(8, 8, 1), "weight", 0.5)),
            {"conv": "weights of mid are parametrised", "mid": "mid are parametrised"},
        ),
    ],
)  # fmt: skip
def test_layers_are_left_alone_with_the_reason(network, reasons):
    untouched = {
        n: why for n, why in find_layers(network(), IMAGE).untouched.items() if why != OUTPUT
    }
    assert untouched.keys() == reasons.keys()
    assert all(reason in untouched[name] for name, reason in reasons.items()), untouched


def test_linear_layers_on_sequences():
    network = NETWORKS["sequences"][0]()
    survey = find_layers(network, torch.zeros(2, 5, 8))
    assert survey["0"].last_axis and survey["0"].units == 9 and survey["0"].readers == (("2", 1),)
    assert "LayerNorm" in survey.untouched["2"]
    network = nn.Sequential(nn.Linear(8, 9), nn.BatchNorm1d(5), nn.Linear(9, 2))
    assert "another axis" in find_layers(network, torch.zeros(2, 5, 8)).untouched["0"]
    network = nn.Sequential(nn.Linear(8, 9), nn.ReLU(), nn.AvgPool1d(3), nn.Linear(3, 2))
    assert "mixes units" in find_layers(network, torch.zeros(2, 5, 8)).untouched["0"]


def test_an_example_without_a_batch_axis_is_recognised():
    network = nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU(), nn.Conv2d(8, 2, 1), nn.ReLU(),
                            nn.Conv2d(2, 2, 1))  # fmt: skip
    survey = find_layers(network, IMAGE[0])
    assert survey.layers == [] and "give an example (n, ...)" in survey.untouched["0"]


@pytest.mark.parametrize(
    "function", [lambda x: x if x.sum() > 0 else -x, lambda x: torch.stack([row for row in x])]
)
def test_a_forward_that_branches_on_values_is_refused(function):
    with pytest.raises(ValueError, match="Net cannot be traced by torch.fx .*must not branch"):
        find_layers(through(function), IMAGE)


def test_an_example_that_does_not_fit_is_refused(capfd):
    with pytest.raises(ValueError, match=r"does not run on an example_input of shape \(2, 3\)"):
        find_layers(Network([6, 5, 4]), torch.zeros(2, 3))
    assert capfd.readouterr() == ("", "")  # one error and no output


@pytest.mark.parametrize("rows", [1, 3])
def test_a_batch_norm_without_statistics_leaves_the_layer_alone(rows):
    norm = nn.BatchNorm1d(6, track_running_stats=False)
    network = nn.Sequential(nn.Linear(4, 6), norm, nn.ReLU(), nn.Linear(6, 5), nn.ReLU())
    network.append(nn.Linear(5, 2))
    x = torch.randn(300, 4, generator=torch.Generator().manual_seed(0))
    survey = find_layers(network, x[:rows])
    assert [layer.name for layer in survey.layers] == ["3"]
    assert survey.untouched["0"] == "1 keeps no running statistics"
    for method, calibration in (("magnitude", None), ("brain_surgeon", x)):
        found = combred.reduce(network, x[:rows], method=method, ratio=0.6, calibration=calibration)
        assert [row.layer for row in found.trace] == ["3"]
        assert found.untouched["0"] == "1 keeps no running statistics"
        assert found.trace[0].flops_after == 2 * (4 * 6 + 6 * 3 + 3 * 2)  # of one row

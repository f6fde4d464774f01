"""Complexity-aware training: the index is that of the paper, useless units and blocks are removed,
and training goes on with what is left, after an interruption too."""

import copy
import functools
import math

import pytest
import torch
import torch.nn.functional as F
from reducible import draw
from torch import nn

from combred.reduction.complexity import pruning
from combred.reduction.complexity.bernoulli_masks import BernoulliMasks
from combred.reduction.complexity.expected_cost import ComplexityIndex
from combred.reduction.complexity.pruning import Complexity, train_sparsely
from combred.reduction.complexity.residuals import find_structure
from combred.reduction.complexity.sparse_training import Training
from combred.reduction.complexity.structure import Removal, shrink
from combred.reduction.network.size import count_flops, count_parameters

ADAM = functools.partial(torch.optim.Adam, lr=3e-3)
SGD = functools.partial(torch.optim.SGD, lr=1e-2, momentum=0.9)


class Residual(nn.Module):
    """Equation (1) with h = a = relu, widths n_1, ..., n_{L+1} outside and m_1, ..., m_L inside the
    blocks, and biases b_1 only, as (11) and (12) count them."""

    def __init__(self, n: list[int], m: list[int]):
        super().__init__()
        self.W1 = nn.ModuleList(nn.Linear(a, b) for a, b in zip(n, m, strict=False))
        self.W2 = nn.ModuleList(nn.Linear(b, c, bias=False) for b, c in zip(m, n[1:], strict=True))
        self.W3 = nn.ModuleList(nn.Linear(a, c, bias=False) for a, c in zip(n, n[1:], strict=False))

    def forward(self, z):
        for W1, W2, W3 in zip(self.W1, self.W2, self.W3, strict=True):
            z = torch.relu(z)
            z = W2(torch.relu(W1(z))) + W3(z)
        return torch.relu(z)


class ConvBlock(nn.Module):
    """relu(x + norm2(conv2(relu(norm1(conv1(x)))))); `in_place`: written as path += x."""

    def __init__(self, channels: int, inside: int, in_place: bool = False):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, inside, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(inside)
        self.relu = nn.ReLU(inplace=in_place)
        self.conv2 = nn.Conv2d(inside, channels, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(channels)
        self.last = nn.ReLU()
        self.in_place = in_place

    def forward(self, x):
        path = self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x)))))
        if self.in_place:
            path += x
            return self.last(path)
        return self.last(x + path)


class PreactivationBlock(nn.Module):
    """shortcut(x) + conv2(relu(norm2(conv1(relu(norm1(x)))))), the shortcut a convolution."""

    def __init__(self, channels: int, inside: int, out: int):
        super().__init__()
        self.norm1, self.relu1 = nn.BatchNorm2d(channels), nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(channels, inside, 3, padding=1)
        self.norm2, self.relu2 = nn.BatchNorm2d(inside), nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(inside, out, 3, stride=2, padding=1)
        self.shortcut = nn.Conv2d(channels, out, 1, stride=2)

    def forward(self, x):
        shortcut = self.shortcut(x)
        return shortcut + self.conv2(self.relu2(self.norm2(self.conv1(self.relu1(self.norm1(x))))))


def convolutional(in_place: bool = False) -> nn.Module:
    """Stem, two basic blocks, a pre-activation block with a projection, and a head behind a
    flatten; for images (n, 2, 8, 8)."""
    return nn.Sequential(
        *(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU()),
        *(ConvBlock(4, 6, in_place), ConvBlock(4, 5, in_place), PreactivationBlock(4, 6, 8)),
        *(nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 6, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)),
    )


def pooled() -> nn.Module:
    """A sum with a projection that a pooling and a flatten pass on to a linear layer."""
    return nn.Sequential(
        *(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), PreactivationBlock(4, 6, 8)),
        *(nn.BatchNorm2d(8), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(32, 3)),
    )


IMAGES = torch.randn(4, 2, 8, 8, generator=torch.Generator().manual_seed(1))
ROWS = torch.randn(256, 5, generator=torch.Generator().manual_seed(2))
WIDTHS = [5, 7, 6, 4], [8, 3, 6]


def drawn_theta(structure, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    n = sum(structure.sizes.values())
    return torch.rand(n, generator=generator, dtype=torch.float64)


def by_name(structure, theta: torch.Tensor) -> dict[str, torch.Tensor]:
    sizes = structure.sizes
    return dict(zip(sizes, theta.split(list(sizes.values())), strict=True))


def draws(x, y, steps: int, batch: int = 32, seed: int = 0):
    """A function of a step that gives the batches from there on; each depends on seed and step."""

    def from_step(first: int):
        for step in range(first, steps):
            generator = torch.Generator().manual_seed(seed * 10_000 + step)
            pick = torch.randint(0, len(x), (batch,), generator=generator)
            yield x[pick], y[pick]

    return from_step


def hooks(network) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in network.modules())


@pytest.fixture(scope="module")
def residual():
    torch.manual_seed(0)
    return Residual(*WIDTHS)


def literal_sums(theta: dict, n: list[int], m: list[int]):
    """J_F^l = J_P^l of equations (11) and (12) for every block of `Residual`, with f = p = f_a = 1,
    and the sums of theta in them."""
    L = len(m)
    one = [theta[f"W1.{i}"].sum() for i in range(L)]
    two = [torch.tensor(float(n[0])).double()]  # theta_2^1 = 1
    two += [theta[f"W2.{i}+W3.{i}"].sum() for i in range(L - 1)]
    two += [torch.tensor(float(n[L])).double()]  # theta_2^{L+1} = 1
    block = [theta[f"W2.{i}"].sum() for i in range(L)]
    J = []
    for l in range(L):  # noqa: E741 (the paper's letter)
        path = one[l] * two[l] + one[l] + one[l] * two[l + 1]
        J.append(block[l] * path + two[l] * two[l + 1])
    return J, one, two, block


@pytest.mark.parametrize(("beta", "alpha"), [(0.5, 0.0), (0.2, 0.7), (1.7, 0.3)])
def test_the_index_is_equations_11_to_13(residual, beta, alpha):
    structure = find_structure(residual, ROWS[:2])
    index = ComplexityIndex(residual, ROWS[:2], structure, beta, alpha)
    flops, parameters, blocks = index.totals
    theta = drawn_theta(structure)
    J, *_, block = literal_sums(by_name(structure, theta), *WIDTHS)
    full = sum(
        m * a + m + m * c + a * c
        for a, c, m in zip(WIDTHS[0], WIDTHS[0][1:], WIDTHS[1], strict=False)
    )
    assert (flops, parameters, blocks) == (full, count_parameters(residual), 3)
    literal = beta * sum(J) / full + (1 - beta) * sum(J) / full + alpha * sum(block) / 3
    # Sums of a few dozen numbers of order one in another order, float64.
    assert float(index(theta)) == pytest.approx(float(literal), rel=1e-12)
    assert float(index(torch.ones_like(theta))) == pytest.approx(1.0 + alpha, rel=1e-12)


@torch.no_grad()
def elementwise(network, x) -> int:
    """Number of operations of biases and batch norms for one input row."""
    total, handles = 0, []

    def count(module, _, output):
        nonlocal total
        total += output[0].numel()

    for module in network.modules():
        biased = isinstance(module, (nn.Linear, nn.Conv2d)) and module.bias is not None
        if biased or isinstance(module, nn.BatchNorm2d):
            handles.append(module.register_forward_hook(count))
    network.eval()(x[:1])
    for handle in handles:
        handle.remove()
    return total


@pytest.mark.parametrize("kind", ["fully connected", "convolutional"])
def test_at_0_and_1_the_index_is_the_cost_of_the_smaller_network(kind):
    network, x = (
        (Residual(*WIDTHS), ROWS) if kind == "fully connected" else (convolutional(), IMAGES)
    )
    structure = find_structure(network, x)
    of_flops = ComplexityIndex(network, x, structure, 1.0, 0.0)  # beta: 1 or 0
    of_parameters = ComplexityIndex(network, x, structure, 0.0, 0.0)
    theta = (drawn_theta(structure) < 0.6).double()
    for values in by_name(structure, theta).values():
        values[0] = 1.0
    theta[-2] = 0.0  # a block
    kept = {n: v.nonzero()[:, 0] for n, v in by_name(structure, theta).items()}
    smaller = copy.deepcopy(network)
    shrink(smaller, structure, Removal(kept, [list(structure.blocks)[-2]]))
    flops = float(of_flops(theta)) * of_flops.totals[0]
    parameters = float(of_parameters(theta)) * of_parameters.totals[1]
    assert parameters == pytest.approx(count_parameters(smaller), rel=1e-12)
    multiplied = count_flops(smaller, x) / 2  # which counts two per multiply-add
    assert flops == pytest.approx(multiplied + elementwise(smaller, x), rel=1e-12)


def test_the_masked_network_is_equation_1_and_its_gradient_that_of_the_sample(residual):
    network = copy.deepcopy(residual).double()
    structure = find_structure(network, ROWS[:2].double())
    masks = BernoulliMasks(structure, drawn_theta(structure))
    masks.attach(network, structure)
    xi = masks.sample(torch.Generator().manual_seed(3))
    assert set(xi.tolist()) == {0.0, 1.0}
    x = ROWS.double()
    network(x).square().mean().backward()
    same = xi.detach().clone().requires_grad_()
    named, z = by_name(structure, same), x
    for i in range(3):
        two = named[f"W2.{i - 1}+W3.{i - 1}"] if i else 1.0
        z = two * torch.relu(z)
        inner = named[f"W1.{i}"] * torch.relu(z @ network.W1[i].weight.T + network.W1[i].bias)
        z = named[f"W2.{i}"] * (inner @ network.W2[i].weight.T) + z @ network.W3[i].weight.T
    torch.relu(z).square().mean().backward()
    assert torch.allclose(xi.grad, same.grad, rtol=1e-10, atol=1e-14)  # the same sums, float64


@torch.no_grad()
@pytest.mark.parametrize(
    "make, x",
    [
        (lambda: Residual(*WIDTHS), ROWS),
        (convolutional, IMAGES),
        (lambda: convolutional(in_place=True), IMAGES),
        (pooled, IMAGES),
    ],
)
def test_a_network_without_units_and_blocks_is_the_masked_network(make, x):
    network = draw(make())
    structure = find_structure(network, x)
    for seed in range(2):
        theta = (drawn_theta(structure, seed) < 0.6).float()
        for name, values in by_name(structure, theta).items():
            if name not in structure.blocks:
                values[seed % len(values)] = 1.0
        masked = copy.deepcopy(network)
        masks = BernoulliMasks(structure, theta)
        masks.attach(masked, structure)
        smaller = copy.deepcopy(network)
        kept = {n: v.nonzero()[:, 0] for n, v in by_name(structure, theta).items()}
        removal = Removal(kept, [n for n in structure.blocks if not len(kept[n])])
        left = shrink(smaller, structure, removal)
        assert all(layer.units == len(kept[name]) for name, layer in left.layers.items())
        # float32: the same sums without their zeros, in another order, on numbers of order one
        assert torch.allclose(smaller(x), masked(x), rtol=1e-5, atol=1e-5)
        assert count_parameters(smaller) < count_parameters(network)
    assert torch.jit.script(smaller)(x).shape == network(x).shape


def test_blocks_are_found():
    network = convolutional()
    found = find_structure(network, IMAGES)
    assert list(found.blocks) == ["2.norm2", "3.norm2", "4.conv2"]
    assert found.blocks["4.conv2"].modules[0] == "4.norm1"  # and not the shortcut
    # Hidden layers inside the blocks and behind them, and the sum with a projection, whose channels
    # have rows in both convolutions. Channels of the identity stream are not masked.
    inside = {"2.conv1": 6, "3.conv1": 5, "4.conv1": 6, "7": 6, "11": 5, "4.shortcut+4.conv2": 8}
    assert {name: layer.units for name, layer in found.layers.items()} == inside
    assert "0" in found.untouched
    assert find_structure(pooled(), IMAGES).layers["2.shortcut+2.conv2"].readers == (("7", 4),)


@pytest.mark.parametrize(
    "relu",
    [nn.ReLU(inplace=True), torch.relu_, lambda x: x.relu_(), lambda x: F.relu(x, inplace=True)],
)
def test_a_path_that_changes_the_input_of_the_shortcut_is_no_block(relu):
    class InPlace(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two, self.relu = nn.Linear(5, 6), nn.Linear(6, 5), relu

        def forward(self, x):
            return x + self.two(torch.relu(self.one(self.relu(x))))

    found = find_structure(nn.Sequential(nn.Linear(5, 5), InPlace()), ROWS[:2])
    assert not found.blocks and "an operation in place" in found.untouched["1.two"]


@pytest.fixture(scope="module")
def regression():
    """Inputs and targets of a smooth function of five variables, two outputs."""
    x = torch.randn(1000, 5, generator=torch.Generator().manual_seed(4))
    y = torch.stack([torch.sin(2.0 * x[:, 0]), x[:, 1] * x[:, 2]], dim=1)
    return x, y


def started(network, x, **how) -> Training:
    return Training(network, x[:2], Complexity(**{"nu": 0.1, "theta_0": 0.75} | how), ADAM)


def test_at_price_zero_nothing_is_removed_and_at_a_high_price_one_unit_stays(
    make_network, regression
):
    network = make_network([5, 12, 8, 2])
    data = draws(*regression, 100)
    settings = Complexity(nu=0.0, prune_every=50)
    free = train_sparsely(network, regression[0][:2], data, F.mse_loss, settings)
    assert free.network.widths == [5, 12, 8, 2] and free.trace[-1].loss < free.trace[0].loss
    dear = Complexity(nu=1e3, theta_rate=2e-2, prune_every=20)
    found = train_sparsely(network, regression[0][:2], data, F.mse_loss, dear)
    assert found.network.widths == [5, 1, 1, 2]
    assert found.trace[-1].units == {"layers.0": 1, "layers.1": 1}
    assert found.trace[-1].complexity < 0.1 and found.trace[-1].undecided == 0


def teacher(make_network) -> tuple[nn.Module, torch.Tensor]:
    """A network and its outputs on ROWS, of variance 6. Without any one of its units the mean
    square error is at least 0.2."""
    network = make_network([5, 6, 4, 2], seed=6)
    for layer in network.layers:
        nn.init.orthogonal_(layer.weight, 2.0, generator=torch.Generator().manual_seed(6))
    return network, network(ROWS).detach()


def test_planted_useless_units_are_removed_and_useful_ones_stay(make_network):
    network, y = teacher(make_network)
    wide = make_network([5, 10, 4, 2], seed=9)
    useful = torch.tensor([0, 2, 3, 6, 7, 9])
    with torch.no_grad():
        for layer, other in zip(wide.layers[1:], network.layers[1:], strict=True):
            layer.bias.copy_(other.bias)
        wide.layers[1].weight.zero_()  # useless units are not read
        wide.layers[1].weight[:, useful] = network.layers[1].weight
        wide.layers[0].weight[useful] = network.layers[0].weight
        wide.layers[0].bias[useful] = network.layers[0].bias
        wide.layers[2].weight.copy_(network.layers[2].weight)
    settings = Complexity(nu=0.03, theta_rate=2e-2, weight_decay=0.0, prune_every=10)
    slow = functools.partial(torch.optim.Adam, lr=1e-4)
    data = draws(ROWS, y, 120)
    found = train_sparsely(wide, ROWS[:2], data, F.mse_loss, settings, optimizer=slow)
    assert found.kept["layers.0"].tolist() == useful.tolist()
    assert found.network.widths == [5, 6, 4, 2]
    # Weights have changed by up to 120 steps of 1e-4.
    assert F.mse_loss(found.network(ROWS), y) < 1e-2 * y.var()


def test_a_planted_useless_block_is_removed():
    network = draw(Residual(*WIDTHS), seed=5)
    with torch.no_grad():
        for W2, W3, scale in zip(network.W2, network.W3, (2.0, 0.0, 2.0), strict=True):
            W2.weight.mul_(scale)
            W3.weight.mul_(1.5)
    y = network(ROWS).detach()
    settings = Complexity(nu=0.1, alpha=0.3, theta_rate=2e-2, weight_decay=0.0, prune_every=10)
    slow = functools.partial(torch.optim.Adam, lr=1e-4)
    data = draws(ROWS, y, 120)
    found = train_sparsely(network, ROWS[:2], data, F.mse_loss, settings, optimizer=slow)
    assert found.removed == ["W2.1"] and type(found.network) is Residual
    assert not list(found.network.W1[1].parameters()) and "W1.1" not in found.kept
    assert found.trace[-1].blocks == ["W2.0", "W2.2"]
    assert F.mse_loss(found.network(ROWS), y) < 5e-2 * y.var()


@pytest.mark.parametrize("prunes", ["units", "blocks"])
def test_units_or_blocks_alone_can_be_removed(residual, prunes):
    """At a price that removes everything: layer-only pruning is the last row of table 4."""
    y = residual(ROWS).detach()
    dear = Complexity(nu=50.0, alpha=1.0, theta_rate=5e-2, prune_every=10, prunes=prunes)
    found = train_sparsely(residual, ROWS[:2], draws(ROWS, y, 80), F.mse_loss, dear)
    if prunes == "units":
        assert not found.removed and all(len(kept) == 1 for kept in found.kept.values())
    else:
        assert not found.kept and found.removed == ["W2.0", "W2.1", "W2.2"]
        assert not found.trace[-1].units and not found.trace[-1].blocks


def test_a_block_is_removed_with_the_last_unit_of_a_layer_in_it(residual):
    run = started(residual, ROWS)
    stays = torch.ones_like(run.masks.theta, dtype=torch.bool)
    run.masks.by_name(stays)["W1.1"].zero_()
    run.masks.by_name(stays)["W2.0+W3.0"].zero_()
    run.prune(stays)
    assert run.removed == ["W2.1"] and list(run.structure.blocks) == ["W2.0", "W2.2"]
    # A layer outside of all blocks keeps one unit, which is no longer masked.
    assert run.structure.layers["W2.0+W3.0"].units == 1
    assert run.masks.by_name(run.masks.theta)["W2.0+W3.0"].tolist() == [1.0]
    assert run.masks.by_name(run.masks.floor)["W2.0+W3.0"].tolist() == [1.0]
    assert run.network(ROWS).shape == residual(ROWS).shape


@pytest.mark.parametrize("make_optimizer", [ADAM, SGD])
def test_the_optimiser_keeps_the_state_of_the_weights_that_are_left(make_optimizer):
    network = draw(convolutional())
    run = Training(network, IMAGES, Complexity(nu=0.1, theta_0=0.75), make_optimizer)
    y = torch.zeros(4, 3)
    for _ in range(3):
        run.learn(IMAGES, y, F.mse_loss)
    before = {n: dict(run.optimizer.state[p]) for n, p in run.network.named_parameters()}
    theta_before = run.theta_optimizer.state[run.masks.theta]["exp_avg"].clone()
    stays = torch.ones_like(run.masks.theta, dtype=torch.bool)
    named = run.masks.by_name(stays)
    named["2.conv1"][[1, 4]] = False
    named["7"][[0, 5]] = False
    named["3.norm2"].zero_()  # a block
    run.prune(stays)
    left, channels = torch.tensor([0, 2, 3, 5]), torch.tensor([1, 2, 3, 4])
    after = {n: run.optimizer.state[p] for n, p in run.network.named_parameters()}
    assert not any(name.startswith(("3.conv", "3.norm")) for name in after)
    assert {id(p) for p in run.network.parameters()} == {id(p) for p in run.optimizer.state}
    assert len(run.optimizer.param_groups[0]["params"]) == len(after)
    for key in ("exp_avg", "exp_avg_sq") if make_optimizer is ADAM else ("momentum_buffer",):
        full, cut = (lambda n, k=key: before[n][k]), (lambda n, k=key: after[n][k])
        assert torch.equal(cut("2.conv1.weight"), full("2.conv1.weight")[left])
        assert torch.equal(cut("2.norm1.bias"), full("2.norm1.bias")[left])
        assert torch.equal(cut("2.conv2.weight"), full("2.conv2.weight")[:, left])
        assert torch.equal(cut("7.bias"), full("7.bias")[channels])
        assert torch.equal(cut("11.weight"), full("11.weight")[:, channels])
        assert torch.equal(cut("0.weight"), full("0.weight"))
    kept = run.theta_optimizer.state[run.masks.theta]["exp_avg"]
    # The units of the block's own layer are removed with it.
    assert "3.conv1" not in run.structure.sizes and len(kept) == len(theta_before) - 2 - 2 - 1 - 5
    run.learn(IMAGES, y, F.mse_loss)


def test_weights_decay_and_biases_do_not(make_network):
    """Equation (20), where the loss has no gradient: one step of SGD."""
    network = make_network([5, 12, 8, 2])
    settings = Complexity(nu=0.0, weight_decay=0.5)
    run = Training(network, ROWS[:2], settings, functools.partial(torch.optim.SGD, lr=0.1))
    run.learn(ROWS, network(ROWS).detach(), F.mse_loss)
    for p, given in zip(run.network.parameters(), network.parameters(), strict=True):
        expected = given * (1.0 - 0.1 * 0.5) if p.dim() > 1 else given
        assert torch.allclose(p, expected, rtol=1e-6, atol=1e-7)  # float32


def test_an_interrupted_training_goes_on_bit_for_bit(tmp_path, monkeypatch):
    """Before and after its units are settled."""
    monkeypatch.setattr(pruning, "SECONDS", 0.0)
    network = nn.Sequential(
        *(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), ConvBlock(4, 6), nn.Flatten()),
        nn.Dropout(0.2),  # draws from torch's own generator
        *(nn.Linear(64, 5), nn.ReLU(), nn.Linear(5, 3)),
    )
    network = draw(network)
    x = torch.randn(64, 2, 4, 4, generator=torch.Generator().manual_seed(6))
    y = x.mean(dim=(2, 3)) @ torch.ones(2, 3)
    settings = Complexity(
        nu=2.0, alpha=0.5, theta_0=0.75, theta_rate=4e-2, prune_every=5, settle_after=30
    )
    data = draws(x, y, 40, batch=8)
    how = dict(optimizer=ADAM, rate=lambda step: 3e-3 * 0.99**step)

    def interrupted(stop: int):
        def batches(first: int):
            for step, batch in enumerate(data(first), start=first):
                if step == stop:
                    raise KeyboardInterrupt
                yield batch

        return batches

    torch.manual_seed(0)
    whole = train_sparsely(network, x[:2], data, F.mse_loss, settings, **how)
    assert whole.removed and whole.trace[3].parameters < whole.trace[0].parameters
    assert whole.trace[3].undecided  # at step 20
    torch.manual_seed(0)
    how["checkpoint"] = tmp_path / "training.checkpoint"
    for stop in (22, 33):
        with pytest.raises(KeyboardInterrupt):
            train_sparsely(network, x[:2], interrupted(stop), F.mse_loss, settings, **how)
    parts = train_sparsely(network, x[:2], data, F.mse_loss, settings, **how)
    assert parts.trace == whole.trace and parts.removed == whole.removed
    one, other = whole.network.state_dict(), parts.network.state_dict()
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
    with pytest.raises(ValueError, match="other settings .*nu: 2.0 then, 0.1 now"):
        train_sparsely(network, x[:2], data, F.mse_loss, Complexity(nu=0.1), **how)
    with pytest.raises(ValueError, match="other settings .*network: "):
        train_sparsely(draw(network, seed=1), x[:2], data, F.mse_loss, settings, **how)


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(5, 12), nn.Linear(12, 2)

    def forward(self, x):
        return self.two(input=torch.relu(self.one(x)))


def test_a_layer_may_be_called_with_a_named_argument(regression):
    settings = Complexity(nu=5.0, theta_rate=2e-2, prune_every=20)
    found = train_sparsely(Named(), regression[0][:2], draws(*regression, 60), F.mse_loss, settings)
    assert found.network.two.in_features < 12


@pytest.mark.parametrize("given", ["training", "evaluation", "frozen"])
def test_modules_keep_their_modes_and_a_network_in_evaluation_is_trained(given):
    network = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    draw(network).train(given != "evaluation")
    network[1].train(given == "training")
    x, y = torch.randn(64, 5), torch.randn(64, 2)
    settings = Complexity(nu=0.0, prune_every=5)
    found = train_sparsely(network, x[:2], draws(x, y, 10), F.mse_loss, settings).network
    assert [m.training for m in found.modules()] == [m.training for m in network.modules()]
    same = torch.equal(found[1].running_mean, network[1].running_mean)
    assert same == (given == "frozen")


def test_the_given_network_is_not_modified_and_the_result_has_no_hooks(make_network, regression):
    network = make_network([5, 12, 8, 2]).eval()
    before = copy.deepcopy(network.state_dict())
    settings = Complexity(nu=0.3, theta_rate=2e-2, prune_every=20)
    data = draws(*regression, 60)
    found = train_sparsely(network, regression[0][:2], data, F.mse_loss, settings)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert network.widths == [5, 12, 8, 2] and not network.training and not hooks(network)
    assert type(found.network) is type(network) and not hooks(found.network)
    assert not found.network.training and found.network.widths[1] < 12
    assert [len(kept) for kept in found.kept.values()] == found.network.widths[1:-1]
    scripted = torch.jit.script(found.network)
    assert torch.equal(scripted(regression[0]), found.network(regression[0]))


@pytest.mark.parametrize(
    "wrong",
    [
        dict(nu=-1.0), dict(nu=math.nan), dict(beta=-0.1), dict(beta=2.5), dict(alpha=-1.0),
        dict(prunes="all"), dict(theta_0=0.05), dict(theta_0=1.1), dict(theta_tol=0.5),
        dict(theta_rate=0.0), dict(prune_every=0), dict(weight_decay=-1e-4), dict(settle_after=-1),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Complexity(**{"nu": 0.1} | wrong)


def test_a_network_with_nothing_to_prune_is_refused_with_the_reason(regression):
    data = draws(*regression, 5)
    with pytest.raises(ValueError, match="nothing to prune(.|\n)*network's output"):
        train_sparsely(
            nn.Sequential(nn.Linear(5, 2)), regression[0][:2], data, F.mse_loss, Complexity(nu=0.1)
        )


def test_a_training_that_diverges_is_an_error(make_network, regression):
    data = draws(regression[0], regression[1] * torch.inf, 20)
    settings = Complexity(nu=0.1, prune_every=10)
    with pytest.raises(FloatingPointError, match="diverged before step 10"):
        train_sparsely(make_network([5, 8, 2]), regression[0][:2], data, F.mse_loss, settings)

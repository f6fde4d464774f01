"""All reduction methods, and small networks of each kind that they reduce."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from combred.reduction import METHODS, Units
from combred.reduction.fit.calibration import moments
from combred.reduction.network.hidden_layer import HiddenLayer


@torch.no_grad()
def draw(network: nn.Module, seed: int = 0) -> nn.Module:
    """A network with seeded weights, biases and batch norms, in evaluation mode.

    No statistic is zero or one, and a third of the scales of batch norms are negative: code that
    forgets one of them gives a wrong result.
    """
    generator = torch.Generator().manual_seed(seed)
    for module in network.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            m = module.num_features
            module.running_mean.normal_(0.0, 0.5, generator=generator)
            module.running_var.uniform_(0.5, 2.0, generator=generator)
            if module.affine:
                sign = (torch.rand(m, generator=generator) > 0.3).float() * 2.0 - 1.0
                module.weight.uniform_(0.5, 1.5, generator=generator).mul_(sign)
                module.bias.normal_(0.0, 0.5, generator=generator)
        elif isinstance(module, (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)):
            size = module.weight[0].numel()
            module.weight.normal_(0.0, (2.0 / size) ** 0.5, generator=generator)
            if module.bias is not None:
                module.bias.normal_(0.0, 0.3, generator=generator)
    return network.eval()


ALL_METHODS = list(METHODS)  # a method is tested by being listed in METHODS


def gaussian(*shape: int, seed: int = 0) -> torch.Tensor:
    """Normal draws, float64."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def linear(activation=nn.ReLU) -> nn.Module:
    """5-16-12-4."""
    layers = [nn.Linear(5, 16), activation(), nn.Linear(16, 12), activation(), nn.Linear(12, 4)]
    return nn.Sequential(*layers)


class Block(nn.Module):
    """A pre-activation residual block."""

    def __init__(self, width: int, inner: int):
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(width), nn.Conv2d(width, inner, 3, padding=1)
        self.bn2, self.conv2 = nn.BatchNorm2d(inner), nn.Conv2d(inner, width, 3, padding=1)

    def forward(self, x):
        y = self.conv1(F.relu(self.bn1(x)))
        return x + self.conv2(F.relu(self.bn2(y)))


class Residual(nn.Module):
    """A small pre-activation network: the stream has 8 channels."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(2, 8, 3, padding=1)
        self.one, self.two = Block(8, 6), Block(8, 10)
        self.norm, self.classify = nn.BatchNorm2d(8), nn.Linear(8, 4)

    def forward(self, x):
        x = self.two(self.one(self.stem(x)))
        return self.classify(F.relu(self.norm(x)).mean(dim=(2, 3)))


class Convolutional(nn.Module):
    """Batch norms, a convolution that pads, pooling, flatten, and functions in forward."""

    def __init__(self):
        super().__init__()
        self.one, self.norm1 = nn.Conv2d(2, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.two, self.norm2 = nn.Conv2d(8, 6, 3, padding=1), nn.BatchNorm2d(6)
        self.three, self.four = nn.Linear(6 * 4 * 4, 10), nn.Linear(10, 3)

    def forward(self, x):
        x = F.relu(self.norm1(self.one(x)))
        x = F.max_pool2d(F.relu(self.norm2(self.two(x))), 2)
        return self.four(F.relu(self.three(torch.flatten(x, 1))))


def depthwise() -> nn.Module:
    """An expansion, a depthwise convolution and a projection, and a linear layer."""
    return nn.Sequential(
        *(nn.Conv2d(2, 12, 1, bias=False), nn.BatchNorm2d(12), nn.ReLU6()),
        *(nn.Conv2d(12, 12, 3, padding=1, groups=12, bias=False), nn.BatchNorm2d(12), nn.ReLU6()),
        *(nn.Conv2d(12, 5, 1), nn.BatchNorm2d(5), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)),
    )


NETWORKS = {"linear": (linear, (5,)), "convolutional": (Convolutional, (2, 8, 8))}
NETWORKS |= {"depthwise": (depthwise, (2, 8, 8))}


def make(name: str, dtype=torch.float32, seed: int = 0) -> tuple[nn.Module, torch.Tensor]:
    """A drawn network, and 40 inputs."""
    build, shape = NETWORKS[name]
    return draw(build(), seed).to(dtype), gaussian(40, *shape, seed=seed).to(dtype)


def flops(network: nn.Module, x: torch.Tensor) -> int:
    """Floating-point operations for one input."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(x[:1])
    return counter.get_total_flops()


def parameters(network: nn.Module) -> int:
    """Number of parameters."""
    return sum(p.numel() for p in network.parameters())


def state(network: nn.Module) -> dict:
    """Copies of all tensors of a network, and the modes of its modules."""
    modes = {name: module.training for name, module in network.named_modules()}
    return {key: value.clone() for key, value in network.state_dict().items()} | modes


def same(one: dict, other: dict) -> bool:
    """Whether two states are equal bit for bit."""
    return one.keys() == other.keys() and all(
        torch.equal(a, other[key]) if isinstance(a, torch.Tensor) else a == other[key]
        for key, a in one.items()
    )


def units_of(A, B, U, intercept: bool) -> Units:
    """Units with activations A in the original network and B in the reduced one."""
    one = torch.from_numpy(A)
    data = moments([(one, one if B is A else torch.from_numpy(B))])
    m = A.shape[1]
    layer = HiddenLayer("producer", m, ("producer",), (("reader", 1),), takes_offset=intercept)
    nothing = torch.zeros(m, dtype=torch.float64)
    U = torch.from_numpy(U)
    return Units(nn.Identity(), layer, nothing[:, None], nothing, None, None, U, data)

"""
Reduce a residual network
=========================

``combred.reduce`` takes any network that ``torch.fx`` traces. Here a small ResNet learns to
classify four shapes, and four methods make it smaller and smaller, without retraining.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

import combred

torch.manual_seed(0)
torch.set_num_threads(1)

# %%
# The images: a disc, a square, a cross or a ring of random size and place, under noise.


def draw(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Images (n, 1, 16, 16) and their kinds (n,)."""
    kind = torch.randint(0, 4, (n,))
    axis = torch.arange(16.0)
    x, y = (axis - torch.empty(n, 1).uniform_(5, 10) for _ in range(2))
    x, y, size = x[:, None, :], y[:, :, None], torch.empty(n, 1, 1).uniform_(3, 5)
    distance, largest = (x**2 + y**2).sqrt(), torch.maximum(x.abs() + 0 * y, y.abs() + 0 * x)
    disc, square = distance < size, largest < 0.9 * size
    cross = square & (torch.minimum(x.abs() + 0 * y, y.abs() + 0 * x) < 1)
    shapes = torch.stack([disc, square, cross, disc & (distance > size - 1.5)], 1).float()
    image = shapes[torch.arange(n), kind]
    return (image + 0.4 * torch.randn(n, 16, 16))[:, None], kind


# %%
# The network: a stem and two residual blocks, with batch normalisation, as in torchvision.


class Block(nn.Module):
    def __init__(self, before: int, after: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.downsample = nn.Sequential(
            nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
        )

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + self.downsample(x))


network = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU(),
    Block(12, 24, 2), Block(24, 48, 2),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 4),
)  # fmt: skip

# %%
# Trained on 300 batches, at a rate that falls to zero.

optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 300)
for _ in range(300):
    image, kind = draw(64)
    optimizer.zero_grad()
    nn.functional.cross_entropy(network(image), kind).backward()
    optimizer.step()
    schedule.step()
network.eval()
image, kind = draw(1000)


def accuracy(net: nn.Module) -> float:
    """Share of the test images that a network names rightly."""
    with torch.no_grad():
        return float((net(image).argmax(1) == kind).double().mean())


def size(net: nn.Module) -> int:
    return sum(p.numel() for p in net.parameters())


print(f"{size(network)} parameters, accuracy {100 * accuracy(network):.1f} %")

# %%
# Each method keeps a share of the units of every hidden layer. With calibration images (no labels
# are needed) the units that stay are mixed by least squares, so that the input of the next layer
# changes least. Units that a residual sum adds to others stay: ``untouched`` names them.

methods = ("brain_surgeon", "folding", "condensation", "magnitude")
ratios, calibration = (0.75, 0.5, 0.25, 0.12), draw(512)[0]
fig, axes = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True, layout="constrained")
for axis, data in zip(axes, (None, calibration), strict=True):
    for method, marker in zip(methods, "osv^", strict=True):
        if data is None and method == "brain_surgeon":
            continue  # it chooses by activations
        points = [(1.0, accuracy(network))]
        for ratio in ratios:
            found = combred.reduce(network, image[:1], method=method, ratio=ratio, calibration=data)
            points.append((size(found.network) / size(network), accuracy(found.network)))
        share, right = zip(*points, strict=True)
        axis.plot(share, right, marker + "-", color=f"C{methods.index(method)}", label=method)
    axis.set(xlabel="share of the parameters that stays", xlim=(1.03, 0), ylim=(0.1, 1.02))
    axis.axhline(0.25, color="gray", ls=":", lw=1)
    axis.legend(loc="lower left")
print(found.untouched)
axes[0].set(ylabel="accuracy on test images", title="without data")
axes[1].set(title="calibrated on 512 images: least squares")
plt.show()

"""Residual networks for CIFAR: three stages of n blocks on maps of 32, 16 and 8 pixels.

ResNet-6n+2 (He et al., CVPR 2016, section 4.2), ResNet-9n+2 with pre-activation (He et al., ECCV
2016) and wide ResNets (Zagoruyko & Komodakis, BMVC 2016, without dropout).
"""

from collections import OrderedDict

import torch.nn.functional as F
from torch import Tensor, nn

from examples.vision.networks.plain import initialize_fan_out


class PaddedShortcut(nn.Module):
    """Every `stride`-th pixel of x (n, c, h, w), and `extra` channels of zeros behind its own:
    option A of He et al., without parameters (their table 6: 0.85 M for 56 layers)."""

    def __init__(self, stride: int, extra: int):
        super().__init__()
        self.stride, self.extra = stride, extra

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.extra))


class Block(nn.Module):
    """relu(shortcut(x) + norm2(conv2(relu(norm1(conv1(x)))))), `out` channels throughout."""

    expansion = 1  # channels of the residual stream per channel of a block

    def __init__(self, channels: int, out: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(out)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(out)
        self.relu2 = nn.ReLU()
        same = (channels, stride) == (out, 1)
        self.shortcut = nn.Identity() if same else PaddedShortcut(stride, out - channels)

    def forward(self, x: Tensor) -> Tensor:
        branch = self.norm2(self.conv2(self.relu1(self.norm1(self.conv1(x)))))
        return self.relu2(self.shortcut(x) + branch)


class PreactivationBlock(nn.Module):
    """shortcut(x) + conv2(relu2(norm2(conv1(relu1(norm1(x)))))), `out` channels throughout.

    Where the shape changes the shortcut is a 1 x 1 convolution of the activated input.
    """

    expansion = 1

    def __init__(self, channels: int, out: int, stride: int):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.relu1 = nn.ReLU()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(out)
        self.relu2 = nn.ReLU()
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.changes = (channels, stride) != (out, 1)
        if self.changes:
            self.shortcut = nn.Conv2d(channels, out, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        active = self.relu1(self.norm1(x))
        branch = self.conv2(self.relu2(self.norm2(self.conv1(active))))
        return (self.shortcut(active) if self.changes else x) + branch


class Bottleneck(nn.Module):
    """shortcut(x) + 1 x 1, 3 x 3 and 1 x 1 convolution, each behind norm and ReLU.

    `out` channels inside, 4 `out` in the stream. Where the shape changes the shortcut is a 1 x 1
    convolution of the input as it is (Liu et al., ICCV 2017), so that `norm1` is read by `conv1`
    alone.
    """

    expansion = 4

    def __init__(self, channels: int, out: int, stride: int):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.relu1 = nn.ReLU()
        self.conv1 = nn.Conv2d(channels, out, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(out)
        self.relu2 = nn.ReLU()
        self.conv2 = nn.Conv2d(out, out, 3, stride, padding=1, bias=False)
        self.norm3 = nn.BatchNorm2d(out)
        self.relu3 = nn.ReLU()
        self.conv3 = nn.Conv2d(out, 4 * out, 1, bias=False)
        self.shortcut: nn.Module = nn.Identity()
        if (channels, stride) != (4 * out, 1):
            self.shortcut = nn.Conv2d(channels, 4 * out, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        branch = self.conv1(self.relu1(self.norm1(x)))
        branch = self.conv2(self.relu2(self.norm2(branch)))
        return self.shortcut(x) + self.conv3(self.relu3(self.norm3(branch)))


class _Staged(nn.Module):
    """A convolution of `first` channels, stages `stage1.block1` to `stage3.block<n>` of `block`
    with `widths` channels, the second stage on with stride 2, a batch normalisation of `normed`
    channels (None: of those at the end), and a classifier."""

    block: type[nn.Module]

    def __init__(
        self, first: int, widths: list[int], n: int, normed: int | None, shape: tuple[int, int]
    ):
        super().__init__()
        in_channels, classes = shape
        self.conv = nn.Conv2d(in_channels, first, 3, padding=1, bias=False)
        channels = first
        for stage, out in enumerate(widths, start=1):
            modules = OrderedDict()
            for index in range(1, n + 1):
                stride = 2 if stage > 1 and index == 1 else 1
                modules[f"block{index}"] = self.block(channels, out, stride)
                channels = out * self.block.expansion
            self.add_module(f"stage{stage}", nn.Sequential(modules))
        self.norm = nn.BatchNorm2d(normed or channels)
        self.relu = nn.ReLU()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(channels, classes)
        initialize_fan_out(self)

    def forward(self, images: Tensor) -> Tensor:
        x = self.stage3(self.stage2(self.stage1(self.conv(images))))
        return self.classifier(self.pool(self.relu(self.norm(x))).flatten(1))


def _widths(width: float) -> list[int]:
    return [max(1, round(w * width)) for w in (16, 32, 64)]


def _blocks(depth: int, layers: int, rest: int) -> int:
    """Blocks of a stage, where `depth` = 3 layers n + rest; ValueError for another depth."""
    n, left = divmod(depth - rest, 3 * layers)
    if n < 1 or left:
        raise ValueError(f"depth={depth} is not {3 * layers}n + {rest}")
    return n


class ResNet(_Staged):
    """`depth` = 6n + 2 layers. width: a factor on 16, 32 and 64 channels."""

    block = Block

    def __init__(
        self, depth: int = 56, in_channels: int = 3, classes: int = 10, width: float = 1.0
    ):
        widths = _widths(width)
        super().__init__(widths[0], widths, _blocks(depth, 2, 2), widths[0], (in_channels, classes))

    def forward(self, images: Tensor) -> Tensor:
        x = self.relu(self.norm(self.conv(images)))
        x = self.stage3(self.stage2(self.stage1(x)))
        return self.classifier(self.pool(x).flatten(1))


class PreactivationResNet(_Staged):
    """`depth` = 9n + 2 layers of bottleneck blocks, as in Zhang et al.: at 110 layers the 341.23
    MFLOP of their table 1, which basic blocks have not (508). width: as in `ResNet`."""

    block = Bottleneck

    def __init__(
        self, depth: int = 110, in_channels: int = 3, classes: int = 10, width: float = 1.0
    ):
        widths = _widths(width)
        super().__init__(widths[0], widths, _blocks(depth, 3, 2), None, (in_channels, classes))


class WideResNet(_Staged):
    """WRN-depth-k: `depth` = 6n + 4 layers, 16k, 32k and 64k channels; k, `widening`, may be a
    fraction. WRN-40-4 has 8,949,210 parameters."""

    block = PreactivationBlock

    def __init__(
        self, depth: int = 40, widening: float = 4, in_channels: int = 3, classes: int = 10
    ):
        super().__init__(16, _widths(widening), _blocks(depth, 2, 4), None, (in_channels, classes))
